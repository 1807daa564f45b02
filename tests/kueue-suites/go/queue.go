// Beside pkg/cache/queue/manager.go, in the place of its WithResourceTransformations
package queue

import (
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/capstan"
)

func WithResourceTransformations(transform []config.ResourceTransformation) Option {
	capstan.Transform = transform
	return kueueWithResourceTransformations(transform)
}
