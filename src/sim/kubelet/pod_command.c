/* pod_command.c - one pass over the statements of a command; nothing is allocated */
#include "sim/kubelet/pod_command.h"
#include <math.h>
#include <stdlib.h>
#include "base/bytes.h"

#define WORDS_MAX 16 /* the words after these decide nothing */
#define SECONDS_MAX 1e9

enum joint { JOINT_END, JOINT_NEXT, JOINT_AND, JOINT_OR, JOINT_STRANGE };

struct statement {
    struct bytes words[WORDS_MAX];
    size_t words_n;
    enum joint joint; /* what follows */
};

struct run {
    int64_t ms;   /* -1 = until deleted */
    int status;   /* of the last statement */
    bool guessed; /* a program that is not understood has had its time */
    bool errexit, ended, strange;
    bool ignores_term;
};

struct setting {
    int64_t fallback_ms;
    bool image_known; /* its programs are those of PROGRAMS */
    bool mounts;
};

static const char *const SERVERS[] = {"nginx",   "httpd",     "redis", "postgres", "mysql",
                                      "mariadb", "memcached", "pause", "registry", NULL};
static const char *const KNOWN_IMAGES[] = {"busybox", "alpine", "debian", "ubuntu", "nginx", "httpd", NULL};
static const char *const SHELLS[] = {"sh", "bash", "ash", "dash", NULL};
static const char *const INSTANT[] = {"true",  ":",     "echo",   "printf", "mkdir",  "rmdir", "cd",    "export",
                                      "unset", "set",   "umask",  "touch",  "rm",     "cp",    "mv",    "ln",
                                      "cat",   "ls",    "date",   "env",    "pwd",    "chmod", "chown", "hostname",
                                      "id",    "uname", "whoami", "df",     "head",   "wc",    "sort",  "nproc",
                                      "free",  "trap",  "sshd",   "ulimit", "mktemp", "sync",  NULL};
/* Programs that one of the known images has, apart from those above. */
static const char *const PROGRAMS[] = {
    "[",        "apk",     "apt",    "apt-get",   "awk",      "base64",  "basename", "cmp",    "cut",        "dd",
    "diff",     "dirname", "dmesg",  "dpkg",      "du",       "eval",    "expr",     "find",   "getent",     "grep",
    "gunzip",   "gzip",    "httpd",  "ifconfig",  "ip",       "kill",    "less",     "md5sum", "more",       "mount",
    "nc",       "netstat", "nginx",  "nohup",     "nslookup", "perl",    "ping",     "ps",     "read",       "readlink",
    "realpath", "sed",     "seq",    "sha256sum", "shuf",     "sleep",   "source",   "stat",   "su",         "tail",
    "tar",      "tee",     "telnet", "test",      "time",     "timeout", "top",      "tr",     "traceroute", "umount",
    "uniq",     "unzip",   "vi",     "wait",      "watch",    "wget",    "which",    "xargs",  "yes",        ".",
    "curl",     "command", "type",   "shift",     "return",   "local",   "openssl",  "crond",  NULL};

static bool listed(const char *const *list, struct bytes word)
{
    for (; *list; list++)
        if (bytes_is(word, *list))
            return true;
    return false;
}

static bool has_char(struct bytes word, char c)
{
    return word.n > 0 && memchr(word.data, c, word.n);
}

/* -c, -ec, but not --norc */
static bool is_option(struct bytes word, char letter)
{
    return word.n > 1 && word.data[0] == '-' && word.data[1] != '-' && has_char(word, letter);
}

/* What stands after the last slash. */
static struct bytes base_name(struct bytes path)
{
    for (size_t i = path.n; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (struct bytes){path.data + i, path.n - i};
    return path;
}

/* registry.k8s.io/a/nginx-unprivileged:1.27@sha256:... -> nginx-unprivileged */
static struct bytes image_name(const struct json *container)
{
    struct bytes name = base_name(bytes_of(json_get_text(container, "image", "")));
    size_t n = 0;
    while (n < name.n && name.data[n] != '@' && name.data[n] != ':')
        n++;
    name.n = n;
    return name;
}

/* ---- statements ---- */

/* The index after the quote, $( ) or ` ` that starts at i; i when none does. */
static size_t group_end(struct bytes text, size_t i)
{
    char c = text.data[i], close = c == '(' ? ')' : c;
    if (c == '$' && i + 1 < text.n && text.data[i + 1] == '(')
        close = ')', i++;
    else if (c != '\'' && c != '"' && c != '`')
        return i;
    for (size_t at = i + 1; at < text.n; at++)
        if (text.data[at] == close)
            return at + 1;
    return text.n;
}

static bool is_blank(struct bytes text, size_t i)
{
    return text.data[i] == ' ' || text.data[i] == '\t' || text.data[i] == '\r' || text.data[i] == '\\';
}

/* The joint at i and its length; JOINT_END when the character belongs to a word. */
static enum joint joint_at(struct bytes text, size_t i, size_t *ret_n)
{
    char c = text.data[i], next = i + 1 < text.n ? text.data[i + 1] : 0;
    bool redirects = next == '>' || (i > 0 && text.data[i - 1] == '>');
    *ret_n = 1;
    if (c == ';' || c == '\n')
        return JOINT_NEXT;
    if ((c == '&' || c == '|') && next == c) {
        *ret_n = 2;
        return c == '&' ? JOINT_AND : JOINT_OR;
    }
    if (c == '|' || c == '(' || c == ')' || (c == '&' && !redirects))
        return JOINT_STRANGE;
    return JOINT_END;
}

static struct bytes word_read(struct bytes text, size_t *at)
{
    size_t start = *at, i = start, n;
    while (i < text.n && !is_blank(text, i)) {
        size_t end = group_end(text, i);
        if (end > i) {
            i = end;
            continue;
        }
        if (joint_at(text, i, &n) != JOINT_END)
            break;
        i++;
    }
    *at = i;
    struct bytes word = {text.data + start, i - start};
    if (word.n >= 2 && (*word.data == '"' || *word.data == '\'') && word.data[word.n - 1] == *word.data)
        word = (struct bytes){word.data + 1, word.n - 2};
    return word;
}

/* The next statement of text from *at on. */
static struct statement statement_read(struct bytes text, size_t *at)
{
    struct statement s = {.joint = JOINT_END};
    size_t n;
    while (*at < text.n) {
        if (is_blank(text, *at)) {
            *at += 1 + (text.data[*at] == '\\' && *at + 1 < text.n && text.data[*at + 1] == '\n');
            continue;
        }
        if (text.data[*at] == '#') {
            while (*at < text.n && text.data[*at] != '\n')
                ++*at;
            continue;
        }
        s.joint = joint_at(text, *at, &n);
        if (s.joint != JOINT_END) {
            *at += n;
            return s;
        }
        struct bytes word = word_read(text, at);
        bool assigns = s.words_n == 0 && has_char(word, '=');
        if (!assigns && s.words_n < WORDS_MAX)
            s.words[s.words_n++] = word;
    }
    return s;
}

/* ---- what a statement does ---- */

static bool run_until_deleted(struct run *r)
{
    r->ms = -1;
    r->ended = true;
    return true;
}

/* 1.5, 10s, 5m, 2h, 1d in ms; -1 for infinity; -2 when it is no time. */
static int64_t sleep_ms(struct bytes word)
{
    char text[32];
    if (word.n == 0 || word.n >= sizeof text || bytes_is(word, "inf") || bytes_is(word, "infinity"))
        return word.n == 0 || word.n >= sizeof text ? -2 : -1;
    memcpy(text, word.data, word.n);
    text[word.n] = 0;
    char *end;
    double seconds = strtod(text, &end);
    double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1;
    if (end == text || (*end && (end[1] || !strchr("smhd", *end))) || !isfinite(seconds) || seconds < 0)
        return -2;
    seconds *= unit;
    return (int64_t)((seconds < SECONDS_MAX ? seconds : SECONDS_MAX) * 1000);
}

/* False when the time is not written there, as in `sleep $N`. */
static bool run_sleep(struct run *r, const struct statement *s)
{
    int64_t sum_ms = 0;
    for (size_t i = 1; i < s->words_n; i++) {
        if (has_char(s->words[i], '$'))
            return false;
        int64_t ms = sleep_ms(s->words[i]);
        if (ms == -1)
            return run_until_deleted(r);
        if (ms < 0) {
            r->status = 1;
            return true;
        }
        sum_ms += ms;
    }
    r->status = s->words_n < 2;
    r->ms += sum_ms;
    return true;
}

static bool run_exit(struct run *r, const struct statement *s)
{
    int64_t code = r->status;
    if (s->words_n > 1 && !bytes_int64(s->words[1], &code))
        return false;
    r->status = (int)(code & 255);
    r->ended = true;
    return true;
}

static bool has_word(const struct statement *s, const char *word)
{
    for (size_t i = 1; i < s->words_n; i++)
        if (bytes_is(s->words[i], word))
            return true;
    return false;
}

/* trap '' TERM: the signal that tells containers to end is ignored from then on, and by what is started. */
static bool ignores_term(const struct statement *s)
{
    return s->words_n > 2 && s->words[1].n == 0 && (has_word(s, "TERM") || has_word(s, "SIGTERM") || has_word(s, "15"));
}

/* True when the statement never ends: a server in the foreground, a loop without end. */
static bool is_endless(const struct statement *s, struct bytes program)
{
    if (bytes_is(program, "tail"))
        return has_word(s, "-f") || has_word(s, "-F");
    if (bytes_is(program, "sshd"))
        return has_word(s, "-D");
    if (bytes_is(program, "while"))
        return has_word(s, "true") || has_word(s, ":");
    if (bytes_is(program, "nginx"))
        return has_word(s, "daemon off;");
    return bytes_is(program, "httpd-foreground");
}

static bool is_syntax(struct bytes word)
{
    static const char *const SYNTAX[] = {"if",   "then", "else", "elif", "fi", "for",      "while", "until", "do",
                                         "done", "case", "esac", "{",    "}",  "function", "!",     "[[",    NULL};
    return listed(SYNTAX, word);
}

/* A file of the user's: not an option, not an absolute path, not a variable. */
static bool is_own_file(struct bytes word)
{
    return word.n > 0 && *word.data != '-' && *word.data != '/' && !has_char(word, '$');
}

/* Programs that nobody here knows: their time is the fallback, once for all of them. */
static void run_unknown(struct run *r, const struct statement *s, const struct setting *set, struct bytes program)
{
    struct bytes word = s->words[0];
    bool shell = listed(SHELLS, program);
    bool path = has_char(word, '/') || has_char(word, '$');
    r->status = 0;
    if (set->image_known && shell && !set->mounts && s->words_n > 1 && is_own_file(s->words[1])) {
        r->status = 2;
        return;
    }
    if (set->image_known && !path && !shell && !listed(PROGRAMS, program)) {
        r->status = 127;
        return;
    }
    if (r->guessed)
        return;
    r->guessed = true;
    r->ms += set->fallback_ms;
    if (set->fallback_ms < 0)
        (void)run_until_deleted(r);
}

static void run_statement(struct run *r, struct statement *s, const struct setting *set)
{
    if (bytes_is(s->words[0], "exec") && s->words_n > 1) {
        memmove(s->words, s->words + 1, --s->words_n * sizeof *s->words);
        r->ended = true;
    }
    struct bytes program = base_name(s->words[0]);
    if (is_endless(s, program))
        (void)run_until_deleted(r);
    else if (is_syntax(program))
        r->strange = true;
    else if (bytes_is(program, "sleep") && run_sleep(r, s))
        return;
    else if (bytes_is(program, "exit"))
        r->strange = !run_exit(r, s);
    else if (bytes_is(program, "false"))
        r->status = 1;
    else if (listed(INSTANT, program))
        r->status = 0;
    else
        run_unknown(r, s, set, program);
    if (bytes_is(program, "set") && s->words_n > 1 && is_option(s->words[1], 'e'))
        r->errexit = true;
    r->ignores_term |= bytes_is(program, "trap") && ignores_term(s);
}

static void run_script(struct run *r, struct bytes script, const struct setting *set)
{
    enum joint before = JOINT_NEXT;
    for (size_t at = 0; at < script.n && !r->ended && !r->strange;) {
        struct statement s = statement_read(script, &at);
        bool skipped = (before == JOINT_AND && r->status) || (before == JOINT_OR && !r->status);
        if (s.joint == JOINT_STRANGE && !(s.words_n > 0 && is_endless(&s, s.words[0])))
            r->strange = true;
        else if (s.words_n > 0 && !skipped)
            run_statement(r, &s, set);
        if (s.words_n > 0)
            before = s.joint;
        if (r->errexit && r->status && s.joint == JOINT_NEXT)
            r->ended = true;
    }
}

/* ---- containers ---- */

static struct statement container_words(const struct json *container, bool image_known)
{
    struct statement s = {.joint = JOINT_END};
    JSON_EACH (word, json_get(container, "command"))
        if (s.words_n < WORDS_MAX)
            s.words[s.words_n++] = json_bytes(word);
    if (s.words_n == 0 && !image_known)
        return s; /* the image's own program gets the args */
    JSON_EACH (word, json_get(container, "args"))
        if (s.words_n < WORDS_MAX)
            s.words[s.words_n++] = json_bytes(word);
    return s;
}

/* The script of `sh -c SCRIPT`, or NULL data. */
static struct bytes shell_script(const struct statement *s, struct run *r)
{
    struct bytes none = {0};
    if (s->words_n < 3 || !listed(SHELLS, base_name(s->words[0])))
        return none;
    for (size_t i = 1; i + 1 < s->words_n && s->words[i].n > 0 && *s->words[i].data == '-'; i++) {
        r->errexit |= is_option(s->words[i], 'e');
        if (is_option(s->words[i], 'c'))
            return s->words[i + 1];
    }
    return none;
}

static struct run container_run(const struct json *container, int64_t fallback_ms)
{
    struct bytes image = image_name(container);
    struct setting set = {fallback_ms, listed(KNOWN_IMAGES, image),
                          json_item(json_get(container, "volumeMounts"), 0) != NULL};
    struct run guess = {.ms = fallback_ms}, r = {0};
    struct statement s = container_words(container, set.image_known);
    if (s.words_n == 0) {
        guess.ms = listed(SERVERS, image) ? -1 : fallback_ms;
        return guess;
    }
    struct bytes script = shell_script(&s, &r);
    if (script.data)
        run_script(&r, script, &set);
    else
        run_statement(&r, &s, &set);
    return r.strange ? guess : r;
}

struct pod_command pod_command_read(const struct json *pod_spec, int64_t fallback_ms)
{
    struct pod_command all = {0};
    JSON_EACH (container, json_get(pod_spec, "containers")) {
        struct run r = container_run(container, fallback_ms);
        all.run_ms = all.run_ms < 0 || r.ms < 0 ? -1 : r.ms > all.run_ms ? r.ms : all.run_ms;
        all.ignores_term |= r.ignores_term;
        if (all.exit_code == 0)
            all.exit_code = r.status;
    }
    return all;
}
