// A scripted kubelet on grpc-go and the API that k8s.io/kubelet publishes: the implementation that real kubelets are made of.
//
//	kubelet PLUGIN_SERVER
//
// One TAP line a check.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
	oldpods "k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// endpoint is one registered plugin.
type endpoint struct {
	connection *grpc.ClientConn
	client     plugin.DevicePluginClient
	options    *plugin.DevicePluginOptions
	devices    []*plugin.Device
	lists      int
	ended      bool
}

type kubelet struct {
	directory string
	authority string
	server    *grpc.Server
	lock      sync.Mutex
	changed   *sync.Cond
	endpoints map[string]*endpoint
	registers int
	since     time.Time
	took      time.Duration
}

func newKubelet(directory string) *kubelet {
	k := &kubelet{directory: directory, authority: "localhost", endpoints: map[string]*endpoint{}}
	k.changed = sync.NewCond(&k.lock)
	return k
}

func (k *kubelet) socket() string { return filepath.Join(k.directory, "kubelet.sock") }

// start deletes every socket of the directory, as kubelets do, and listens.
func (k *kubelet) start(clean bool) error {
	entries, err := os.ReadDir(k.directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if clean && entry.Type()&os.ModeSocket != 0 {
			if err := os.Remove(filepath.Join(k.directory, entry.Name())); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(k.socket())
	k.since = time.Now()
	listener, err := net.Listen("unix", k.socket())
	if err != nil {
		return err
	}
	k.server = grpc.NewServer()
	plugin.RegisterRegistrationServer(k.server, k)
	go func(server *grpc.Server) { _ = server.Serve(listener) }(k.server)
	return nil
}

func (k *kubelet) stop() {
	k.server.Stop()
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, e := range k.endpoints {
		e.connection.Close()
	}
	k.endpoints = map[string]*endpoint{}
}

// Register answers only after the plugin was called back.
func (k *kubelet) Register(ctx context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	took := time.Since(k.since)
	if r.Version != plugin.Version {
		return nil, fmt.Errorf("version %q is not supported", r.Version)
	}
	path := filepath.Join(k.directory, r.Endpoint)
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	connection, err := grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial), grpc.WithAuthority(k.authority))
	if err != nil {
		return nil, err
	}
	e := &endpoint{connection: connection, client: plugin.NewDevicePluginClient(connection)}
	if e.options, err = e.client.GetDevicePluginOptions(ctx, &plugin.Empty{}); err != nil {
		connection.Close()
		return nil, fmt.Errorf("options: %w", err)
	}
	stream, err := e.client.ListAndWatch(context.Background(), &plugin.Empty{})
	if err != nil {
		return nil, err
	}
	k.lock.Lock()
	if old := k.endpoints[r.ResourceName]; old != nil {
		old.connection.Close()
	}
	k.endpoints[r.ResourceName] = e
	k.registers++
	k.took = took
	k.lock.Unlock()
	go k.read(e, stream)
	return &plugin.Empty{}, nil
}

func (k *kubelet) read(e *endpoint, stream plugin.DevicePlugin_ListAndWatchClient) {
	for {
		message, err := stream.Recv()
		k.lock.Lock()
		if err == nil {
			e.devices = message.Devices
			e.lists++
		} else {
			e.ended = true
		}
		k.changed.Broadcast()
		k.lock.Unlock()
		if err != nil {
			return
		}
	}
}

func (e *endpoint) healthy() (ids []string) {
	for _, d := range e.devices {
		if d.Health == plugin.Healthy {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (k *kubelet) waitFor(resource string, devices int) (*endpoint, error) {
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		k.lock.Lock()
		e := k.endpoints[resource]
		if e != nil && !e.ended && len(e.healthy()) == devices {
			k.lock.Unlock()
			return e, nil
		}
		k.lock.Unlock()
		time.Sleep(time.Millisecond)
	}
	return nil, fmt.Errorf("not %d healthy %s within 10 s", devices, resource)
}

func (k *kubelet) allocate(e *endpoint, count int) ([]string, *plugin.ContainerAllocateResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := e.client.GetPreferredAllocation(ctx, &plugin.PreferredAllocationRequest{
		ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: e.healthy(), AllocationSize: int32(count)}}})
	if err != nil {
		return nil, nil, err
	}
	ids := answer.ContainerResponses[0].DeviceIDs
	given, err := e.client.Allocate(ctx, &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIDs: ids}}})
	if err != nil {
		return ids, nil, err
	}
	return ids, given.ContainerResponses[0], nil
}

// server is the plugin_server program: words in, lines out.
type server struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

type bench struct {
	root, directory, program string
	kubelet                  *kubelet
	server                   *server
}

func (b *bench) serve(config string) error {
	path := ""
	if config != "" {
		path = filepath.Join(b.root, "config.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			return err
		}
	}
	command := exec.Command(b.program, b.directory, b.root, "a100-40gb", "8", path, filepath.Join(b.root, "pods.sock"))
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	b.server = &server{command, in, bufio.NewScanner(out)}
	if err := command.Start(); err != nil {
		return err
	}
	b.server.out.Scan()
	return nil
}

func (s *server) ask(word string) string {
	fmt.Fprintln(s.in, word)
	s.out.Scan()
	return s.out.Text()
}

func (b *bench) close() error {
	if b.kubelet.server != nil {
		b.kubelet.stop()
	}
	if b.server == nil {
		return nil
	}
	b.server.in.Close()
	return b.server.command.Wait()
}

func check(ok bool, format string, arguments ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func testRegister(b *bench) error {
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	e, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	if err != nil {
		return err
	}
	return first(check(e.options.GetPreferredAllocationAvailable && !e.options.PreStartRequired, "options: %v", e.options),
		check(e.devices[7].Topology.Nodes[0].ID == 1, "topology: %v", e.devices[7]))
}

func testAuthority(b *bench) error {
	b.kubelet.authority = filepath.Join(b.directory, "nvidia-gpu.sock")
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	_, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	return err
}

func testStrategies(b *bench) error {
	config := "version: v1\nflags:\n  plugin:\n    passDeviceSpecs: true\n    deviceListStrategy: [envvar, volume-mounts, cdi-annotations, cdi-cri]\n"
	if err := first(b.kubelet.start(true), b.serve(config)); err != nil {
		return err
	}
	e, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	if err != nil {
		return err
	}
	ids, given, err := b.kubelet.allocate(e, 2)
	if err != nil {
		return err
	}
	return first(check(len(given.CDIDevices) == 2 && strings.HasSuffix(given.CDIDevices[0].Name, ids[0]), "cdi: %v", given.CDIDevices),
		check(len(given.Annotations) == 1, "annotations: %v", given.Annotations),
		check(len(given.Mounts) == 2, "mounts: %v", given.Mounts), check(len(given.Devices) >= 3, "devices: %v", given.Devices),
		check(given.Envs["NVIDIA_VISIBLE_DEVICES"] != "", "envs: %v", given.Envs))
}

func testRefusal(b *bench) error {
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	e, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	if err != nil {
		return err
	}
	_, err = e.client.Allocate(context.Background(), &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIDs: []string{"GPU-ä%"}}}})
	return check(status.Code(err) == codes.NotFound && strings.Contains(err.Error(), "GPU-ä%"), "refusal: %v", err)
}

func testHealth(b *bench) error {
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	if _, err := b.kubelet.waitFor("nvidia.com/gpu", 8); err != nil {
		return err
	}
	b.server.ask("unhealthy 2")
	if _, err := b.kubelet.waitFor("nvidia.com/gpu", 7); err != nil {
		return err
	}
	b.server.ask("healthy 2")
	_, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	return err
}

// Thousands of devices: the list is longer than the window that grpc-go begins with.
func testLongLists(b *bench) error {
	config := "version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 700\n"
	if err := first(b.kubelet.start(true), b.serve(config)); err != nil {
		return err
	}
	for _, word := range []string{"unhealthy 0", "unhealthy 1", "healthy 0", "healthy 1"} {
		b.server.ask(word)
	}
	e, err := b.kubelet.waitFor("nvidia.com/gpu", 5600)
	if err != nil {
		return err
	}
	ids, _, err := b.kubelet.allocate(e, 8)
	units := map[string]bool{}
	for _, id := range ids {
		units[strings.Split(id, "::")[0]] = true
	}
	return first(err, check(len(units) == 8, "eight shares are of %d GPUs", len(units)))
}

func testConcurrentCalls(b *bench) error {
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	e, err := b.kubelet.waitFor("nvidia.com/gpu", 8)
	if err != nil {
		return err
	}
	results := make(chan error, 400)
	for i := 0; i < cap(results); i++ {
		go func() {
			_, _, err := b.kubelet.allocate(e, 1+i%8)
			results <- err
		}()
	}
	for i := 0; i < cap(results); i++ {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

func testRestarts(b *bench) error {
	if err := first(b.kubelet.start(true), b.serve("")); err != nil {
		return err
	}
	var took []time.Duration
	for i := 0; i < 50; i++ {
		if _, err := b.kubelet.waitFor("nvidia.com/gpu", 8); err != nil {
			return fmt.Errorf("restart %d: %w", i, err)
		}
		took = append(took, b.kubelet.took)
		b.kubelet.stop()
		if err := b.kubelet.start(i%2 == 0); err != nil {
			return err
		}
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	fmt.Printf("# registration after the socket's appearance: median %v, worst %v\n", took[len(took)/2], took[len(took)-1])
	return nil
}

type podServer struct {
	pods.UnimplementedPodResourcesListerServer
}

func (podServer) List(context.Context, *pods.ListPodResourcesRequest) (*pods.ListPodResourcesResponse, error) {
	devices := []*pods.ContainerDevices{
		{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-1"}, Topology: &pods.TopologyInfo{Nodes: []*pods.NUMANode{{ID: 0}}}},
		{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-1"}, Topology: &pods.TopologyInfo{Nodes: []*pods.NUMANode{{ID: 1}}}}}
	return &pods.ListPodResourcesResponse{PodResources: []*pods.PodResources{{Name: "train", Namespace: "ml",
		Containers: []*pods.ContainerResources{{Name: "worker", Devices: devices, CpuIds: []int64{1, 2, 300}}}}}}, nil
}

type oldPodServer struct{}

func (oldPodServer) List(context.Context, *oldpods.ListPodResourcesRequest) (*oldpods.ListPodResourcesResponse, error) {
	return &oldpods.ListPodResourcesResponse{PodResources: []*oldpods.PodResources{{Name: "old", Namespace: "ml",
		Containers: []*oldpods.ContainerResources{{Name: "c", Devices: []*oldpods.ContainerDevices{
			{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-2"}}}}}}}}, nil
}

func podsOf(b *bench, register func(*grpc.Server)) (string, error) {
	listener, err := net.Listen("unix", filepath.Join(b.root, "pods.sock"))
	if err != nil {
		return "", err
	}
	s := grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(listener) }()
	defer s.Stop()
	return b.server.ask("owners"), nil
}

func testPodResources(b *bench) error {
	if err := b.serve(""); err != nil {
		return err
	}
	said, err := podsOf(b, func(s *grpc.Server) { pods.RegisterPodResourcesListerServer(s, &podServer{}) })
	if err := first(err, check(said == "owners 0 1 nvidia.com/gpu=GPU-1:ml/train/worker", "%s", said)); err != nil {
		return err
	}
	said, err = podsOf(b, func(s *grpc.Server) { oldpods.RegisterPodResourcesListerServer(s, oldPodServer{}) })
	return first(err, check(said == "owners 0 1 nvidia.com/gpu=GPU-2:ml/old/c", "%s", said))
}

func run(program string, test func(*bench) error) error {
	root, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	b := &bench{root: root, directory: filepath.Join(root, "device-plugins"), program: program}
	if err := os.Mkdir(b.directory, 0o700); err != nil {
		return err
	}
	b.kubelet = newKubelet(b.directory)
	return first(test(b), b.close())
}

func main() {
	tests := []struct {
		name string
		run  func(*bench) error
	}{{"register", testRegister}, {"socket_path_as_authority", testAuthority}, {"strategies", testStrategies}, {"refusal", testRefusal},
		{"health", testHealth}, {"long_lists", testLongLists}, {"concurrent_calls", testConcurrentCalls}, {"restarts", testRestarts},
		{"pod_resources", testPodResources}}
	fmt.Printf("1..%d\n", len(tests))
	failed := 0
	for i, test := range tests {
		if err := run(os.Args[1], test.run); err != nil {
			failed = 1
			fmt.Printf("not ok %d - kubelet/go/%s\n# %v\n", i+1, test.name, err)
		} else {
			fmt.Printf("ok %d - kubelet/go/%s\n", i+1, test.name)
		}
	}
	os.Exit(failed)
}
