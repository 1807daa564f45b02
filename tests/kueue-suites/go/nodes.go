// Beside test/integration/framework/capstan_nodes.go: what the suite's cluster lacks
package framework

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/test/util"
)

// What pods of the suites ask for.
var resourcesOfNodes = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb",
	"nvidia.com/mig-2g.10gb", "nvidia.com/gpucores", "nvidia.com/gpumem", "nvidia.com/total-gpucores", "nvidia.com/total-gpumem",
	"example.com/gpu", "example.com/gpu1", "example.com/gpu2", "example.com/res1", "example.com/res2", "example.com/test-resource",
	"example.com/accelerator-memory", "kueue.x-k8s.io/cpu",
	"networking.example.com/vpc", "networking.example.com/vpc1", "networking.other.com/vpc", "storage.example.com/disk", "example.com/credits",
	"pods"}

// keepNodes keeps one node of practically unlimited size for each flavor without a topology: Capstan admits only what has a place.
func keepNodes(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme) {
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	must(err)
	keep := func(flavor *kueue.ResourceFlavor) {
		if flavor.Spec.TopologyName != nil || flavor.Name == "" || ctx.Err() != nil {
			return
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(flavor)}}
		if _, err := controllerutil.CreateOrUpdate(ctx, c, node, func() error {
			node.Labels = map[string]string{"kubernetes.io/hostname": node.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
			maps.Copy(node.Labels, flavor.Spec.NodeLabels)
			node.Spec.Taints = flavor.Spec.NodeTaints
			return nil
		}); err != nil {
			return
		}
		node.Status.Capacity = corev1.ResourceList{}
		for _, r := range resourcesOfNodes {
			node.Status.Capacity[r] = resource.MustParse("100k")
		}
		node.Status.Capacity["cpu"], node.Status.Capacity["memory"] = resource.MustParse("1M"), resource.MustParse("1000Ti")
		node.Status.Capacity["ephemeral-storage"] = resource.MustParse("1000Ti")
		node.Status.Allocatable = node.Status.Capacity
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Suite",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
		_ = c.Status().Update(ctx, node)
	}
	util.CapstanBeforeCreate = func(o client.Object) { // the node is there before its flavor
		if flavor, ok := o.(*kueue.ResourceFlavor); ok {
			keep(flavor)
		}
	}
	w, err := c.Watch(ctx, &kueue.ResourceFlavorList{})
	must(err)
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			flavor, ok := e.Object.(*kueue.ResourceFlavor)
			switch {
			case !ok:
			case e.Type == watch.Deleted: // specs count the nodes that there are; one of the same name may be there again
				if c.Get(ctx, client.ObjectKeyFromObject(flavor), &kueue.ResourceFlavor{}) != nil {
					_ = c.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(flavor)}})
				}
			case flavor.DeletionTimestamp == nil:
				keep(flavor)
			}
		}
	}()
}

// letGo takes off the finalizer that Capstan puts on where the suite has reconcilers of jobs alone, which do not know it: specs delete a
// flavor before the queue that names it.
func letGo(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme) {
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	must(err)
	lists := []client.ObjectList{&kueue.ClusterQueueList{}, &kueue.ResourceFlavorList{}, &kueue.AdmissionCheckList{}}
	go func() {
		for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			for _, l := range lists {
				_ = c.List(ctx, l)
				_ = meta.EachListItem(l, func(o runtime.Object) error {
					object := o.(client.Object)
					if object.GetDeletionTimestamp() != nil && controllerutil.RemoveFinalizer(object, kueue.ResourceInUseFinalizerName) {
						_ = c.Update(ctx, object)
					}
					return nil
				})
			}
		}
	}()
}

func nodeOf(flavor *kueue.ResourceFlavor) string { return "of-" + flavor.Name }
