#!/usr/bin/env python3
"""run.py BUILD [PAGE]... - every command line of README.md, docs/*.md and docs/guide/*.md, run in the order of its page against `capstan up`; TAP

A command line stands indented by four spaces, or in a fence ```sh, and begins with a word of COMMANDS; a backslash at its end goes on. What
stands behind "  # " is for people. Each page has a cluster and a folder of its own, with examples/, deploy/ and build/ in it, and one
shell: what is exported or started stays so. A command passes when it ends with 0.

marks.tsv says where one is otherwise; a row that meets no command is a failure, so that the table cannot fall behind the pages:

    PAGE  COMMAND  MARK  VALUE      COMMAND: as it is written, or its beginning with "..." at the end; for `first` and `cluster` "-"
    cluster    OPTIONS  the page's cluster: options of `capstan up`; none: the page has no cluster but what it starts
    first      SCRIPT   run before the page's first command
    before     SCRIPT   run before this one; after: behind it
    skip       WHY      not run: it needs hardware, a real cluster, or minutes. Counted
    exit       N        its exit code is N
    stays      SECONDS  it goes on until it is ended; it must be running after so long
    with       A=>B     A in it is B here
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMMANDS = re.compile(r'(?:[A-Z_]+=\S+ )*(?:sudo )?(capstan|build/\S+|kubectl|make|eval|export|source|\.|sed|docker|buildah|helm|dpkg|dpkg-deb|apt|apt-get|'
                      r'scripts/\S+|tests/\S+|meson|ninja|curl|git|promtool|mkdir|cp|systemctl)(?: (?!\w+:)|$)')
COMMAND_S = 90
PAGES_AT_ONCE = 3  # they mostly wait
KUBECTL_MINOR = 24  # wait --for=jsonpath, and a kustomize of this decade
Row = collections.namedtuple('Row', 'page command mark value')


def commands_of(text):
    """(number of its line, command) in order."""
    fence, found, joined = None, [], None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r'\s*```(\w*)', line)
        if mark:
            fence = None if fence is not None else mark.group(1)
            continue
        if joined:
            found[-1][1] += '\n' + line
            joined = line.endswith('\\')
            continue
        body = line if fence in ('sh', 'console') else line[4:] if fence is None and line.startswith('    ') else ''
        if COMMANDS.match(body):
            command = re.sub(r'\s+#\s.*$', '', body)
            found.append([number, command])
            joined = command.endswith('\\')
    return found


def kubectl():
    """One as people have it today: the PATH's, or one that scripts/build-kubectl has made. None: those here are too old."""
    for program in [shutil.which('kubectl'), *sorted((ROOT / 'build/kubectls').glob('kubectl-*'))]:
        said = subprocess.run([program, 'version', '--client', '-o', 'json'], capture_output=True, check=False).stdout if program else b''
        minor = re.search(rb'"minor": "(\d+)', said)
        if minor and int(minor.group(1)) >= KUBECTL_MINOR:
            return program
    return None


def marks():
    rows = []
    for line in (HERE / 'marks.tsv').read_text().splitlines():
        if line and not line.startswith('#'):
            rows.append(Row(*re.split(r'\t+', line, maxsplit=3)))
    return rows


def meets(row, command):
    return command.startswith(row.command[:-3]) if row.command.endswith('...') else command == row.command


class Shell:
    """One bash; `do` returns (exit code or None after a timeout, what it said)."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(['bash'], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.turn = 0

    def do(self, command, seconds=COMMAND_S):
        self.turn += 1
        end = f'@@{os.getpid()}-{self.turn} '
        self.process.stdin.write(f'{{ {command}\n}} </dev/null; echo "\n{end}$?"\n'.encode())
        self.process.stdin.flush()
        said, until = '', time.monotonic() + seconds
        while time.monotonic() < until:
            if self.selector.select(until - time.monotonic()):
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    return None, said + '\n(the shell ended)'
                said += part.decode(errors='replace')
            if end in said and said.endswith('\n'):
                said, code = said.rsplit(end, 1)
                return int(code.split()[0]), said.strip()
        return None, said

    def stay(self, command, seconds):
        """Still there after so long? Then it is ended, as by Ctrl-C."""
        code, said = self.do(f'timeout --signal=INT --kill-after=5 {seconds} bash -c {shlex.quote(command)}', seconds + COMMAND_S)
        return code == 124, said

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Page:
    def __init__(self, path, rows, build, kubectl_program):
        self.name = str(path.relative_to(ROOT))
        self.results = []
        self.commands = commands_of(path.read_text())
        self.rows = [row for row in rows if row.page == self.name]
        self.build, self.kubectl = build, kubectl_program

    def tap(self, passed, what, said=''):
        self.results.append((passed, what, said))

    def one(self, mark, command='-'):
        for row in self.rows:
            if row.mark == mark and (row.command == '-' if command == '-' else meets(row, command)):
                return row.value
        return None

    def stale(self):
        for row in self.rows:
            if row.command != '-' and not any(meets(row, command) for _, command in self.commands):
                self.tap(False, f'{self.name}: marks.tsv: there is no such command: {row.command}')

    def folder(self, work):
        place = work / re.sub(r'\W', '-', self.name)
        (place / 'bin').mkdir(parents=True)
        (place / 'bin/capstan').symlink_to(self.build / 'capstan')
        (place / 'bin/kubectl').symlink_to(self.kubectl)
        for name in ('examples', 'deploy', 'tests', 'scripts', 'docs'):
            (place / name).symlink_to(ROOT / name)
        (place / 'build').symlink_to(self.build)
        return place

    def start(self, shell):
        cluster = self.one('cluster')
        if cluster is not None:
            code, said = shell.do(f'capstan up --data-dir ./cluster --listen 127.0.0.1:0 {cluster} >cluster.log 2>&1 &\n'
                                  'for i in $(seq 600); do [ -s cluster/kubeconfig ] && break; sleep 0.05; done\n'
                                  'export KUBECONFIG=$PWD/cluster/kubeconfig; kubectl wait --for=condition=Ready node --all --timeout=60s')
            if code != 0:
                self.tap(False, f'{self.name}: its cluster starts', said)
        first = self.one('first')
        if first is not None:
            code, said = shell.do(first)
            if code != 0:
                self.tap(False, f'{self.name}: what comes first', f'$ {first}\n{said}')

    def command(self, shell, number, command):
        what = f'{self.name}:{number}: {command.splitlines()[0]}'
        skip = self.one('skip', command)
        if skip is not None:
            self.tap(True, f'{what} # SKIP {skip}')
            return
        changed = self.one('with', command)
        run = command.replace(*changed.split('=>')) if changed else command
        before, after = self.one('before', command), self.one('after', command)
        if before is not None:
            code, said = shell.do(before)
            if code != 0:
                self.tap(False, f'{what}: what comes before', f'$ {before}\n{said}')
                return
        stays = self.one('stays', command)
        if stays is not None:
            passed, said = shell.stay(run, float(stays))
        else:
            code, said = shell.do(run)
            passed = code == int(self.one('exit', command) or 0)
            said = f'$ {run}\nexit code {code}\n{said}'
        self.tap(passed, what, said)
        if after is not None:
            code, said = shell.do(after)
            if code != 0:
                self.tap(False, f'{what}: what comes after', f'$ {after}\n{said}')

    def run(self, work):
        self.stale()
        if self.commands:
            self.run_commands(work)
        return self

    def run_commands(self, work):
        place = self.folder(work)
        home = place / 'home'
        home.mkdir()
        environment = {**os.environ, 'PATH': f'{place}/bin:{os.environ["PATH"]}', 'HOME': str(home)}
        environment.pop('KUBECONFIG', None)
        shell = Shell(place, environment)
        try:
            if any(self.one('skip', command) is None for _, command in self.commands):
                self.start(shell)
            for number, command in self.commands:
                self.command(shell, number, command)
        finally:
            shell.close()


def main():
    build, *names = sys.argv[1:]
    results = {'n': 0, 'failed': 0, 'skipped': 0}

    def tap(passed, what, said=''):
        results['n'] += 1
        results['failed'] += not passed
        results['skipped'] += '# SKIP' in what
        print(f"{'ok' if passed else 'not ok'} {results['n']} - {what}", flush=True)
        for line in [] if passed else said.splitlines()[-25:]:
            print('#   ' + line)

    program = kubectl()
    if not program:
        print(f'1..0 # SKIP no kubectl 1.{KUBECTL_MINOR} or newer')
        return 0
    rows = marks()
    pages = [ROOT / name for name in names] or [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md')), *sorted((ROOT / 'docs/guide').glob('*.md'))]
    for row in rows:
        if not (ROOT / row.page).exists():
            tap(False, f'marks.tsv: there is no page {row.page}')
    began = time.monotonic()
    work = pathlib.Path(tempfile.mkdtemp())
    try:
        with concurrent.futures.ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
            for page in pool.map(lambda path: Page(path, rows, pathlib.Path(build).resolve(), program).run(work), pages):
                for result in page.results:
                    tap(*result)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"1..{results['n']}")
    print(f"# {results['n'] - results['skipped']} commands run, {results['skipped']} skipped, {time.monotonic() - began:.0f} s")
    return 1 if results['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
