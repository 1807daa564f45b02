// Beside pkg/features/kube_features.go, in the place of its SetFeatureGatesDuringTest
package features

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"sigs.k8s.io/kueue/pkg/capstan"
)

func SetFeatureGatesDuringTest(tb testing.TB, gates map[featuregate.Feature]bool) {
	tb.Cleanup(func() { capstan.GatesChanged() }) // the last of the cleanups
	kueueSetFeatureGatesDuringTest(tb, gates)
	capstan.GatesChanged()
}

// CapstanGates are those that differ from their defaults.
func CapstanGates() map[string]bool {
	differ := map[string]bool{}
	for gate, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if _, ok := defaultVersionedFeatureGates[gate]; ok && Enabled(gate) != spec.Default {
			differ[string(gate)] = Enabled(gate)
		}
	}
	return differ
}
