// Beside test/integration/framework/capstan_faults.go: faults that a suite puts into its manager's client, between capstan and the API server
package framework

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/"

// patched finds the Workload whose status a request patches.
func patched(r *http.Request) (key client.ObjectKey, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.Path, workloads)
	parts := strings.Split(rest, "/")
	if !ok || r.Method != http.MethodPatch || len(parts) != 4 || parts[1] != "workloads" || parts[3] != "status" ||
		r.Header.Get("Content-Type") != string(types.MergePatchType) {
		return key, false
	}
	return client.ObjectKey{Namespace: parts[0], Name: parts[2]}, true
}

// throughClient is the same server with a door before it: patches of a Workload's status go through the client that the suite made for its
// manager, with the object as it would be with the patch; all else goes on as it is.
func throughClient(cfg *rest.Config, scheme *runtime.Scheme, newClient client.NewClientFunc) (*rest.Config, func()) {
	c, err := newClient(cfg, client.Options{Scheme: scheme})
	must(err)
	target, err := url.Parse(cfg.Host)
	must(err)
	onward := httputil.NewSingleHostReverseProxy(target)
	onward.FlushInterval = -1
	onward.Transport, err = rest.TransportFor(cfg)
	must(err)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := patched(r)
		if !ok {
			onward.ServeHTTP(w, r)
			return
		}
		wl := &kueue.Workload{}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.Get(r.Context(), key, wl)
		}
		if err == nil {
			err = preview(wl, body)
		}
		if err == nil {
			err = c.Status().Patch(r.Context(), wl, client.RawPatch(types.MergePatchType, body), client.FieldOwner(r.URL.Query().Get("fieldManager")))
		}
		answer(w, wl, err)
	}))
	return &rest.Config{Host: door.URL, QPS: cfg.QPS, Burst: cfg.Burst}, door.Close
}

func preview(wl *kueue.Workload, patch []byte) error {
	text, err := json.Marshal(wl)
	if err != nil {
		return err
	}
	if text, err = jsonpatch.MergePatch(text, patch); err != nil {
		return err
	}
	*wl = kueue.Workload{}
	return json.Unmarshal(text, wl)
}

func answer(w http.ResponseWriter, wl *kueue.Workload, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err == nil {
		wl.TypeMeta = metav1.TypeMeta{APIVersion: kueue.SchemeGroupVersion.String(), Kind: "Workload"}
		_ = json.NewEncoder(w).Encode(wl)
		return
	}
	status := apierrors.NewInternalError(err).Status()
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(&status)
}
