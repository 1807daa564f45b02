// Beside vendor/github.com/prometheus/client_golang/prometheus/vec.go, in the place of its Reset
package prometheus

// CapstanReset hears which metric a spec resets.
var CapstanReset = func(description string) {}

func (m *MetricVec) Reset() {
	m.kueueReset()
	CapstanReset(m.desc.String())
}

func (m *metricMap) Reset() { m.kueueReset() }
