// Beside pkg/controller/core/core.go, in the place of its SetupControllers
package core

import (
	ctrl "sigs.k8s.io/controller-runtime"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/capstan"
)

func SetupControllers(mgr ctrl.Manager, queues *qcache.Manager, cache *schdcache.Cache, c *config.Configuration,
	opts SetupControllersOpts) (string, error) {
	capstan.Configuration = c.DeepCopy()
	return kueueSetupControllers(mgr, queues, cache, c, opts)
}
