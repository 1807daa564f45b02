// Beside pkg/scheduler/scheduler.go, in the place of its Start
package scheduler

import (
	"context"

	"sigs.k8s.io/kueue/pkg/capstan"
)

func (s *Scheduler) Start(context.Context) error {
	capstan.Scheduler = true
	return nil
}
