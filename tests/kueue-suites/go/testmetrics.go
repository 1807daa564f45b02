// Beside pkg/util/testing/metrics/metrics.go, in the place of its CollectFilteredGaugeVec
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/kueue/pkg/capstan"
)

func CollectFilteredGaugeVec(v prometheus.Collector, labels map[string]string) []MetricDataPoint {
	descriptions := make(chan *prometheus.Desc, 1)
	v.Describe(descriptions)
	found, err := capstan.Series(capstan.Family((<-descriptions).String()), labels)
	if err != nil {
		return []MetricDataPoint{{Labels: map[string]string{"error": err.Error()}}}
	}
	points := []MetricDataPoint{}
	for _, m := range found {
		p := MetricDataPoint{Labels: map[string]string{}, Value: m.GetGauge().GetValue() + m.GetCounter().GetValue()}
		for _, l := range m.Label {
			p.Labels[l.GetName()] = l.GetValue()
		}
		points = append(points, p)
	}
	return points
}
