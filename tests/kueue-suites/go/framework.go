// Beside test/integration/framework/framework.go, in the place of its StartManager
package framework

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/capstan"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

// Gates that Kueue reads while it runs and Capstan only at its start: it is started anew where a spec switches one.
var gatesAtStart = []string{"TASRespectNodeAffinityPreferred", "TASFailedNodeReplacement", "TASFailedNodeReplacementFailFast",
	"UnadmittedWorkloadsExplicitStatus", "ReclaimablePods", "QuotaCheckStrategy"}

var (
	up          *program
	withHooks   = os.Getenv("SUITE_WEBHOOKS") != ""
	withUp      = os.Getenv("SUITE_UP") != ""
	withoutBind = os.Getenv("SUITE_WITHOUT_BINDING") != ""
	crds, rules = os.Getenv("SUITE_CRDS"), os.Getenv("SUITE_RULES") // files: Capstan's, not Kueue's
)

func must(err error) {
	ginkgo.GinkgoHelper()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

func (f *Framework) capstanServer() (*rest.Config, error) {
	if withUp {
		var host string
		up, host = startUp()
		return &rest.Config{Host: host, QPS: 1000, Burst: 2000}, nil
	}
	if !withHooks { // nor conversion by one
		f.testEnv.Scheme = runtime.NewScheme()
		f.testEnv.WebhookInstallOptions.Paths = nil
	}
	if crds != "" {
		f.testEnv.CRDDirectoryPaths = []string{crds}
	}
	f.testEnv.CRDInstallOptions.MaxTime = time.Minute // KubeRay's take long on a busy machine
	cfg, err := f.testEnv.Start()
	if err == nil && rules != "" {
		applyRules(cfg)
	}
	return cfg, err
}

// applyRules creates what refuses objects in the place of a webhook, and lets the API server read it.
func applyRules(cfg *rest.Config) {
	ginkgo.GinkgoHelper()
	text, err := os.Open(rules)
	must(err)
	defer text.Close()
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme()})
	must(err)
	documents := yamlutil.NewYAMLOrJSONDecoder(text, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			break
		} else {
			must(err)
		}
		if len(object.Object) > 0 {
			must(c.Create(context.Background(), object))
		}
	}
	time.Sleep(5 * time.Second)
}

func (f *Framework) capstanServerEnds() error {
	if withUp {
		up.end()
		return nil
	}
	return f.testEnv.Stop()
}

// StartManager calls the suite's closure with a manager that is never started: the closure fills the variables that specs look at, and says
// what the suite wants. Of the manager only webhooks run, and the cache that they read, in a suite that cannot be without.
func (f *Framework) StartManager(ctx context.Context, cfg *rest.Config, setup ManagerSetup, opts ...ManagerOption) {
	ginkgo.GinkgoHelper()
	options := manager.Options{Scheme: f.scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: new(true)}}
	if withHooks {
		hooks := f.testEnv.WebhookInstallOptions
		options.WebhookServer = webhook.NewServer(
			webhook.Options{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir})
	}
	for _, opt := range opts {
		opt(&options)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	must(err)
	ctx, cancel := context.WithCancel(ctx)
	capstan.Configuration, capstan.Transform, capstan.QuotaCheck, capstan.Scheduler, jobframework.CapstanOptions = nil, nil, "", false, nil
	setup(ctx, mgr)
	done := make(chan struct{})
	if withUp {
		f.managerCancel, f.managerDone = cancel, done
		close(done)
		return
	}
	if withHooks {
		go func() { _ = mgr.GetCache().Start(ctx) }()
		go func() { _ = mgr.GetWebhookServer().Start(ctx) }()
		awaitListener(f.testEnv.WebhookInstallOptions.LocalServingHost, f.testEnv.WebhookInstallOptions.LocalServingPort)
	}
	if capstan.Scheduler {
		keepNodes(ctx, cfg, f.scheme)
	}
	if capstan.Configuration == nil {
		capstan.Configuration = &config.Configuration{}
		letGo(ctx, cfg, f.scheme)
	}
	closes := func() {}
	if options.NewClient != nil {
		cfg, closes = throughClient(cfg, f.scheme, options.NewClient)
	}
	scheduler := startScheduler(cfg)
	gates := gatesNow()
	capstan.GatesChanged = func() {
		if now := gatesNow(); ctx.Err() == nil && now != gates {
			gates = now
			scheduler.end()
			scheduler = startScheduler(cfg)
		}
	}
	f.managerCancel, f.managerDone = cancel, done
	go func() {
		defer close(done)
		<-ctx.Done()
		scheduler.end()
		closes()
	}()
}

func gatesNow() (text string) {
	differ := features.CapstanGates()
	for _, g := range gatesAtStart {
		if on, ok := differ[g]; ok {
			text += g + "=" + strconv.FormatBool(on) + ","
		}
	}
	return text
}

// startScheduler starts `capstan scheduler` as the suite would have started its manager.
func startScheduler(cfg *rest.Config) *program {
	ginkgo.GinkgoHelper()
	kubeconfig, err := utiltesting.RestConfigToKubeConfig(cfg)
	must(err)
	c := configuration()
	text, err := yaml.Marshal(c)
	must(err)
	name := nextName()
	must(os.WriteFile(filepath.Join(folder, name+".kubeconfig"), kubeconfig, 0o600))
	must(os.WriteFile(filepath.Join(folder, name+".config.yaml"), text, 0o644))
	address := freeAddress()
	capstan.Begins(address)
	args := []string{"scheduler", "--kubeconfig", filepath.Join(folder, name+".kubeconfig"),
		"--config", filepath.Join(folder, name+".config.yaml"), "--address", address}
	if !withoutBind {
		args = append(args, "--default-scheduler")
	}
	if !capstan.Scheduler {
		args = append(args, "--hold")
	}
	p := startProgram(name, args)
	p.awaitLog(" scheduling ")
	return p
}

// configuration is what the suite handed to its controllers, with the options that it handed to others, and its feature gates.
func configuration() *config.Configuration {
	ginkgo.GinkgoHelper()
	c := capstan.Configuration.DeepCopy()
	c.TypeMeta = metav1.TypeMeta{APIVersion: config.SchemeGroupVersion.String(), Kind: "Configuration"}
	c.FeatureGates = features.CapstanGates()
	if c.FairSharing != nil && len(c.FairSharing.PreemptionStrategies) == 0 { // as Kueue's scheduler takes it
		c.FairSharing.PreemptionStrategies = []config.PreemptionStrategy{config.LessThanOrEqualToFinalShare, config.LessThanInitialShare}
	}
	c.Metrics.BindAddress, c.Health.HealthProbeBindAddress = "", ""
	if len(capstan.Transform) > 0 {
		c.Resources = &config.Resources{Transformations: capstan.Transform}
	}
	if capstan.QuotaCheck != "" {
		if c.Resources == nil {
			c.Resources = &config.Resources{}
		}
		c.Resources.QuotaCheckStrategy = &capstan.QuotaCheck
	}
	o := jobframework.CapstanOptions
	if o == nil {
		return c
	}
	// Reconcilers that do not tell of readiness, and a suite that did not say how long it is waited for.
	if w := c.WaitForPodsReady; !o.WaitForPodsReady && (w == nil || w.Timeout.Duration == config.DefaultWaitForPodsReadyTimeout) {
		c.FeatureGates["DisableWaitForPodsReady"] = true
	}
	c.ManageJobsWithoutQueueName = o.ManageJobsWithoutQueueName
	if o.ManagedJobsNamespaceSelector != nil {
		selector, err := metav1.ParseToLabelSelector(o.ManagedJobsNamespaceSelector.String())
		must(err)
		c.ManagedJobsNamespaceSelector = selector
	}
	c.Integrations = &config.Integrations{Frameworks: []string{"batch/job"}, LabelKeysToCopy: o.LabelKeysToCopy.UnsortedList()}
	if framework := os.Getenv("SUITE_FRAMEWORK"); framework != "" {
		c.Integrations.Frameworks = append(c.Integrations.Frameworks, strings.Split(framework, ",")...)
	}
	if o.EnabledFrameworks.Has("pod") {
		c.Integrations.Frameworks = append(c.Integrations.Frameworks, "pod")
	}
	if after := o.WorkloadRetentionPolicy.AfterDeactivatedByKueue; after != nil && c.ObjectRetentionPolicies == nil {
		c.ObjectRetentionPolicies = &config.ObjectRetentionPolicies{
			Workloads: &config.WorkloadRetentionPolicy{AfterDeactivatedByKueue: &metav1.Duration{Duration: *after}}}
	}
	return c
}
