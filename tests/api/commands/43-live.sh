# Lists that go on, and what is over: --watch on terminals of every kind and in pipes; jobs --finished from the usage store
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "lists that go on" "needs an embedded server of its own"
    return
fi
# ends CODE WHAT PATTERN CMD...: the exit code, and what it said on both streams
ends() {
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
run() { "$PROGRAM" submit -n "$NS" --image x --annotation "capstan.dev/run-seconds=$1" "${@:2}" >/dev/null 2>&1; }
lines() { sed 's/  */ /g' live.txt; }

# --- in a pipe: what happens, a line each
"$PROGRAM" jobs -n "$NS" --watch --period 200ms >live.txt 2>live.err &
watching=$!
soon "the heading at once" '^TIME +CHANGE +NAMESPACE +KIND +NAME' cat live.txt
run 2 --gpus 2x1 --name brief --user kim
soon "a new job" "^20[0-9T:Z-]* new $NS Job brief 2 " lines
soon "it starts" "^20[0-9T:Z-]* (changed|new) $NS Job brief 2 2 2 Running" lines
soon "it ends" "^20[0-9T:Z-]* changed $NS Job brief 2 0 2 Complete" lines
k delete job brief >/dev/null
soon "it is gone" "^20[0-9T:Z-]* gone $NS Job brief" lines
sleep 1
says "ages that grow are no news" '^([1-9]|1[0-9])$' grep -c brief live.txt
is "columns stay below their headings" 1 bash -c 'awk "{ print index(\$0, \"brief\") ? index(\$0, \"brief\") : index(\$0, \"NAME \") }" live.txt | sort -u | grep -vc "^0$"'
kill "$watching"
wait "$watching" 2>/dev/null
is "nothing went wrong" '' cat live.err
ends 0 "a reader that has seen enough" 'there' bash -c '"$PROGRAM" nodes --watch --period 200ms | head -n 2 | tail -n 1' -
ends 0 "JSON, a line each" '"change":"there","node":"a100-40gb-0"' bash -c '"$PROGRAM" nodes -w -o json | head -n 1' -
ends 0 "CSV" '^time,change,queue' bash -c '"$PROGRAM" queues -w -o csv | head -n 1' -
ends 1 "a full disk" 'No space left' bash -c '"$PROGRAM" nodes -w >/dev/full' -
ends 2 "not as YAML" '--watch: use --output table, wide, csv or json' "$PROGRAM" jobs -w -o yaml
ends 2 "--period alone" '--period goes with --watch' "$PROGRAM" nodes --period 5s
ends 2 "too short a period" 'at least 200ms' "$PROGRAM" nodes -w --period 1ms

# --- on a terminal: WIDTH HEIGHT TERM COMMAND...: the first screen
screen() {
    /usr/bin/python3 - "$@" <<'PY'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
width, height, term, *command = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ['TERM'] = term
    time.sleep(0.2)
    os.execvp(command[0], command)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', int(height), int(width), 0, 0))
text, end = b'', time.time() + 5
while time.time() < end and b'\033[J' not in text and text.count(b'\n') < 40:
    if select.select([fd], [], [], 0.2)[0]:
        try:
            text += os.read(fd, 65536)
        except OSError:
            break
    elif text and term == 'dumb':
        break
os.kill(pid, signal.SIGINT)
text = text.decode()
print('escapes' if '\033' in text else 'plain')
text = re.sub('\033\\[[0-9;]*[A-Za-z]', '', text)
rows = text.replace('\r', '').split('\n')
print('widest', max(len(row) for row in rows), 'rows', len(rows))
print('\n'.join(rows))
PY
}
says "a wide one shows all" '^NODE +STATUS +PRODUCT' screen 200 50 xterm "$PROGRAM" nodes --watch
says "one of 20 columns is cut with a sign" '^widest 20 ' screen 20 50 xterm "$PROGRAM" nodes --watch
says "in each line" '^NODE .*>$' screen 20 50 xterm "$PROGRAM" nodes --watch
says "and one of 5 lines says how many more" '^\.\.\. [1-9][0-9]* more$' screen 200 5 xterm "$PROGRAM" nodes --watch
says "TERM=dumb gets lines" '^plain$' screen 80 50 dumb "$PROGRAM" nodes --watch
says "with what is there" '^20[0-9T:Z-]* +there +a100-40gb-0' screen 80 50 dumb "$PROGRAM" nodes --watch

# --- what is over
run 1 --gpus 1x2 --name over-a --user kim
run 1 --gpus 1 --name over-b --user ann
k wait --for condition=complete job/over-a job/over-b --timeout 60s >/dev/null
k delete job over-a over-b >/dev/null
finished() { "$PROGRAM" jobs --finished -n "$NS" "$@"; }
soon "jobs outlive their objects" "Job +over-a +1 .*kim" finished
soon "by user" '^over-b$' bash -c '"$PROGRAM" jobs --finished -n "$0" --user an* -o name | cut -d/ -f2' "$NS"
soon "by hours given" '^Job/over-a Job/over-b $' bash -c '"$PROGRAM" jobs --finished -n "$0" --name "over-*" --sort gpus --reverse -o name | tr "\n" " "' "$NS"
says "as numbers" '"allocatedHours": [0-9.]+,' finished --name over-a -o json
is "the same in whatever zone a machine is" 1 bash -c 'for zone in UTC Asia/Seoul America/St_Johns; do
    TZ=$zone "$PROGRAM" jobs --finished -n "$0" -o csv; TZ=$zone "$PROGRAM" jobs --finished -n "$0" | wc -l; done | sort | uniq -c |
    awk "{ print \$1 }" | sort -u | wc -l' "$NS"
ends 2 "a state is not kept" 'how a job ended is not in the usage store' "$PROGRAM" jobs --finished -n "$NS" --state complete
ends 2 "no such time" '--since: write 30m' "$PROGRAM" jobs --finished -n "$NS" --since yesterday
ends 2 "nothing of the future" 'lies in the future' "$PROGRAM" jobs --finished -n "$NS" --since 2100-01-01
ends 2 "what goes with it" '--since and --store go with --finished' "$PROGRAM" jobs --since 1h
ends 3 "no store" 'there is no such file' "$PROGRAM" jobs --finished -n "$NS" --store ./nowhere
ends 2 "no order by state" '--sort: with --finished use' "$PROGRAM" jobs --finished -n "$NS" --sort state
