// Beside pkg/scheduler/scheduler.go, in the place of its Start WithQuotaCheckStrategy
package scheduler

import (
	"context"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/capstan"
)

func WithQuotaCheckStrategy(strategy config.QuotaCheckStrategy) Option {
	capstan.QuotaCheck = strategy
	return kueueWithQuotaCheckStrategy(strategy)
}

func (s *Scheduler) Start(context.Context) error {
	capstan.Scheduler = true
	return nil
}
