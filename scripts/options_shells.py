"""options_shells - the completion scripts that generate-options makes: one function a shell, from commands to text."""
import re

FILES = {'FILE', 'PATH'}
DIRS = {'DIR'}
HEAD = '# {shell} completion for capstan. Made by scripts/generate-options from data/commands.\n'
HELP = 'this text'


def brief(text):
    """The first clause of a help text: what fits beside a name."""
    return re.split(r'[;(]| default', text)[0].strip().rstrip(',:')


def shown(command):
    return [o for o in command.options if o.is_shown]


def options_of(command, verb):
    return [o for o in shown(command) if not o.verbs or verb in o.verbs]


def words_of(option):
    return option.words if option.value else []


def argument_words(command):
    name = command.arguments[0]
    return name.split('|') if '|' in name else []


def dashed(option):
    return [f'-{s}' for s in option.shorts if len(s) == 1] + [f'--{option.name}']


# ---- bash

BASH = '''_capstan() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
    local words= files= options= verbs= arguments= IFS=$' \\t\\n'
    # bash parts words at "=", too: --busy = wait
    if [ "$cur" = "=" ]; then cur=; elif [ "$prev" = "=" ]; then prev=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands} help --help --version" -- "$cur"))
        return
    fi
    case $command in
{cases}    help) [ "$COMP_CWORD" -eq 2 ] && words="{commands}" ;;
    *) return ;;
    esac
    case $files in
    none) return ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(IFS=$'\\n'; compgen -f -- "$cur")); return ;;
    dir) compopt -o filenames 2>/dev/null; COMPREPLY=($(IFS=$'\\n'; compgen -d -- "$cur")); return ;;
    esac
    if [ -z "$words" ]; then
        if [[ $cur == -* ]]; then words="$options -h --help"
        elif [ "$COMP_CWORD" -eq 2 ] && [ "$verbs" ]; then words=$verbs
        elif [ "$arguments" = file ]; then
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(IFS=$'\\n'; compgen -f -- "$cur"))
            return
        else words=$arguments; fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _capstan capstan kubectl-capstan
'''


def bash_options(options):
    return ' '.join(name + o.shown if name.startswith('--') and o.shown != '=BOOL' else name for o in options for name in dashed(o))


def bash_case(command):
    by_answer = {}
    for option in shown(command):
        if option.value:
            words = words_of(option)
            answer = f'words="{" ".join(words)}"' if words else \
                'files=' + ('file' if option.value in FILES else 'dir' if option.value in DIRS else 'none')
            by_answer.setdefault(answer, []).extend(dashed(option))
    lines = [f'    {command.name})\n']
    if by_answer:
        lines += ['        case $prev in\n'] + [f'        {"|".join(names)}) {answer} ;;\n' for answer, names in by_answer.items()] \
            + ['        esac\n']
    lines.append(f'        options="{bash_options(shown(command))}"\n')
    if command.verbs:
        lines += ['        case ${COMP_WORDS[2]} in\n'] + [f'        {verb}) options="{bash_options(options_of(command, verb))}" ;;\n'
                                                       for verb, _ in command.verbs] + ['        esac\n']
        lines.append(f'        verbs="{" ".join(name for name, _ in command.verbs)}"\n')
    arguments = argument_words(command)
    if arguments:
        lines.append(f'        [ "$COMP_CWORD" -eq 2 ] && arguments="{" ".join(arguments)}"\n')
    elif command.arguments[0] in FILES | DIRS:
        lines.append('        arguments=file\n')
    return ''.join(lines) + '        ;;\n'


def bash(commands):
    names = ' '.join(c.name for c in commands)
    return HEAD.format(shell='bash') + BASH.format(commands=names, cases=''.join(map(bash_case, commands)))


# ---- zsh

ZSH = '''_capstan() {{
    local -a commands
    commands=(
{commands}    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}    help) _describe -t commands command commands ;;
    esac
}}
if [ "$funcstack[1]" = _capstan ]; then _capstan "$@"; else compdef _capstan capstan kubectl-capstan; fi
'''


def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_escape(text):
    return re.sub(r'([\[\]:\\])', r'\\\1', text)


def zsh_action(option):
    words = words_of(option)
    return f'({" ".join(words)})' if words else '_files' if option.value in FILES else '_files -/' if option.value in DIRS else ' '


def zsh_option(option):
    names, tail = dashed(option), f'[{zsh_escape(brief(option.text))}]'
    if option.value:
        tail += f':{zsh_escape(option.value)}:{zsh_action(option)}'
        names[-1] += '='
    elif option.shown and option.shown != '=BOOL':
        names[-1] += option.shown
    once = '*' if option.many else f'({" ".join(dashed(option))})'
    return [zsh_quote(once + name + tail) for name in names]


def zsh_arguments(command, options, indent):
    rows = [row for o in options for row in zsh_option(o)] + [f"'(-h --help){name}[{HELP}]'" for name in ('-h', '--help')]
    if command.verbs:
        rows.append("'1:verb:((" + ' '.join(f'{name}\\:"{text}"' for name, text in command.verbs) + "))'")
    arguments = argument_words(command)
    if arguments:
        rows.append(f"'1:argument:({' '.join(arguments)})'")
    elif command.arguments[0] in FILES | DIRS or command.verbs:
        rows.append("'*:argument:_files'")
    return '_arguments -s : ' + ''.join(f'\\\n{indent}{row} ' for row in rows)


def zsh_case(command):
    whole = zsh_arguments(command, shown(command), '        ')
    if not command.verbs:
        return f'    {command.name}) {whole};;\n'
    verbs = ''.join(f'    {verb}) {zsh_arguments(command, options_of(command, verb), "        ")};;\n' for verb, _ in command.verbs)
    return f'    {command.name}) case $words[2] in\n{verbs}    *) {whole};;\n    esac ;;\n'


def zsh(commands):
    names = ''.join('        ' + zsh_quote(f'{c.name}:{c.texts["summary"][0]}') + '\n' for c in commands)
    return '#compdef capstan kubectl-capstan\n' + HEAD.format(shell='zsh') \
        + ZSH.format(commands=names, cases=''.join(map(zsh_case, commands)))


# ---- fish

FISH = '''function __capstan_first
    test (count (commandline -opc)) -eq 1
end
function __capstan_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"
end
function __capstan_verb
    set -l words (commandline -opc)
    test (count $words) -gt 2; and __capstan_is $argv[1]; and contains -- "$words[3]" $argv[2..-1]
end
function __capstan_second
    test (count (commandline -opc)) -eq 2; and __capstan_is $argv[1]
end
complete -c capstan -f
complete -c kubectl-capstan -w capstan
'''


def fish_quote(text):
    return "'" + text.replace('\\', '\\\\').replace("'", "\\'") + "'"


def fish_option(command, option):
    where = f'__capstan_verb {command.name} {" ".join(option.verbs)}' if option.verbs else f'__capstan_is {command.name}'
    line = f"complete -c capstan -n '{where}'" + ''.join(f' -s {s}' for s in option.shorts if len(s) == 1) \
        + f' -l {option.name}'
    if option.value:
        words = words_of(option)
        line += f' -x -a {fish_quote(" ".join(words))}' if words else ' -r -F' if option.value in FILES | DIRS else ' -x'
    return line + f' -d {fish_quote(brief(option.text))}\n'


def fish(commands):
    lines = [HEAD.format(shell='fish'), FISH]
    for c in commands:
        lines.append(f'complete -c capstan -n __capstan_first -a {c.name} -d {fish_quote(c.texts["summary"][0])}\n')
        lines += [fish_option(c, o) for o in shown(c)]
        lines.append(f"complete -c capstan -n '__capstan_is {c.name}' -s h -l help -d {fish_quote(HELP)}\n")
        lines += [f"complete -c capstan -n '__capstan_second {c.name}' -a {name} -d {fish_quote(text)}\n" for name, text in c.verbs]
        if argument_words(c):
            lines.append(f"complete -c capstan -n '__capstan_second {c.name}' -a {fish_quote(' '.join(argument_words(c)))}\n")
        if c.arguments[0] in FILES | DIRS:
            lines.append(f"complete -c capstan -n '__capstan_is {c.name}' -F\n")
        lines.append(f"complete -c capstan -n '__capstan_second help' -a {c.name}\n")
    return ''.join(lines)


SHELLS = {'bash': bash, 'zsh': zsh, 'fish': fish}
