/* mps_daemon.c - starting, asking, limiting and stopping one MPS control daemon
 *
 * ORDER  one command at a time: d->command. What its answer means follows from the state and from `servers_at`.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/mps/mps_daemon.h"
#include "agent/mps/mps_folder.h"
#include "agent/mps/mps_keeper.h"
#include "base/log.h"
#include "base/memory.h"

#define START_POLL_MS 100
#define START_LIMIT_MS 30000
#define STOP_LIMIT_MS 8000
#define BACKOFF_MAX_MS 60000
#define STEADY_MS 60000 /* ready for so long: the next failure starts with the first back-off again */
#define LIMIT_ENVIRON_BYTES (256u << 10)

extern char **environ;
static void command_send(struct mps_daemon *d, const char *input, loop_child_fn fn);
static void on_timer(void *arg);

const char *mps_state_name(enum mps_state s)
{
    static const char *const names[] = {
#define X(name, text) [MPS_##name] = text,
        MPS_STATES(X)
#undef X
    };
    return names[s];
}

void mps_spec_free(struct mps_spec *s)
{
    if (!s)
        return;
    free(s->resource);
    free(s->key);
    free(s->pipe);
    free(s->log);
    free(s->started);
    free(s->devices);
    free(s);
}

static void call_changed(void *arg)
{
    struct mps_daemon *d = arg;
    d->changed(d->arg);
}

static void state_set(struct mps_daemon *d, enum mps_state state)
{
    d->state = state;
    d->state_ms = loop_now_ms(d->loop);
    if (d->spec->started && state != MPS_READY)
        (void)unlink(d->spec->started); /* may not be there */
    if (state != MPS_READY)
        d->clients_n = 0;
    loop_defer(d->loop, call_changed, d);
}

int mps_daemon_pid(const struct mps_daemon *d)
{
    return d->child ? loop_child_pid(d->child) : d->adopted;
}

/* ---- environment ---- */

static void visible_text(const struct mps_spec *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->devices_n; i++)
        buf_printf(out, "%s%s", i ? "," : "", s->devices[i].uuid);
}

char **mps_environment_make(const struct mps_spec *s)
{
    _cleanup_buf_ struct buf own = {0};
    size_t n = 0;
    buf_printf(&own, "CUDA_MPS_PIPE_DIRECTORY=%s%cCUDA_MPS_LOG_DIRECTORY=%s%cCUDA_VISIBLE_DEVICES=", s->pipe, '\0', s->log, '\0');
    visible_text(s, &own);
    buf_char(&own, '\0');
    while (environ[n])
        n++;
    char **list = mem_alloc((n + 4) * sizeof *list + own.n);
    char *text = (char *)(list + n + 4);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!text_starts(environ[i], "CUDA_MPS_") && !text_starts(environ[i], "CUDA_VISIBLE_DEVICES="))
            list[at++] = environ[i];
    }
    memcpy(text, own.data, own.n);
    for (int i = 0; i < 3; i++) {
        list[at++] = text;
        text += strlen(text) + 1;
    }
    list[at] = NULL;
    return list;
}

/* ---- a daemon that runs already ---- */

static int old_pid(const struct mps_spec *s)
{
    char path[4400], text[32] = "";
    int64_t pid;
    (void)snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", s->pipe);
    ssize_t n = mps_file_read(path, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    if (!bytes_int64((struct bytes){text, strcspn(text, " \n")}, &pid) || pid <= 1 || pid > INT32_MAX || kill((pid_t)pid, 0) < 0)
        return 0;
    return (int)pid;
}

static const char *variable_find(const char *block, size_t n, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < n; at += strlen(block + at) + 1) {
        if (strncmp(block + at, name, length) == 0 && block[at + length] == '=')
            return block + at + length + 1;
    }
    return NULL;
}

/* WHY  A container can name any process of the node in the pid file, one with our pipe directory in its environment too: another client. */
static bool is_control_program(const struct mps_daemon *d, int pid)
{
    enum { COMM_BYTES = 15 }; /* what the kernel keeps of a program's name */
    const char *slash = strrchr(d->program, '/'), *name = slash ? slash + 1 : d->program;
    char path[64], comm[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (mps_file_read(path, comm, sizeof comm - 1) <= 0)
        return false;
    comm[strcspn(comm, "\n")] = '\0';
    return strncmp(comm, name, COMM_BYTES) == 0;
}

enum old_daemon { OLD_NONE, OLD_SAME, OLD_OTHER, OLD_FOREIGN };

/* Its environment says whether it is one of ours, and which devices it serves. A pid that is somebody else's by now has neither. */
static enum old_daemon old_daemon_find(const struct mps_daemon *d, int *ret_pid)
{
    const struct mps_spec *s = d->spec;
    char path[64];
    _cleanup_buf_ struct buf visible = {0};
    *ret_pid = old_pid(s);
    if (!*ret_pid || !is_control_program(d, *ret_pid))
        return OLD_NONE;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", *ret_pid);
    _cleanup_free_ char *block = mem_alloc(LIMIT_ENVIRON_BYTES + 1);
    ssize_t n = mps_file_read(path, block, LIMIT_ENVIRON_BYTES);
    if (n < 0)
        return OLD_NONE;
    block[n] = '\0';
    const char *pipe = variable_find(block, (size_t)n, "CUDA_MPS_PIPE_DIRECTORY");
    const char *devices = variable_find(block, (size_t)n, "CUDA_VISIBLE_DEVICES");
    if (!pipe)
        return OLD_FOREIGN; /* started by hand with the default directory */
    if (!text_equal(pipe, s->pipe))
        return OLD_NONE;
    visible_text(s, &visible);
    return text_equal(devices, visible.data) ? OLD_SAME : OLD_OTHER;
}

/* ---- failure ---- */

static void call_forget(struct mps_daemon *d)
{
    if (d->call)
        grpc_cancel(d->keeper, d->call);
    d->call = 0;
}

/* The daemon and its servers: it leads a session of its own. */
static void daemon_kill(struct mps_daemon *d)
{
    loop_child_forget(d->command);
    d->command = NULL;
    call_forget(d);
    int pid = mps_daemon_pid(d), now;
    bool ours = d->child || (d->adopted && old_daemon_find(d, &now) != OLD_NONE && now == d->adopted); /* not a reused pid */
    if (pid > 1 && ours && !d->foreign) {
        (void)kill(-pid, SIGKILL); /* gone already: nothing to do */
        (void)kill(pid, SIGKILL);
    }
    loop_child_forget(d->child);
    d->child = NULL;
    d->adopted = 0;
    d->foreign = false;
}

static void daemon_fail(struct mps_daemon *d, int code, const char *words)
{
    if (d->state == MPS_READY && loop_now_ms(d->loop) - d->state_ms >= STEADY_MS)
        d->backoff_ms = 0;
    d->backoff_ms = d->backoff_ms ? d->backoff_ms * 2 : d->backoff_first_ms;
    if (d->backoff_ms > BACKOFF_MAX_MS)
        d->backoff_ms = BACKOFF_MAX_MS;
    char line[MPS_LOG_LINE];
    mps_log_last(d->spec->log, d->log_from, line);
    (void)err_set(&d->problem, code, "%s%s%s", words, *line ? "; its log ends: " : "", line);
    log_warning("mps_failed resource=%s error=\"%s\" again_in_ms=%lld", d->spec->resource, d->problem.text, (long long)d->backoff_ms);
    daemon_kill(d);
    d->restarts_n++;
    state_set(d, MPS_BACKOFF);
    loop_timer_start(d->timer, d->backoff_ms, 0);
}

/* ---- limits ---- */

static void limits_text(const struct mps_daemon *d, struct buf *out)
{
    const struct mps_spec *s = d->spec;
    for (uint32_t i = 0; i < s->devices_n; i++) {
        if (s->devices[i].memory_mib)
            buf_printf(out, "set_default_device_pinned_mem_limit %s %uM\n", s->devices[i].uuid, s->devices[i].memory_mib);
    }
    buf_printf(out, "set_default_active_thread_percentage %u\n", s->thread_percentage);
    for (uint32_t k = 0; k < d->servers_n; k++) { /* servers that run already: for the clients that come */
        for (uint32_t i = 0; i < s->devices_n; i++) {
            if (s->devices[i].memory_mib)
                buf_printf(out, "set_device_pinned_mem_limit %u %s %uM\n", d->servers[k], s->devices[i].uuid, s->devices[i].memory_mib);
        }
        buf_printf(out, "set_active_thread_percentage %u %u\n", d->servers[k], s->thread_percentage);
    }
}

static void daemon_ready(struct mps_daemon *d)
{
    d->misses = 0;
    d->problem.text[0] = '\0';
    if (d->state == MPS_READY)
        return;
    state_set(d, MPS_READY);
    if (d->spec->started) {
        _cleanup_close_ int fd = open(d->spec->started, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
            log_warning("mps_started_file path=%s error=\"%s\"", d->spec->started, strerror(errno));
    }
    loop_timer_start(d->timer, d->check_ms, 0);
}

static void on_limits(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    d->command = NULL;
    if (code) {
        daemon_fail(d, E_IO, "it does not take its limits");
        return;
    }
    daemon_ready(d);
    loop_timer_start(d->timer, d->check_ms, 0);
}

static void limits_send(struct mps_daemon *d)
{
    _cleanup_buf_ struct buf text = {0};
    d->relimit = false;
    if (!d->spec->thread_percentage) {
        daemon_ready(d);
        loop_timer_start(d->timer, d->check_ms, 0);
        return;
    }
    limits_text(d, &text);
    command_send(d, text.data, on_limits);
}

/* ---- checks ---- */

static uint32_t pids_parse(const char *text, size_t n, uint32_t *to, uint32_t room)
{
    uint32_t found = 0;
    for (size_t at = 0; at < n && found < room;) {
        size_t start = at;
        int64_t pid;
        while (at < n && text[at] > ' ')
            at++;
        if (at > start && bytes_int64((struct bytes){text + start, at - start}, &pid) && pid > 0 && pid <= UINT32_MAX)
            to[found++] = (uint32_t)pid;
        at += at < n;
    }
    return found;
}

static void on_client_list(void *arg, int code, const char *output, size_t n);

static void clients_ask(struct mps_daemon *d)
{
    char text[64];
    if (d->servers_at < d->servers_n) {
        (void)snprintf(text, sizeof text, "get_client_list %u\n", d->servers[d->servers_at]);
        command_send(d, text, on_client_list);
        return;
    }
    memcpy(d->clients, d->fresh, d->fresh_n * sizeof *d->clients);
    d->clients_n = d->fresh_n;
    mps_log_trim(d->spec->log);
    if (d->relimit)
        limits_send(d);
    else
        loop_timer_start(d->timer, d->check_ms, 0);
}

static void on_client_list(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    uint32_t pids[LIMIT_MPS_DAEMON_CLIENTS];
    d->command = NULL;
    uint32_t pids_n = code ? 0 : pids_parse(output, n, pids, LIMIT_MPS_DAEMON_CLIENTS - d->fresh_n); /* a server may have gone */
    for (uint32_t i = 0; i < pids_n; i++)
        d->fresh[d->fresh_n++] = (struct mps_daemon_client){pids[i], d->servers[d->servers_at]};
    d->servers_at++;
    clients_ask(d);
}

static void on_server_list(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    d->command = NULL;
    d->servers_n = code ? 0 : pids_parse(output, n, d->servers, LIMIT_MPS_SERVERS);
    d->servers_at = d->fresh_n = 0;
    clients_ask(d);
}

/* The answer is a number: the daemon lives. */
static void on_percentage(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    d->command = NULL;
    char text[32] = "", *end = text;
    memcpy(text, output, n < sizeof text - 1 ? n : sizeof text - 1);
    double percentage = code ? -1 : strtod(text, &end);
    bool answers = end != text && percentage > 0 && percentage <= 100;
    if (d->state == MPS_STARTING) {
        if (answers) {
            d->servers_n = 0;
            state_set(d, MPS_LIMITS);
            limits_send(d);
        } else {
            loop_timer_start(d->timer, START_POLL_MS, 0);
        }
    } else if (answers) {
        d->misses = 0;
        if (d->spec->thread_percentage && (uint32_t)(percentage + 0.5) != d->spec->thread_percentage)
            d->relimit = true; /* somebody changed it */
        command_send(d, "get_server_list\n", on_server_list);
    } else if (++d->misses >= 2) {
        daemon_fail(d, E_AGAIN, "it does not answer");
    } else {
        loop_timer_start(d->timer, d->check_ms / 4 + 1, 0);
    }
}

static void command_send(struct mps_daemon *d, const char *input, loop_child_fn fn)
{
    char *argv[] = {(char *)d->program, NULL};
    struct err e = {0};
    _cleanup_free_ char **env = mps_environment_make(d->spec);
    const struct loop_child_options o = {
        .argv = argv, .env = env, .input = bytes_of(input), .max_bytes = MPS_COMMAND_BYTES, .timeout_ms = d->command_ms};
    if (loop_child_spawn(d->loop, &o, fn, d, &d->command, &e) < 0)
        daemon_fail(d, e.code, e.text);
}

/* ---- life ---- */

static void on_exit_of_daemon(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    char words[64];
    d->child = NULL;
    if (d->state == MPS_STOPPING) {
        loop_child_forget(d->command);
        d->command = NULL;
        loop_timer_stop(d->timer);
        state_set(d, MPS_OFF);
        return;
    }
    (void)snprintf(words, sizeof words, code >= 128 ? "it was ended by signal %d" : "it ended with status %d",
                   code >= 128 ? code - 128 : code);
    daemon_fail(d, E_IO, words);
}

static void on_kept(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct mps_daemon *d = arg;
    int64_t pid = 0;
    char words[ERR_TEXT_MAX];
    d->call = 0;
    if (status == GRPC_OK && bytes_int64(message, &pid) && pid > 1 && pid <= INT32_MAX) {
        d->adopted = (int)pid;
        log_info("mps_started resource=%s pid=%d pipe=%s kept=yes", d->spec->resource, d->adopted, d->spec->pipe);
        loop_timer_start(d->timer, START_POLL_MS, 0);
        return;
    }
    (void)snprintf(words, sizeof words, "its keeper does not start it, is 'capstan agent --mps-keep' running? %s", error_text);
    daemon_fail(d, E_AGAIN, words);
}

static void keeper_ask(struct mps_daemon *d)
{
    _cleanup_buf_ struct buf request = {0};
    buf_printf(&request, "%s\n%s\n", d->spec->pipe, d->spec->log);
    visible_text(d->spec, &request);
    d->call = grpc_call(d->keeper, MPS_KEEPER_START, buf_view(&request), d->command_ms, on_kept, d);
    state_set(d, MPS_STARTING);
}

static void daemon_spawn(struct mps_daemon *d)
{
    struct err e = {0};
    char *argv[] = {(char *)d->program, "-f", NULL};
    if (mps_folder_make(d->spec->pipe, true, &e) < 0 || mps_folder_make(d->spec->log, false, &e) < 0) {
        daemon_fail(d, e.code, e.text);
        return;
    }
    d->log_from = mps_log_bytes(d->spec->log);
    if (d->keeper) {
        keeper_ask(d);
        return;
    }
    _cleanup_free_ char **env = mps_environment_make(d->spec);
    const struct loop_child_options o = {.argv = argv, .env = env, .new_session = true};
    if (loop_child_spawn(d->loop, &o, on_exit_of_daemon, d, &d->child, &e) < 0) {
        daemon_fail(d, e.code, e.text);
        return;
    }
    log_info("mps_started resource=%s pid=%d pipe=%s", d->spec->resource, loop_child_pid(d->child), d->spec->pipe);
    state_set(d, MPS_STARTING);
    loop_timer_start(d->timer, START_POLL_MS, 0);
}

void mps_daemon_start(struct mps_daemon *d)
{
    int pid;
    enum old_daemon old = old_daemon_find(d, &pid);
    d->misses = 0;
    d->quit_sent = false;
    if (old == OLD_NONE) {
        daemon_spawn(d);
        return;
    }
    d->adopted = pid;
    d->foreign = old == OLD_FOREIGN;
    log_info("mps_found resource=%s pid=%d same=%s", d->spec->resource, pid, old == OLD_OTHER ? "no" : "yes");
    if (old == OLD_OTHER) {
        mps_daemon_stop(d);
        return;
    }
    state_set(d, MPS_STARTING);
    loop_timer_start(d->timer, 1, 0);
}

static void on_quit(void *arg, int code, const char *output, size_t n)
{
    struct mps_daemon *d = arg;
    d->command = NULL; /* whether it obeys is seen when it ends */
}

void mps_daemon_stop(struct mps_daemon *d)
{
    if (d->state == MPS_STOPPING)
        return;
    loop_timer_stop(d->timer);
    loop_child_forget(d->command);
    d->command = NULL;
    call_forget(d); /* one that is started all the same is found by the next of its pipe, or by mps_keeper's Keep */
    if (d->foreign || !mps_daemon_pid(d)) {
        d->adopted = 0;
        d->foreign = false;
        state_set(d, MPS_OFF);
        return;
    }
    state_set(d, MPS_STOPPING);
    command_send(d, "quit\n", on_quit);
    if (d->state == MPS_STOPPING)
        loop_timer_start(d->timer, START_POLL_MS, START_POLL_MS);
}

static void stopping_tick(struct mps_daemon *d)
{
    bool gone = d->adopted && kill(d->adopted, 0) < 0;
    if (!gone && loop_now_ms(d->loop) - d->state_ms < STOP_LIMIT_MS)
        return;
    daemon_kill(d);
    loop_timer_stop(d->timer);
    state_set(d, MPS_OFF);
}

static void on_timer(void *arg)
{
    struct mps_daemon *d = arg;
    if (d->state == MPS_STOPPING) {
        stopping_tick(d);
    } else if (d->state == MPS_BACKOFF) {
        state_set(d, MPS_OFF); /* its owner starts it again, when it is still wanted */
    } else if (d->command) {
        return;
    } else if (d->state == MPS_STARTING && loop_now_ms(d->loop) - d->state_ms >= START_LIMIT_MS) {
        daemon_fail(d, E_AGAIN, "it does not answer after its start");
    } else if (d->adopted && kill(d->adopted, 0) < 0) {
        daemon_fail(d, E_IO, "it has gone");
    } else if (d->state == MPS_STARTING || d->state == MPS_READY) {
        command_send(d, "get_default_active_thread_percentage\n", on_percentage);
    }
}

void mps_daemon_relimit(struct mps_daemon *d, struct mps_spec *spec)
{
    mps_spec_free(d->spec);
    d->spec = spec;
    d->relimit = true;
    if (d->state == MPS_READY && !d->command)
        loop_timer_start(d->timer, 0, 0);
}

void mps_daemon_init(struct mps_daemon *d, struct loop *l, struct mps_spec *spec)
{
    memset(d, 0, sizeof *d);
    d->loop = l;
    d->spec = spec;
    d->timer = loop_timer_new(l, on_timer, d);
}

void mps_daemon_clear(struct mps_daemon *d)
{
    loop_child_forget(d->keeper ? d->command : NULL);
    call_forget(d);
    if (!d->keeper)
        daemon_kill(d);
    if (d->spec->started && !d->keeper)
        (void)unlink(d->spec->started); /* may not be there */
    loop_timer_free(d->timer);
    loop_forget(d->loop, call_changed, d);
    mps_spec_free(d->spec);
}
