#!/usr/bin/env python3
"""test_commands.py CAPSTAN MAN_FOLDER SCRIPT... - what is made from data/commands, as people meet it; one TAP line a check.

Completion in the shells themselves, where they are installed (bash, zsh, fish), and the man pages, where scdoc is. SCRIPT...: the
completion scripts that are installed.
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))
CAPSTAN, MAN, *SCRIPTS = (pathlib.Path(word).resolve() for word in sys.argv[1:])
ZSH_SECONDS = 60  # a shell that has not answered by then never will
LEFT = re.compile(r'\{(OPTIONS|NAME|COMMANDS)')  # of a page: not replaced
results = {'n': 0, 'failed': 0}

# What is typed, and all that TAP may offer there. Not there: everything that begins with what stands last is one of these.
CASES = [
    ('capstan nvs', ['nvsim']),
    ('kubectl-capstan nvs', ['nvsim']),
    ('capstan help sche', ['scheduler']),
    ('capstan up --log-l', ['--log-level']),
    ('capstan up --log-level wa', ['warning']),
    ('capstan mig gen', ['generate-config']),
    ('capstan mig apply --busy ref', ['refuse']),
    ('capstan mig apply -o js', ['json']),
    ('capstan mig apply --dry', ['--dry-run']),
    ('capstan nvsim create --mod', ['--model']),
    ('capstan agent --mig-strategy mi', ['mixed']),
    ('capstan completion fi', ['fish']),
    ('capstan lint samp', ['sample.yaml']),
    ('capstan up --operator-values samp', ['sample.yaml']),
]


def load_tables():
    loader = importlib.machinery.SourceFileLoader('generate_options', str(ROOT / 'scripts/generate-options'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('generate_options', loader))
    loader.exec_module(module)
    folder = ROOT / 'data/commands'
    return module.load(folder / 'shared.tsv', *sorted(p for p in folder.rglob('*.tsv') if p.stem != 'shared'))


def report(is_well, what, *details):
    results['n'] += 1
    results['failed'] += not is_well
    print(f'{"ok" if is_well else "not ok"} {results["n"]} - {what}')
    if not is_well:
        for detail in details:
            print(f'# {detail}')


def skip(what, why):
    results['n'] += 1
    print(f'ok {results["n"]} - {what} # SKIP {why}')


def script(shell):
    return next(p for p in SCRIPTS if p.name == ('_capstan' if shell == 'zsh' else f'capstan.{shell}'))


# ---- what each shell offers at the end of a line


def in_bash(line):
    words = [part for word in line.split(' ') for part in ([*word.partition('=')] if '=' in word else [word])]
    program = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _capstan 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(['bash', '--norc', '-c', program, '-', script('bash'), *words], stdout=subprocess.PIPE, text=True, check=False)
    return sorted(word for word in done.stdout.split('\n') if word)


def in_fish(line):
    done = subprocess.run(['fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script('fish'), line],
                          stdout=subprocess.PIPE, text=True, check=False)
    return sorted({row.split('\t')[0] for row in done.stdout.split('\n') if row})


class Zsh:
    """An interactive zsh on a terminal of its own: what stands on its line after TAB."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM='dumb', PS1='', HOME=os.getcwd())
            os.execvp('zsh', ['zsh', '-f', '-i'])
        self.write(f'autoload -U compinit; compinit -u -D; source {script("zsh")}; unsetopt beep; LISTMAX=10000; '
                   'shown() {{ print -r -- "<""<$BUFFER>""> "; BUFFER=; }}; zle -N shown; bindkey "^I" complete-word; '
                   'bindkey "^P" shown; print -r -- "<""<ready>"">"\n'.replace('{{', '{').replace('}}', '}'))
        self.read()

    def write(self, text):
        os.write(self.fd, text.encode())

    def read(self):
        signal.alarm(ZSH_SECONDS)
        got = ''
        while '>>' not in got.partition('<<')[2]:
            got += os.read(self.fd, 4096).decode(errors='replace')
        signal.alarm(0)
        return got.partition('<<')[2].partition('>>')[0]

    def offered(self, line):
        self.write(line + '\t\x10')
        return [self.read().strip().split(' ')[-1].rstrip('=')]

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def check_cases(shell, offered):
    for line, wanted in CASES:
        got = offered(line)
        report(got == wanted, f'{shell}: {line}<TAB>', f'wanted {wanted}', f'offered {got}')


def check_all_options(shell, offered, commands):
    """Every option of every command that is not hidden, and no other."""
    for command in commands:
        wanted = {f'--{o.name}' for o in command.options if o.is_shown} | {'--help'}
        got = {word.split('=')[0] for word in offered(f'capstan {command.name} --')}
        if not command.verbs:
            report(got == wanted, f'{shell}: capstan {command.name} --<TAB>', f'too few: {wanted - got}', f'too many: {got - wanted}')
        for verb, _ in command.verbs:
            wanted = {f'--{o.name}' for o in command.options if o.is_shown and (not o.verbs or verb in o.verbs)} | {'--help'}
            got = {word.split('=')[0] for word in offered(f'capstan {command.name} {verb} --')}
            report(got == wanted, f'{shell}: capstan {command.name} {verb} --<TAB>', f'too few: {wanted - got}', f'too many: {got - wanted}')


def check_shell(shell, commands):
    printed = subprocess.run([CAPSTAN, 'completion', shell], stdout=subprocess.PIPE, text=True, check=False)
    report(printed.stdout == script(shell).read_text(), f'capstan completion {shell} prints what is installed')
    if not shutil.which(shell):
        skip(f'completion in {shell}', f'{shell} is not installed')
        return
    done = subprocess.run([shell, '-n', script(shell)], stderr=subprocess.PIPE, text=True, check=False)
    report(done.returncode == 0 and not done.stderr, f'{shell} reads the script', done.stderr)
    if shell == 'zsh':
        zsh = Zsh()
        check_cases(shell, zsh.offered)
        zsh.close()
        return
    offered = in_bash if shell == 'bash' else in_fish
    check_cases(shell, offered)
    check_all_options(shell, offered, commands)


def page_of(name):
    """Its text, without what troff needs; empty: scdoc is not installed."""
    page = MAN / f'{name}.1'
    return page.read_text().replace('\\&', '').replace('\\', '') if page.exists() else ''


def check_man(command):
    text = page_of(f'capstan-{command.name}')
    if not text:
        skip(f'man capstan-{command.name}', 'scdoc is not installed')
        return
    names = [f'--{name}' for o in command.options if o.role != 'refused' for name in [o.name, *o.others]]
    names += [f'-{short}' for o in command.options if o.role != 'refused' for short in o.shorts] + ['--help']
    missing = [name for name in names if f'fB{name}fR' not in text]
    variables = [v for o in command.options if o.is_shown for v in o.variables if v not in text]
    report(not missing and not variables and not LEFT.search(text), f'man capstan-{command.name}: every option and variable',
           f'missing: {missing} {variables}')


def check_front(commands):
    """capstan(1) tells of each command what the page of its own and `capstan --help` call it."""
    text, wrong = page_of('capstan'), []
    printed = subprocess.run([CAPSTAN, '--help'], stdout=subprocess.PIPE, text=True, check=False).stdout
    if not text:
        skip('man capstan', 'scdoc is not installed')
        return
    for command in commands:
        name, summary = f'capstan-{command.name}', command.texts['summary'][0]
        if f'{name} - {summary}' not in page_of(name) or summary[1:] not in text or summary not in printed:
            wrong.append(command.name)
    report(not wrong and not LEFT.search(text), 'man capstan: every command', f'otherwise: {wrong}')


def check_reasons():
    """Codes that the trees of capstan why have are promised to programs: each stands in its page."""
    rows = re.findall(r'X\(\w+, +"([a-z-]+)"\)(.*)', (ROOT / 'src/core/explain/reason.h').read_text())
    page = (ROOT / 'docs/man/ask/capstan-why.1.scd').read_text()
    shown = [code for code, comment in rows if 'EVICT' not in comment and not code.startswith('remed')]
    missing = [code for code in shown if not re.search(rf'[_*"]{code}[_*"]', page)]
    report(len(rows) > 40 and not missing, 'man capstan-why: every code of a reason', f'missing: {missing}')


def check_readers(commands):
    """A row that no code asks for would be taken and do nothing."""
    code = '\n'.join(p.read_text() for p in (ROOT / 'src/cli').rglob('*.c'))
    shared = set(re.findall(r'option_shared\(o, "([a-z-]+)"\)', code))
    ids = {f'OPT_{command.name}_{o.name}'.replace('-', '_').upper(): o for command in commands for o in command.options if o.role == 'option'}
    unread = [name for name, o in ids.items() if o.name not in shared and not re.search(rf'\b{name}\b', code)]
    report(len(ids) > 100 and len(shared) >= 5 and not unread, 'every option is read by its command', f'not read: {unread}')


def main():
    commands = load_tables()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path('sample.yaml').write_text('')
        for shell in ('bash', 'zsh', 'fish'):
            check_shell(shell, commands)
        for line, wanted in (('capstan mig apply --busy=ref', ['refuse']), ('capstan mig apply --busy=', ['refuse', 'wait']),
                             ('capstan up --speed ', []), ('capstan completion bash ', []), ('capstan nosuch ', [])):
            got = in_bash(line)
            report(got == wanted, f'bash: {line}<TAB>', f'wanted {wanted}', f'offered {got}')
        os.chdir('/')
    for command in commands:
        check_man(command)
    check_front(commands)
    check_reasons()
    check_readers(commands)
    print(f'1..{results["n"]}')
    return results['failed'] > 0


if __name__ == '__main__':
    sys.exit(main())
