// Beside test/util/util.go, in the place of its MustCreate
package util

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var CapstanBeforeCreate = func(client.Object) {}

func MustCreate(ctx context.Context, c client.Client, obj client.Object) {
	ginkgo.GinkgoHelper()
	CapstanBeforeCreate(obj)
	kueueMustCreate(ctx, c, obj)
}
