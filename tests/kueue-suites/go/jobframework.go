// Beside pkg/controller/jobframework/reconciler.go, in the place of its ProcessOptions
package jobframework

// CapstanOptions are those of the suite's reconcilers, where it has any.
var CapstanOptions *Options

func ProcessOptions(opts ...Option) Options {
	o := kueueProcessOptions(opts...)
	CapstanOptions = &o
	return o
}
