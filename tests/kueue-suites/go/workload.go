// Beside pkg/workload/workload.go, in the place of its ComputeLocalQueueFSUsage
package workload

import (
	corev1 "k8s.io/api/core/v1"

	queueafs "sigs.k8s.io/kueue/pkg/cache/queue/afs"
	"sigs.k8s.io/kueue/pkg/capstan"
)

func (i *Info) ComputeLocalQueueFSUsage(float64, map[corev1.ResourceName]float64, *queueafs.AfsUsageLedger) float64 {
	found, _ := capstan.Series("kueue_local_queue_admission_fair_sharing_usage",
		map[string]string{"namespace": i.Obj.Namespace, "name": string(i.Obj.Spec.QueueName)})
	if len(found) == 0 {
		return 0
	}
	return found[0].GetGauge().GetValue()
}
