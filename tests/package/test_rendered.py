#!/usr/bin/env python3
"""test_rendered.py - the scheduler as the kustomize base and the Helm chart start it: their objects on a real kube-apiserver, the program
in a pod's place with exactly these arguments, that account's token and no other right; it does work of every kind (work.yaml), and the
server's audit log has what it was refused. TAP

The numbers of its ports alone are others, for they may be taken here. KUBE_APISERVER and ETCD name the programs (default: on PATH), HELM
helm (without it the base alone is tried), BUILD the build folder; root, for the pod's place is a mount namespace (inpod.sh).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / 'tests'))
import real_server  # noqa: E402

CAPSTAN = str(pathlib.Path(os.environ.get('BUILD', ROOT / 'build')).resolve() / 'capstan')
HELM = shutil.which(os.environ.get('HELM', 'helm'))
CHART = str(ROOT / 'deploy/helm/capstan')
SOON_S = 60
TEMPLATE = ('template: {spec: {restartPolicy: OnFailure, schedulerName: %s, nodeSelector: {pass: %s}, containers: [{name: %s, image: x, '
            'resources: {limits: {nvidia.com/gpu: 1}}}]}}')
# Kinds whose definitions others bring: GROUP VERSION KIND
OTHERS = '''jobset.x-k8s.io v1alpha2 JobSet, kubeflow.org v1 PyTorchJob, kubeflow.org v2beta1 MPIJob, kubeflow.org v1 TFJob,
kubeflow.org v1 XGBoostJob, kubeflow.org v1 JAXJob, kubeflow.org v1 PaddleJob, ray.io v1 RayJob, ray.io v1 RayCluster,
ray.io v1 RayService, sparkoperator.k8s.io v1beta2 SparkApplication, autoscaling.x-k8s.io v1 ProvisioningRequest,
leaderworkerset.x-k8s.io v1 LeaderWorkerSet, monitoring.coreos.com v1 PodMonitor, monitoring.coreos.com v1 PrometheusRule'''
# Who starts by which field of the spec: VERSION PLURAL NAME-IN-work.yaml FIELD
STARTS = '''batch/v1 jobs job suspend
batch/v1 jobs job-racks suspend
trainer.kubeflow.org/v1alpha1 trainjobs trainjob suspend
jobset.x-k8s.io/v1alpha2 jobsets jobset suspend
kubeflow.org/v1 pytorchjobs pytorchjob runPolicy.suspend
kubeflow.org/v2beta1 mpijobs mpijob runPolicy.suspend
kubeflow.org/v1 tfjobs tfjob runPolicy.suspend
kubeflow.org/v1 xgboostjobs xgboostjob runPolicy.suspend
kubeflow.org/v1 jaxjobs jaxjob runPolicy.suspend
kubeflow.org/v1 paddlejobs paddlejob runPolicy.suspend
ray.io/v1 rayjobs rayjob suspend
ray.io/v1 rayclusters raycluster suspend
ray.io/v1 rayservices rayservice rayClusterConfig.suspend
sparkoperator.k8s.io/v1beta2 sparkapplications spark suspend'''
AUDIT = {'apiVersion': 'audit.k8s.io/v1', 'kind': 'Policy', 'omitStages': ['RequestReceived', 'ResponseStarted'],
         'rules': [{'level': 'Metadata', 'userGroups': ['system:serviceaccounts']}, {'level': 'None'}]}


def run(*words, text=None):
    done = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    return done.returncode, done.stdout


def definition(group, version, kind):
    plural = kind.lower() + 's'
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {
        'name': f'{plural}.{group}', 'annotations': {'api-approved.kubernetes.io': 'unapproved, for a test'}}, 'spec': {
        'group': group, 'scope': 'Namespaced', 'names': {'kind': kind, 'plural': plural, 'singular': kind.lower()}, 'versions': [{
            'name': version, 'served': True, 'storage': True, 'subresources': {'status': {}},
            'schema': {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


def at(o, path):
    for word in path.split('.'):
        o = (o or {}).get(word)
    return o


def there(o):
    return 'uid' in o.get('metadata', {})


def going(o):
    """Deleted, though nobody collects garbage here."""
    return not there(o) or 'deletionTimestamp' in o['metadata']


def find(objects, kind, name):
    return next((o for o in objects if o['kind'] == kind and o['metadata']['name'] == name), None)


class Pod:
    """The program in the place of a Deployment's container."""

    def __init__(self, c, objects, name, folder):
        self.c, self.ns = c, find(objects, 'Deployment', name)['metadata']['namespace']
        spec = find(objects, 'Deployment', name)['spec']['template']['spec']
        self.account = spec['serviceAccountName']
        place = pathlib.Path(folder)
        (place / 'serviceaccount').mkdir(parents=True)
        status, answer = c.call('POST', f'/api/v1/namespaces/{self.ns}/serviceaccounts/{self.account}/token', {
            'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest', 'spec': {'audiences': ['https://kubernetes.default.svc']}})
        assert status == 201, answer
        (place / 'serviceaccount/token').write_text(answer['status']['token'], encoding='utf-8')
        (place / 'serviceaccount/namespace').write_text(self.ns, encoding='utf-8')
        shutil.copy(f'{c.dir}/certs/apiserver.crt', place / 'serviceaccount/ca.crt')
        for volume in spec.get('volumes', []):
            (place / volume['name']).mkdir()
            for file, text in find(objects, 'ConfigMap', volume['configMap']['name'])['data'].items():
                (place / volume['name'] / file).write_text(text, encoding='utf-8')
        self.said = place / 'log'
        port = iter(real_server.ports(4))
        args = [re.sub(r':808\d$', lambda _: f':{next(port)}', a) for a in spec['containers'][0]['args']]
        host = re.fullmatch(r'https://(.*):(\d+)', c.url)
        env = {'PATH': os.environ['PATH'], 'KUBERNETES_SERVICE_HOST': host.group(1), 'KUBERNETES_SERVICE_PORT': host.group(2)}
        with open(self.said, 'wb') as log:
            self.process = subprocess.Popen([HERE / 'inpod.sh', place, CAPSTAN, *args], env=env, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)

    def user(self):
        return f'system:serviceaccount:{self.ns}:{self.account}'

    def log(self):
        return self.said.read_text(errors='replace')[-600:].replace('\n', ' | ')

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


class Work:
    """Work in namespace ns, and what came of it."""

    def __init__(self, c, check, kubectl, ns):
        self.c, self.check, self.kubectl, self.ns = c, check, kubectl, ns

    def get(self, api, path, name=''):
        base = '/api/v1' if api == 'v1' else '/apis/' + api
        return self.c.call('GET', f'{base}/namespaces/{self.ns}/{path}{"/" + name if name else ""}')[1]

    def soon(self, what, good, said):
        end = time.monotonic() + (2 if self.check.failed > 2 else SOON_S)
        while not good() and time.monotonic() < end:
            time.sleep(0.2)
        self.check(good(), f'{self.ns}: {what}', said() if callable(said) else said)

    def apply(self, text):
        code, said = self.kubectl('apply', '-f', '-', text=text)
        assert code == 0, said

    def begin(self):
        text = (HERE / 'work.yaml').read_text().replace('WORK', self.ns)
        documents = text.split('\n---\n')
        containers = {'PyTorchJob': 'pytorch', 'TFJob': 'tensorflow', 'XGBoostJob': 'xgboost', 'JAXJob': 'jax', 'PaddleJob': 'paddle'}
        for i, d in enumerate(documents):
            kind = re.search(r'kind: (\w+)', d)
            scheduler = 'volcano' if 'volcano.sh' in d else 'capstan'
            documents[i] = d.replace('TEMPLATE', TEMPLATE % (scheduler, self.ns, containers.get(kind.group(1) if kind else '', 'node')))
        self.apply('\n---\n'.join(documents))
        for node, gpus in (('many', 64), ('one', 1)):
            room = {'nvidia.com/gpu': str(gpus), 'cpu': '64', 'memory': '256Gi', 'pods': '110'}
            self.c.call('PATCH', f'/api/v1/nodes/{self.ns}-{node}/status', {'status': {'capacity': room, 'allocatable': room,
                'conditions': [
                {'type': 'Ready', 'status': 'True', 'reason': 'r', 'message': 'm'}]}}, kind='application/strategic-merge-patch+json')
            # The taint that the server gives to nodes that are not ready yet, and nobody here takes away.
            self.c.call('PATCH', f'/api/v1/nodes/{self.ns}-{node}', {'spec': {'taints': None}}, kind='application/merge-patch+json')

    def condition(self, workload, kind):
        return next((x['status'] for x in workload.get('status', {}).get('conditions', []) if x['type'] == kind), '')

    def workload_of(self, name):
        for w in self.get('kueue.x-k8s.io/v1beta2', 'workloads').get('items', []):
            if any(o['name'] == name for o in w['metadata'].get('ownerReferences', [])):
                return w
        return {}

    def active(self, job, yes):
        self.c.call('PATCH', f'/apis/kueue.x-k8s.io/v1beta2/namespaces/{self.ns}/workloads/{self.workload_of(job)["metadata"]["name"]}',
                    {'spec': {'active': yes}}, kind='application/merge-patch+json')

    def complete(self, job):
        began, ended = '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'
        self.status('batch/v1', 'jobs', job, {'succeeded': 1, 'startTime': began, 'completionTime': ended, 'conditions': [
            {'type': t, 'status': 'True', 'reason': 'r', 'message': 'm', 'lastTransitionTime': ended} for t in ('SuccessCriteriaMet',
                'Complete')]})

    def requests_are(self, condition):
        for request in self.get('autoscaling.x-k8s.io/v1', 'provisioningrequests').get('items', []):
            self.status('autoscaling.x-k8s.io/v1', 'provisioningrequests', request['metadata']['name'], {'conditions': [
                {'type': condition, 'status': 'True', 'reason': 'r', 'message': 'm', 'lastTransitionTime': '2026-01-01T00:00:00Z'}]})

    def pods(self, prefix):
        return [p for p in self.get('v1', 'pods').get('items', []) if p['metadata']['name'].startswith(prefix)]

    def bound(self, prefix, n):
        return lambda: sum(bool(p['spec'].get('nodeName')) for p in self.pods(prefix)) == n

    def status(self, api, path, name, status):
        base = '/api/v1' if api == 'v1' else '/apis/' + api
        return self.c.call('PATCH', f'{base}/namespaces/{self.ns}/{path}/{name}/status', {'status': status},
                           kind='application/merge-patch+json')

    def events(self):
        return ' '.join(e['reason'] + ': ' + e['message'][:90] for e in self.get('v1', 'events').get('items',
            []) if e['type'] == 'Warning')[-900:]

    def kueue(self):
        for api, plural, name, field in (line.split() for line in STARTS.splitlines()):
            self.soon(f'{name} starts', lambda a=api, p=plural, n=name, f=field: at(self.get(a, p, n).get('spec'), f) is False,
                      lambda n=name: f'{self.workload_of(n).get("status")} {self.events()}')
        self.soon('its Workload is admitted', lambda: self.condition(self.workload_of('job'), 'Admitted') == 'True', self.events)
        self.soon('a queued pod is bound', self.bound('queued', 1), self.events)
        self.soon('nodes are asked for',
                  lambda: bool(self.get('autoscaling.x-k8s.io/v1', 'provisioningrequests').get('items')), self.events)
        self.requests_are('Provisioned')
        self.soon('and with them it starts', lambda: self.get('batch/v1', 'jobs', 'job-bought')['spec']['suspend'] is False, self.events)
        self.active('job-racks', False)
        self.soon('who is deactivated is suspended',
                  lambda: self.get('batch/v1', 'jobs', 'job-racks')['spec']['suspend'] is True, self.events)
        self.requests_are('CapacityRevoked')
        self.soon('who loses its nodes is stopped, and its request goes',
                  lambda: not self.get('autoscaling.x-k8s.io/v1', 'provisioningrequests').get('items'), self.events)

        def finalized(path):
            return lambda: 'kueue.x-k8s.io/resource-in-use' in (
                at(self.c.call('GET', f'/apis/kueue.x-k8s.io/v1beta2/{path}')[1], 'metadata.finalizers') or [])
        for path in ('clusterqueues/', 'resourceflavors/', 'topologies/', 'admissionchecks/'):
            self.soon(f'{path}{self.ns} is kept while it is in use', finalized(path + self.ns), path)
        counts = [('clusterqueues', ''), ('localqueues', f'namespaces/{self.ns}/')]
        for plural, scope in counts:
            name = self.ns if not scope else 'q'
            self.soon(f'status of {plural}',
                      lambda p=plural, s=scope, n=name: at(self.c.call('GET', f'/apis/kueue.x-k8s.io/v1beta2/{s}{p}/{n}')[1],
                      'status.admittedWorkloads'), plural)

    def gangs(self):
        self.soon('a gang is bound', self.bound('band-', 2), self.events)
        self.soon('its PodGroup says so',
                  lambda: at(self.get('scheduling.x-k8s.io/v1alpha1', 'podgroups', 'band'), 'status.phase'), self.events)
        self.soon('a lone pod is bound', self.bound('low', 1), self.events)
        self.soon("a pod of YuniKorn's is bound", self.bound('yunikorn', 1), self.events)
        self.soon("its queues' configuration is said to have no effect",
                  lambda: any(e['reason'] == 'QueuesIgnored' for e in self.get('v1', 'events').get('items', [])), self.events)
        pod = ('{apiVersion: v1, kind: Pod, metadata: {name: high, namespace: %s}, spec: {schedulerName: capstan, '
               'priorityClassName: %s-high, nodeSelector: {lone: %s}, '
               'containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}' % ((self.ns,) * 3))
        self.apply(pod)
        self.soon('it goes for one of higher priority',
                  lambda: not self.pods('low') or self.pods('low')[0]['metadata'].get('deletionTimestamp'), self.events)
        owner = self.get('apps/v1', 'replicasets', 'set')['metadata']['uid']
        self.apply('{apiVersion: v1, kind: Pod, metadata: {name: set-0, namespace: %s, labels: {app: set}, ownerReferences: ['
                   '{apiVersion: apps/v1, kind: ReplicaSet, name: set, uid: %s, controller: true}]}, spec: {schedulerName: volcano, '
                   'nodeSelector: {pass: %s}, containers: [{name: c, image: x}]}}' % (self.ns, owner, self.ns))
        self.soon('a pod of a set is bound', self.bound('set-0', 1), self.events)

    def volcano(self):
        self.soon('a vcjob is bound', self.bound('vcjob-w-', 2), self.events)
        for api, plural, name in (('v1', 'services', 'vcjob'), ('v1', 'configmaps', 'vcjob-svc'), ('networking.k8s.io/v1',
            'networkpolicies', 'vcjob')):
            self.soon(f'its {plural}', lambda a=api, p=plural, n=name: there(self.get(a, p, n)), self.events)
        self.soon('its secret',
                  lambda: any(s['metadata']['name'].startswith('vcjob-') for s in self.get('v1', 'secrets').get('items', [])), self.events)
        self.soon('its claim', lambda: bool(self.get('v1', 'persistentvolumeclaims').get('items')), self.events)
        self.soon('a flow begins', lambda: there(self.get('batch.volcano.sh/v1alpha1', 'jobs', 'flow-step')), self.events)
        self.soon('HyperNodes count',
                  lambda: at(self.c.call('GET', f'/apis/topology.volcano.sh/v1alpha1/hypernodes/{self.ns}')[1], 'status.nodeCount'),
                  self.events)
        for pod in self.pods('vcjob-w-'):
            self.status('v1', 'pods', pod['metadata']['name'], {'phase': 'Running'})
        self.soon('it runs',
                  lambda: at(self.get('batch.volcano.sh/v1alpha1', 'jobs', 'vcjob'), 'status.state.phase') == 'Running', self.events)
        for action, kind, api, name in (('AbortJob', 'Job', 'batch.volcano.sh/v1alpha1', 'vcjob'),
                                        ('CloseQueue', 'Queue', 'scheduling.volcano.sh/v1beta1', self.ns)):
            uid = self.get(api, 'jobs', name)['metadata']['uid'] if kind == 'Job' else 'x'
            self.c.call('POST', f'/apis/bus.volcano.sh/v1alpha1/namespaces/{self.ns}/commands', {
                'apiVersion': 'bus.volcano.sh/v1alpha1', 'kind': 'Command', 'metadata': {'generateName': 'c-'}, 'action': action,
                'reason': 'test', 'target': {'apiVersion': api, 'kind': kind, 'name': name, 'uid': uid, 'controller': True}})
        self.soon('and is aborted', lambda: all(p['metadata'].get('deletionTimestamp') for p in self.pods('vcjob-w-')), self.events)
        self.soon('a queue is closed',
                  lambda: at(self.c.call('GET', f'/apis/scheduling.volcano.sh/v1beta1/queues/{self.ns}')[1], 'status.state') in ('Closed',
                  'Closing'), self.events)
        self.c.call('DELETE', f'/apis/batch.volcano.sh/v1alpha1/namespaces/{self.ns}/jobs/vcjob', {'propagationPolicy': 'Background'})
        self.soon('a schedule begins',
                  lambda: any(j['metadata']['name'].startswith('minute-') for j in self.get('batch.volcano.sh/v1alpha1',
                  'jobs').get('items', [])), self.events)


def refused(log, user):
    """{what: how often} of what the server did not let user do, and what it let."""
    denied, done = {}, set()
    for line in pathlib.Path(log).read_text(encoding='utf-8').splitlines():
        e = json.loads(line)
        if e['user']['username'] != user:
            continue
        o = e.get('objectRef', {})
        what = (o.get('apiGroup', ''), o.get('resource', e['requestURI']) + ('/' + o['subresource'] if o.get('subresource') else ''),
                e['verb'])
        if e['responseStatus']['code'] in (401, 403):
            denied[what] = denied.get(what, 0) + 1
        else:
            done.add(what)
    return denied, done


def unused(objects, done):
    """Rights of the scheduler's ClusterRole that the work did not need."""
    role = find(objects, 'ClusterRole', 'capstan-scheduler')
    wanted = {(g, r, v) for rule in role['rules'] for g in rule['apiGroups'] for r in rule['resources'] for v in rule['verbs']
              if '/' in r or v not in ('list', 'watch')}
    return sorted(' '.join((v, r, g)).strip() for g, r, v in wanted - done)


def front_proxy(folder):
    """kube-apiserver's options for the aggregation layer, with a CA and a certificate of its own."""
    key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    ca, proxy = f'{folder}/ca', f'{folder}/proxy'
    for words in (['req', '-x509', *key, '-keyout', ca + '.key', '-subj', '/CN=front-ca', '-days', '1', '-out', ca + '.crt'],
                  ['req', '-new', *key, '-keyout', proxy + '.key', '-subj', '/CN=front-proxy', '-out', proxy + '.csr'],
                  ['x509', '-req', '-in', proxy + '.csr', '-CA', ca + '.crt', '-CAkey', ca + '.key', '-set_serial', '1', '-days', '1',
                   '-out', proxy + '.crt']):
        subprocess.run(['openssl', *words], check=True, stderr=subprocess.DEVNULL)
    return [f'--requestheader-client-ca-file={ca}.crt', '--requestheader-allowed-names=front-proxy',
            '--requestheader-username-headers=X-Remote-User',
            '--requestheader-group-headers=X-Remote-Group', '--requestheader-extra-headers-prefix=X-Remote-Extra-',
            f'--proxy-client-cert-file={proxy}.crt', f'--proxy-client-key-file={proxy}.key']


def named(text):
    """{(kind, name): object} of a manifest, without what says nothing: how an image is pulled."""
    objects = {}
    for o in yaml.safe_load_all(text):
        if o:
            for container in at(o, 'spec.template.spec.containers') or []:
                container.pop('imagePullPolicy', None)
            objects[o['kind'], o['metadata']['name']] = o
    return objects


def render(*words):
    done = subprocess.run([HELM, 'template', 'capstan', CHART, '-n', 'capstan-system', '--kube-version', '1.33.0', *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    return done.returncode, done.stdout, '\n'.join(line for line in done.stderr.splitlines() if 'symbolic link' not in line)


def compare(check, base):
    """What the chart makes is what lies in deploy/."""
    code, text, said = render('--include-crds', '--set', 'visibility.enabled=true')
    check(code == 0, 'the chart is rendered', said)
    chart, base = named(text), named(base)
    for key, o in named((ROOT / 'deploy/visibility.yaml').read_text()).items():
        check(chart.pop(key, None) == o, f'the chart has {key[0]} {key[1]} of visibility.yaml')
    base.pop(('Namespace', 'capstan-system'))
    check(sorted(chart) == sorted(base), 'the chart has the objects of the kustomize base', set(chart) ^ set(base))
    differ = [key for key in base if chart.get(key) != base[key]]
    check(not differ, 'and each is the same: rights, arguments, policies', differ)
    plain = named(render('--include-crds')[1])
    check(set(base) - set(plain) == {('RoleBinding', 'capstan-visibility-auth-reader')}, 'without places in queues it lacks one right',
          set(base) - set(plain))
    differ = [key for key in plain if plain[key] != base[key]]
    check(differ == [('Deployment', 'capstan-scheduler')], 'and differs in the scheduler', differ)
    args = [o['Deployment', 'capstan-scheduler']['spec']['template']['spec']['containers'][0]['args'] for o in (base, plain)]
    check(args[0] == args[1] + ['--visibility-address=:8082'], 'by one argument', args)
    code, text, said = render('--kube-version', '1.29.0')
    check(code != 0 and 'set it to false' in said, 'a Kubernetes without policies is told of', said)
    code, text, said = render('--kube-version', '1.29.0', '--set', 'agent.enabled=false,kueueRules.enabled=false')
    check(code == 0 and 'ValidatingAdmissionPolicy' not in text, 'and can have the scheduler alone', said)
    code, text, said = render('--kube-version', '1.36.0', '--set', 'kueueDefaults.enabled=true')
    made = named(text) if code == 0 else {}
    check(all(made.get(key) == o for key, o in named((ROOT / 'deploy/kueue-defaults.yaml').read_text()).items()),
          'from Kubernetes 1.36 on it has the policies that make jobs wait', said)
    code, text, said = render('--kube-version', '1.35.0', '--set', 'kueueDefaults.enabled=true')
    check(code != 0 and 'set it to false' in said, 'and before says that there are none', said)


def agent_starts(check, name, objects):
    """The agent takes its arguments: it reads its config from the cluster, and prints what it would offer."""
    args = find(objects, 'DaemonSet', 'capstan-agent')['spec']['template']['spec']['containers'][0]['args']
    code, said = run(CAPSTAN, *args, '--print', '--no-cluster')
    check('unknown option' not in said and code != 2, f'{name}: the agent knows its arguments', f'{args} {said}')


def visible(c, check, kubectl, pod, work):
    """Places in queues through the API server's aggregation layer; the Service leads to this machine, for there is no network of pods."""
    port = re.search(r'visibility API port=(\d+)', pod.said.read_text())
    check(port, 'gpus: the visibility API has a port', pod.log())
    for words, spec in ((('service', 'capstan-visibility', '-n', pod.ns), {'type': 'ExternalName', 'externalName': 'localhost'}),
                        (('apiservice', 'v1beta2.visibility.kueue.x-k8s.io'), {'service': {'port': int(port.group(1))}})):
        kubectl('patch', *words, '--type=merge', '-p', json.dumps({'spec': spec}))
    path = f'/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/{work.ns}/pendingworkloads'
    work.soon('places in a queue, by aggregation', lambda: c.call('GET', path)[1].get('kind') == 'PendingWorkloadsSummary', pod.log)


def work_on(c, check, kubectl, audit, name, objects):
    """The scheduler of these objects, which are there, works; returns what it was let do."""
    deployment = find(objects, 'Deployment', 'capstan-scheduler')
    ns, words = deployment['metadata']['namespace'], deployment['spec']['template']['spec']['containers'][0]['args']
    kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
    agent_starts(check, name, objects)
    pods = []
    try:
        pods = [Pod(c, objects, 'capstan-scheduler', os.path.join(c.dir, f'{name}-{i}'))
                for i in range(deployment['spec']['replicas'])]
        work = Work(c, check, kubectl, 'work-' + name)
        work.soon('one of the pods leads',
                  lambda: at(c.call('GET', f'/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/capstan-scheduler')[1],
                  'spec.holderIdentity'),
                  lambda: ' '.join(p.log() for p in pods))
        work.begin()
        work.kueue()
        if '--run-trainjobs' in words:
            work.soon('a TrainJob has its Job', lambda: there(work.get('batch/v1', 'jobs', 'trainjob-node-0')), work.events)
        work.gangs()
        work.volcano()
        if '--config=/config/controller_manager_config.yaml' in words:
            work.soon('who was stopped is removed, as the Configuration says',
                      lambda: going(work.get('batch/v1', 'jobs', 'job-bought')), work.events)
            work.complete('job')
            work.soon('and the Workload of who is over', lambda: not work.workload_of('job'), work.events)
        if '--visibility-address=:8082' in words and find(objects, 'Service', 'capstan-visibility'):
            visible(c, check, kubectl, pods[0], work)
        check(all(p.process.poll() is None for p in pods), f'{name}: all pods run', ' '.join(p.log() for p in pods))
        time.sleep(2)
        denied, done = refused(audit, pods[0].user())
        check(not denied, f'{name}: nothing was refused to the scheduler', denied)
        check(len(done) > 40, f'{name}: and it asked for much', done)
        return done
    finally:
        codes = [p.end() for p in pods]
        check(codes == [0] * len(codes), f'{name}: it ends when it is asked to', codes)


# Keys of the guides: those of NVIDIA's GPU operator, of the session monitor, of Kueue's chart.
VALUES = '''
driver: {enabled: true, version: "535.104.12"}
toolkit: {enabled: true}
devicePlugin: {enabled: true, config: {name: time-slicing-config, default: any}}
dcgmExporter: {enabled: true, serviceMonitor: {enabled: true}}
mig: {strategy: mixed}
validator: {enabled: true}
gpu-session-monitoring: {enabled: true}
collection: {schedule: "*/1 * * * *", resources: {requests: {memory: 128Mi, cpu: 100m}, limits: {memory: 256Mi, cpu: 200m}}}
nodeSelector: {accelerator: nvidia}
tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
managerConfig:
  controllerManagerConfigYaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    objectRetentionPolicies: {workloads: {afterFinished: 1s, afterDeactivatedByKueue: 1s}}
visibility: {enabled: true}
trainJobs: {enabled: true}
monitoring: {rules: {enabled: true}, dashboards: {enabled: true}}
'''


def main():
    base = run('kubectl', 'kustomize', str(ROOT / 'deploy'))[1] if shutil.which('kubectl') else ''
    check = real_server.Checks()
    if HELM and base:
        compare(check, base)
    else:
        print('ok - the chart is as the kustomize base # SKIP no helm: HELM names it')
    if not real_server.API or not real_server.ETCD or not base or run('unshare', '--mount', 'true')[0] != 0:
        print('ok - the scheduler at work # SKIP no kube-apiserver, etcd (KUBE_APISERVER and ETCD name them), kubectl, or not root')
        return done(check)
    c, folder = None, tempfile.mkdtemp()
    (pathlib.Path(folder) / 'policy.json').write_text(json.dumps(AUDIT), encoding='utf-8')
    try:
        c = real_server.Kubernetes(f'--audit-policy-file={folder}/policy.json', f'--audit-log-path={folder}/audit', *front_proxy(folder))
        if not c.ready():
            print('ok - the scheduler at work # SKIP kube-apiserver does not start:', c.said())
            return done(check)
        config = os.path.join(c.dir, 'kubeconfig')
        pathlib.Path(config).write_text(json.dumps({
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c', 'users': [{'name': 'u', 'user': {'token': 'admin'}}],
            'clusters': [{'name': 'c', 'cluster': {'server': c.url, 'insecure-skip-tls-verify': True}}],
            'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}), encoding='utf-8')

        def kubectl(*words, text=None):
            return run('kubectl', '--kubeconfig', config, *words, text=text)

        for words in re.split(r',\s+', OTHERS):
            c.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(*words.split()))
        code, said = kubectl('apply', '-k', str(ROOT / 'deploy'))
        check(code == 0, 'base: all of it is taken', said[-600:])
        objects = [o for o in yaml.safe_load_all(base) if o]
        work = work_on(c, check, kubectl, f'{folder}/audit', 'base', objects)
        if HELM:
            for file in ('kueue-rules', 'scheduler', 'agent'):
                kubectl('delete', '-f', str(ROOT / f'deploy/{file}.yaml'), '--wait=false')
            values = os.path.join(folder, 'values.yaml')
            pathlib.Path(values).write_text(VALUES, encoding='utf-8')
            code, said = run(HELM, 'upgrade', '--install', 'capstan', CHART, '-n', 'gpus', '--create-namespace', '-f', values,
                             '--kubeconfig', config)
            check(code == 0, 'gpus: Helm installs it', said[-900:])
            code, text = run(HELM, 'get', 'manifest', 'capstan', '-n', 'gpus', '--kubeconfig', config)
            if code == 0:
                work |= work_on(c, check, kubectl, f'{folder}/audit', 'gpus', [o for o in yaml.safe_load_all(text) if o])
        print('# rights that this work did not need: ' + ', '.join(unused(objects, work)))
    finally:
        if c:
            c.close()
        shutil.rmtree(folder)
    return done(check)


def done(check):
    print(f'1..{check.n}')
    return 1 if check.failed else 0


if __name__ == '__main__':
    sys.exit(main())
