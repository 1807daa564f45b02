// Beside vendor/k8s.io/component-base/metrics/testutil/metrics.go, in the place of its GetGaugeMetricValue GetCounterMetricValue GetHistogramMetricCount
package testutil

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"

	"sigs.k8s.io/kueue/pkg/capstan"
)

// series is that of the program with the name and the labels of this process's metric; empty, that is 0, where it has none.
func series(m any) (*dto.Metric, error) {
	own := &dto.Metric{}
	if err := m.(prometheus.Metric).Write(own); err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, l := range own.Label {
		labels[l.GetName()] = l.GetValue()
	}
	found, err := capstan.Series(capstan.Family(m.(prometheus.Metric).Desc().String()), labels)
	if err != nil || len(found) == 0 {
		return &dto.Metric{}, err
	}
	return found[0], nil
}

func GetGaugeMetricValue(m metrics.GaugeMetric) (float64, error) {
	s, err := series(m)
	return s.GetGauge().GetValue(), err
}

func GetCounterMetricValue(m metrics.CounterMetric) (float64, error) {
	s, err := series(m)
	return s.GetCounter().GetValue(), err
}

func GetHistogramMetricCount(m metrics.ObserverMetric) (uint64, error) {
	s, err := series(m)
	return s.GetHistogram().GetSampleCount(), err
}
