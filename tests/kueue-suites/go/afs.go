// Beside pkg/cache/queue/afs/entry_penalties.go, in the place of its PeekPenalty HasPendingPenalty
package afs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sigs.k8s.io/kueue/pkg/capstan"
	utilqueue "sigs.k8s.io/kueue/pkg/util/queue"
)

func (a *AfsUsageLedger) PeekPenalty(queue utilqueue.LocalQueueReference) corev1.ResourceList {
	namespace, name := utilqueue.MustParseLocalQueueReference(queue)
	found, _ := capstan.Series("capstan_local_queue_entry_penalty", map[string]string{"namespace": namespace, "name": string(name)})
	penalty := corev1.ResourceList{}
	for _, m := range found {
		for _, l := range m.Label {
			if v := m.GetGauge().GetValue(); l.GetName() == "resource" && v != 0 {
				penalty[corev1.ResourceName(l.GetValue())] = *resource.NewMilliQuantity(int64(v*1000), resource.DecimalSI)
			}
		}
	}
	return penalty
}

func (a *AfsUsageLedger) HasPendingPenalty(queue utilqueue.LocalQueueReference) bool {
	return len(a.PeekPenalty(queue)) != 0
}
