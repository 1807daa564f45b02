"""test_site.py - links of the documents, the reference, and the site that `make docs` makes. TAP"""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / 'web')]
import browser  # noqa: E402  beside this folder
from checks import finish, report, run  # noqa: E402

CAPSTAN = os.environ['CAPSTAN']
NOTHING_IN = {'base', 'br', 'col', 'hr', 'img', 'input', 'link', 'meta'}


class Page(html.parser.HTMLParser):
    """Its names, links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loads, self.open = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if a.get('id'):
            self.names.add(a['id'])
        if a.get('href'):
            (self.loads if tag == 'link' else self.links).append(a['href'])
        if a.get('src'):
            self.loads.append(a['src'])
        if tag not in NOTHING_IN:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f'</{tag}> closes {self.open[-3:]}'
        self.open.pop()


def sources():
    done = run(sys.executable, str(ROOT / 'scripts/make-docs'), '--check')
    report(done.returncode == 0, 'every link of every page leads somewhere, and every page is in the contents', done.stdout, done.stderr)
    done = run(sys.executable, str(ROOT / 'scripts/make-reference'), '--check')
    report(done.returncode == 0, 'the reference is as tables and sources say', done.stdout, done.stderr)


def stale_is_seen():
    """In a copy: a page that lacks a table's row, a name that no table has, and links that lead nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in ('scripts', 'data', 'docs', 'deploy', 'src'):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns('*.webp'))
        for name in ('README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md', 'HACKING.md', 'LICENSE'):
            shutil.copy(ROOT / name, copy / name)
        reference, docs = str(copy / 'scripts/make-reference'), str(copy / 'scripts/make-docs')

        def spoil(path, old, new, script, expected):
            text = (copy / path).read_text()
            assert old in text, (path, old)
            (copy / path).write_text(text.replace(old, new, 1))
            done = run(sys.executable, script, '--check')
            said = done.stdout + done.stderr
            report(done.returncode != 0 and expected in said, f'it is told that {expected}', said)
            (copy / path).write_text(text)
        spoil('data/commands/ask/report.tsv', 'only so many rows', 'no more rows than that', reference, 'stale: docs/reference/commands.md')
        spoil('data/reference/names.tsv', 'capstan.dev/hold\t', 'capstan.dev/held\t', reference, 'capstan.dev/h')
        spoil('src/core/explain/reason.h', '"on-hold"', '"kept-back"', reference, 'kept-back is in no table')
        spoil('src/exporter/pages/page_truth.c', 'A GPU or MIG device', 'A device', reference, 'stale: docs/reference/metrics.md')
        spoil('docs/jobs.md', '(clusters.md)', '(cluster.md)', docs, 'no such file: cluster.md')
        spoil('docs/guide/sizing.md', '(../performance.md)', '(../performance.md#speed)', docs, 'no such heading: ../performance.md#speed')
        spoil('docs/README.md', '- [Sizing](guide/sizing.md)\n', '', docs, 'docs/guide/sizing.md: is not in docs/README.md')


def families(text):
    return set(re.findall(r'^# TYPE (\S+)', text, re.M))


def metrics():
    """What is served stands in the reference."""
    told = set(re.findall(r'^\| `(\w+)`', (ROOT / 'docs/reference/metrics.md').read_text(), re.M))
    with tempfile.TemporaryDirectory() as folder:
        up = subprocess.Popen([CAPSTAN, 'up', '--data-dir', folder, '--listen', '127.0.0.1:0', '--nodes', '1:t4'], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            config, end = pathlib.Path(folder) / 'kubeconfig', time.monotonic() + 60
            while not config.exists() and time.monotonic() < end:
                time.sleep(0.05)
            server = re.search(r'server: (\S+)', config.read_text())[1]
            for what, path, least in (('scheduler', '/metrics/scheduler', 10), ('agent', '/api/v1/nodes/t4-0:9400/proxy/metrics', 30)):
                served, end = set(), time.monotonic() + 60
                while len(served) < least and time.monotonic() < end:
                    try:
                        served = families(urllib.request.urlopen(server + path, timeout=10).read().decode())
                    except OSError:
                        pass
                    time.sleep(0.1)
                report(len(served) >= least and served <= told, f'what the {what} serves is in the reference', served - told, len(served))
        finally:
            up.terminate()
            up.wait(20)


def site(out):
    done = run(sys.executable, str(ROOT / 'scripts/make-docs'), str(out))
    report(done.returncode == 0, 'the site is made', done.stdout, done.stderr)
    pages, faults = {}, []
    for path in sorted(out.rglob('*.html')):
        if 'files' in path.relative_to(out).parts:
            continue
        try:
            pages[path] = Page(path.read_text())
        except AssertionError as e:
            faults.append(f'{path.relative_to(out)}: {e}')
    report(len(pages) > 50 and not faults, 'its pages are well-formed', len(pages), *faults)
    outside, lost = [], []
    for path, page in pages.items():
        outside += [f'{path.relative_to(out)}: {to}' for to in page.loads if re.match(r'[a-z]+:|//', to)]
        for to in page.loads + page.links:
            target, _, anchor = to.partition('#')
            if re.match(r'[a-z]+:', target):
                continue
            there = (path.parent / target).resolve() if target else path
            if not there.is_file() or (anchor and there in pages and anchor not in pages[there].names):
                lost.append(f'{path.relative_to(out)}: {to}')
    report(not outside, 'they load nothing from outside', *outside)
    report(not lost, 'every link leads to a file, and to a heading of it', *lost)
    reached, more = set(), [out / 'index.html']
    while more:
        path = more.pop().resolve()
        if path in pages and path not in reached:
            reached.add(path)
            more += [path.parent / to.partition('#')[0] for to in pages[path].links if not re.match(r'[a-z]+:|#', to)]
    report(len(reached) == len(pages), 'every page is reached from the first', *{*pages} - reached)


def search(out):
    if browser.missing():
        print(f'ok - the search # SKIP {browser.missing()}')
        return
    window = browser.Browser()
    try:
        window.open((out / 'reference/names.html').as_uri())
        window.run('const box = document.querySelector("#seek"); box.value = "minimum run preempted"; box.oninput()')
        found = window.run('return [...document.querySelectorAll("#found a")].map(a => a.getAttribute("href") + " " + a.textContent)')
        report(any('../guide/troubleshooting.html#a-job-was-stopped ' in line for line in found), 'the search finds words of other pages, from a file', *found)
        window.run('document.querySelector("#seek").value = "zzzz"; document.querySelector("#seek").oninput()')
        report(window.run('return document.querySelector("#found").textContent') == 'nothing', 'and says when there is nothing')
        said = [line for line in window.console() if 'SEVERE' in str(line)]
        report(not said, 'the browser complains of nothing', *said)
    finally:
        window.close()


def main():
    sources()
    stale_is_seen()
    metrics()
    if not shutil.which('cmark-gfm'):
        print('ok - the site # SKIP cmark-gfm is not installed (Debian package cmark-gfm)')
        return
    with tempfile.TemporaryDirectory() as folder:
        site(pathlib.Path(folder).resolve())
        search(pathlib.Path(folder).resolve())


main()
finish()
