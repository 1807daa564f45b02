"""kubelet.py - a kubelet's device manager and podresources, on grpc's C core: how device plugins look from the other side.

It does what the real one does where a plugin can see it: every socket of the directory is deleted at the start; Register calls the plugin
back before it answers; lists are whole; one container, one resource a request; the choice is asked for before Allocate.
"""
import collections
import concurrent.futures
import os
import re
import stat
import threading
import time

import grpc

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def until(check, what, seconds=60):
    """Looks again and again; for states, so that the limit may be as long as a busy machine wants."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def is_sanitized(program):
    """Built with a sanitizer that makes memory and time no measure."""
    with open(program, "rb") as f:
        return re.search(rb"__[at]san_init", f.read()) is not None


class AdmissionError(Exception):
    """What a pod's status would say as UnexpectedAdmissionError."""


class Endpoint:
    """One registered plugin socket."""

    def __init__(self, kubelet, resource, name):
        self.kubelet, self.resource, self.name = kubelet, resource, name
        self.devices, self.order, self.lists = {}, [], 0
        self.ended = threading.Event()
        self.error = None
        options = [("grpc.default_authority", kubelet.authority), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.insecure_channel("unix:" + os.path.join(kubelet.directory, name), options=options)
        grpc.channel_ready_future(self.channel).result(timeout=30)
        self.options = self.call("GetDevicePluginOptions", kubelet.api.Empty())

    def call(self, method, request, timeout=60):
        path, _, response, _ = self.kubelet.api.methods["DevicePlugin"][method]
        return self.channel.unary_unary(path, type(request).SerializeToString, response.FromString)(request, timeout=timeout)

    def watch(self):
        path, _, response, _ = self.kubelet.api.methods["DevicePlugin"]["ListAndWatch"]
        stream = self.channel.unary_stream(path, lambda m: m.SerializeToString(), response.FromString)(self.kubelet.api.Empty())
        self.stream = stream
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        try:
            for message in stream:
                with self.kubelet.changed:
                    self.devices = {d.ID: d for d in message.devices}
                    self.order = [d.ID for d in message.devices]
                    self.lists += 1
                    self.kubelet.changed.notify_all()
        except grpc.RpcError as error:
            self.error = error
        with self.kubelet.changed:
            self.ended.set()
            self.kubelet.changed.notify_all()

    def stop(self):
        self.channel.close()


class Kubelet:
    def __init__(self, directory, api, pods_socket=None, pods_api=None, authority="localhost"):
        self.directory, self.api, self.authority = directory, api, authority
        self.socket = os.path.join(directory, "kubelet.sock")
        self.pods_socket, self.pods_api = pods_socket, pods_api
        self.changed = threading.Condition()
        self.endpoints, self.registrations, self.pods = {}, [], collections.OrderedDict()
        self.taken = collections.defaultdict(set)
        self.server = self.pods_server = None
        self.refuse = None
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)

    def serve(self, path, api, service, functions, package=None):
        handlers = {}
        for method, function in functions.items():
            _, request, response, _ = api.methods[service][method]
            handlers[method] = grpc.unary_unary_rpc_method_handler(function, request.FromString, response.SerializeToString)
        name = next(iter(api.methods[service].values()))[0].split("/")[1]
        server = grpc.server(self.pool, options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(package or name, handlers),))
        server.add_insecure_port("unix:" + path)
        server.start()
        return server

    def start(self, clean=True):
        if clean:
            for name in os.listdir(self.directory):
                path = os.path.join(self.directory, name)
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    os.unlink(path)
        self.started = time.monotonic()
        self.server = self.serve(self.socket, self.api, "Registration", {"Register": self.register})
        if self.pods_socket:
            self.pods_server = self.serve(self.pods_socket, self.pods_api, "PodResourcesLister", {"List": self.list_pods})

    def stop(self):
        for server in (self.server, self.pods_server):
            if server:
                server.stop(0).wait()
        for endpoint in list(self.endpoints.values()):
            endpoint.stop()
        self.endpoints = {}
        self.server = self.pods_server = None

    def restart(self, clean=True):
        self.stop()
        if os.path.lexists(self.socket):
            os.unlink(self.socket)
        self.start(clean)

    def register(self, request, context):
        now = time.monotonic()
        if self.refuse:
            context.abort(grpc.StatusCode.UNKNOWN, self.refuse)
        if request.version != "v1beta1":
            context.abort(grpc.StatusCode.UNKNOWN, f"requested API version {request.version!r} is not supported")
        if not NAME.fullmatch(request.resource_name) or "/" in request.endpoint:
            context.abort(grpc.StatusCode.UNKNOWN, f"not a resource name or socket: {request.resource_name!r}, {request.endpoint!r}")
        try:
            endpoint = Endpoint(self, request.resource_name, request.endpoint)
        except Exception as error:  # whatever it is, the plugin hears of it
            context.abort(grpc.StatusCode.UNKNOWN, f"failed to dial device plugin: {error}")
        with self.changed:
            old = self.endpoints.get(request.resource_name)
            self.endpoints[request.resource_name] = endpoint
            self.registrations.append((now - self.started, request))
            self.changed.notify_all()
        if old:
            old.stop()
        endpoint.watch()
        return self.api.Empty()

    def wait(self, condition, what, seconds=60):
        with self.changed:
            if not self.changed.wait_for(condition, timeout=seconds):
                raise AssertionError(f"not within {seconds} s: {what}")

    def wait_for(self, resource, devices):
        """Until the resource is registered and lists so many healthy devices."""
        self.wait(lambda: resource in self.endpoints and not self.endpoints[resource].ended.is_set()
                  and len(self.healthy(resource)) == devices, f"{devices} healthy {resource}, has {self.capacity()}")
        return self.endpoints[resource]

    def healthy(self, resource):
        return [i for i in self.endpoints[resource].order if self.endpoints[resource].devices[i].health == "Healthy"]

    def capacity(self):
        return {r: (len(self.healthy(r)), len(e.devices)) for r, e in self.endpoints.items()}

    def choose(self, resource, count):
        """The ids that a container would get which asks for `count` now."""
        endpoint = self.endpoints.get(resource)
        if not endpoint:
            raise AdmissionError(f"cannot allocate unregistered device {resource}")
        free = [i for i in self.healthy(resource) if i not in self.taken[resource]]
        if len(free) < count:
            raise AdmissionError(f"requested number of devices unavailable for {resource}. Requested: {count}, Available: {len(free)}")
        chosen = free[:count]
        if endpoint.options.get_preferred_allocation_available:
            request = self.api.PreferredAllocationRequest()
            request.container_requests.add(available_deviceIDs=free, allocation_size=count)
            answer = endpoint.call("GetPreferredAllocation", request)
            chosen = [i for i in answer.container_responses[0].deviceIDs if i in free]
            chosen += [i for i in free if i not in chosen][:count - len(chosen)]
        return chosen

    def admit(self, namespace, pod, container, resource, count):
        """A container that asks for `count`: the chosen ids and the plugin's answer."""
        chosen = self.choose(resource, count)
        endpoint = self.endpoints[resource]
        request = self.api.AllocateRequest()
        request.container_requests.add(devices_ids=chosen)
        answer = endpoint.call("Allocate", request)
        if endpoint.options.pre_start_required:
            endpoint.call("PreStartContainer", self.api.PreStartContainerRequest(devices_ids=chosen))
        self.taken[resource].update(chosen)
        self.pods.setdefault((namespace, pod), {}).setdefault(container, []).append((resource, chosen))
        return chosen, answer.container_responses[0]

    def end(self, namespace, pod):
        for given in self.pods.pop((namespace, pod)).values():
            for resource, ids in given:
                self.taken[resource].difference_update(ids)

    def list_pods(self, request, context):
        answer = self.pods_api.ListPodResourcesResponse()
        for (namespace, name), containers in list(self.pods.items()):
            pod = answer.pod_resources.add(name=name, namespace=namespace)
            for container, given in containers.items():
                to = pod.containers.add(name=container, cpu_ids=[1, 2])
                for resource, ids in given:
                    for device in ids:  # one entry a NUMA node: twice the same device, as a kubelet does
                        for node in (0, 1):
                            devices = to.devices.add(resource_name=resource, device_ids=[device])
                            devices.topology.nodes.add(ID=node)
        return answer
