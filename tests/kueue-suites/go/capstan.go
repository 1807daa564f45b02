// Beside pkg/capstan/capstan.go: what the suite's closure hands to Kueue's parts, and the metrics of the program in their place.
package capstan

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
)

var (
	Configuration *config.Configuration           // of the core's controllers; nil: there are none
	Transform     []config.ResourceTransformation // of the queues
	QuotaCheck    config.QuotaCheckStrategy       // of the scheduler; "": as it is by default
	Scheduler     bool                            // whether a scheduler was started
	GatesChanged  = func() {}
	address       string             // HOST:PORT of the program's metrics
	before        map[string]float64 // what counters had when they were reset, by family and labels
)

func init() { prometheus.CapstanReset = reset }

// Begins is called with the address of the metrics of a program that starts.
func Begins(at string) { address, before = at, map[string]float64{} }

func reset(description string) {
	family := Family(description)
	if address == "" || !knows(family) {
		return
	}
	found, _ := Series(family, nil)
	for _, m := range found {
		before[family+labelsOf(m)] += m.GetCounter().GetValue()
	}
}

func labelsOf(m *dto.Metric) (text string) {
	for _, l := range m.Label {
		text += " " + l.GetName() + "=" + l.GetValue()
	}
	return text
}

var program = sync.OnceValue(func() []byte {
	text, _ := os.ReadFile(os.Getenv("CAPSTAN"))
	return text
})

// knows by the names in the program: a page has only families that have a series.
func knows(family string) bool {
	return bytes.Contains(program(), []byte(family+"\x00"))
}

// The manager of a suite has no lease and stands alone; the program has one.
func ours(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	if labels["replica_role"] == "standalone" {
		labels["replica_role"] = "leader"
	}
	return labels
}

// Series are those of a family that have these labels among others; an error where the program knows no such family.
func Series(family string, labels map[string]string) ([]*dto.Metric, error) {
	labels = ours(labels)
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if !knows(family) {
		return nil, fmt.Errorf("capstan knows no metric %s", family)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	var found []*dto.Metric
	for _, m := range families[family].GetMetric() {
		if Contains(m.Label, labels) {
			if m.Counter != nil {
				m.Counter.Value = new(m.Counter.GetValue() - before[family+labelsOf(m)])
			}
			found = append(found, m)
		}
	}
	return found, nil
}

func Contains(has []*dto.LabelPair, wanted map[string]string) bool {
	n := 0
	for _, l := range has {
		if v, ok := wanted[l.GetName()]; ok && v == l.GetValue() {
			n++
		}
	}
	return n == len(wanted)
}

// Family is the name in a description of a metric, which shows it only as text.
func Family(description string) string {
	_, rest, _ := strings.Cut(description, `fqName: "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
