#!/usr/bin/env python3
"""test_install.py - deploy/ on a real kube-apiserver: by kustomize, by Helm where helm is, and what capstan doctor says of it; TAP

KUBE_APISERVER and ETCD name the programs (default: on PATH), HELM helm, BUILD the build folder.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests'))
import real_server  # noqa: E402

CAPSTAN = str(pathlib.Path(os.environ.get('BUILD', ROOT / 'build')).resolve() / 'capstan')
HELM = shutil.which(os.environ.get('HELM', 'helm'))
SOON_S = 60
QUEUE = {'apiVersion': 'kueue.x-k8s.io/v1beta2', 'kind': 'ClusterQueue', 'metadata': {'name': 'lost'},
         'spec': {'namespaceSelector': {}, 'resourceGroups': [{'coveredResources': ['nvidia.com/gpu'], 'flavors': [
             {'name': 'gone', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': '4'}]}]}]}}


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors='replace')


def main():
    if not real_server.API or not real_server.ETCD or not shutil.which('kubectl'):
        print('1..0 # SKIP no kube-apiserver, etcd or kubectl: KUBE_APISERVER and ETCD name them')
        return 0
    c, check = real_server.Kubernetes(), real_server.Checks()
    scheduler = None
    try:
        if not c.ready():
            print('1..0 # SKIP kube-apiserver does not start:', c.said())
            return 0
        config = os.path.join(c.dir, 'kubeconfig')
        pathlib.Path(config).write_text(json.dumps({
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c', 'users': [{'name': 'u', 'user': {'token': 'admin'}}],
            'clusters': [{'name': 'c', 'cluster': {'server': c.url, 'insecure-skip-tls-verify': True}}],
            'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}), encoding='utf-8')

        def kubectl(*words):
            return run('kubectl', '--kubeconfig', config, *words)

        def doctor():
            """{about: [line]}, and the exit code"""
            done = subprocess.run([CAPSTAN, 'doctor', '--kubeconfig', config, '--all', '--output', 'json'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            lines = {}
            for line in json.loads(done.stdout or b'[]'):
                lines.setdefault(line['about'], []).append(f"{line['level']}: {line['finding']}")
            return lines, done.returncode

        def soon(what, about, wanted):
            end = time.monotonic() + SOON_S
            while time.monotonic() < end:
                said = ' '.join(doctor()[0].get(about, []))
                if wanted in said:
                    break
                time.sleep(0.5)
            check(wanted in said, what, said)

        said, code = doctor()
        check(code == 1 and 'fault: not installed' in said['kueue.x-k8s.io/v1beta2'][0], 'doctor misses the kinds', said)
        check('no scheduler has ever led' in said['scheduler'][0], 'and a scheduler', said)

        code, text = kubectl('apply', '-k', str(ROOT / 'deploy'))
        check(code == 0, 'the kustomize base is taken', text)
        kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
        code, text = kubectl('apply', '-k', str(ROOT / 'deploy'))
        check(code == 0 and all(line.endswith('unchanged') for line in text.splitlines()), 'again, and nothing changes', text)
        said, _ = doctor()
        missed = [line for about, lines in said.items() for line in lines if '/v1' in about and not line.startswith('ok')]
        check(not missed, 'no kind is missed any more', missed)

        scheduler = subprocess.Popen([CAPSTAN, 'scheduler', '--kubeconfig', config, '--lease-namespace', 'capstan-system'],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        soon('a scheduler leads', 'Lease capstan-system/capstan-scheduler', ' leads, renewed ')
        c.call('POST', '/apis/kueue.x-k8s.io/v1beta2/clusterqueues', QUEUE)
        soon('a queue without its flavor admits nothing', 'ClusterQueue lost', 'fault: admits nothing')
        c.call('POST', '/api/v1/nodes', {'metadata': {'name': 'bare', 'labels': {'nvidia.com/gpu.present': 'true', 'nvidia.com/gpu.count': '8'}}})
        soon('a node without its agent', 'node bare', 'its label says 8 GPUs, and its kubelet offers none')
        scheduler.terminate()
        scheduler.wait(20)
        soon('the scheduler has gone', 'Lease capstan-system/capstan-scheduler', 'fault: ')

        code, text = kubectl('delete', '-k', str(ROOT / 'deploy'), '--wait=false')
        check(code == 0, 'it is deleted', text)
        if HELM:
            done = subprocess.run([HELM, 'template', 'capstan', str(ROOT / 'deploy/helm/capstan'), '-n', 'default', '--kube-version', '1.32.0',
                                   '--set', 'visibility.enabled=true,trainJobs.enabled=true'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            rendered = os.path.join(c.dir, 'rendered.yaml')
            pathlib.Path(rendered).write_bytes(done.stdout)
            code, text = kubectl('apply', '--dry-run=server', '-f', rendered)
            check(done.returncode == 0 and code == 0, 'what the chart makes is taken', done.stderr.decode() + text)
        else:
            print('ok - what the chart makes is taken # SKIP helm is not installed')
    finally:
        if scheduler and scheduler.poll() is None:
            scheduler.kill()
            scheduler.wait()
        c.close()
    print(f'1..{check.n}')
    return 1 if check.failed else 0


if __name__ == '__main__':
    sys.exit(main())
