/* mps_keeper.c - see mps_keeper.h */
#include "agent/mps/mps_keeper.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/mps/mps_folder.h"
#include "base/log.h"
#include "base/memory.h"

struct kept {
    struct mps_keeper *keeper;
    struct mps_spec spec; /* pipe, log and devices only */
    struct loop_child *child;
};
struct mps_keeper {
    struct loop *loop;
    struct grpc_server *server;
    char *program, *socket;
    struct kept *list[LIMIT_MPS_KEPT];
    uint32_t n;
};

void mps_keeper_socket(struct buf *out, const char *root)
{
    buf_printf(out, "%s/keeper.sock", root);
}

uint32_t mps_keeper_daemons(const struct mps_keeper *k)
{
    return k->n;
}

/* ---- shared memory ---- */

static int failed(struct err *e, const char *what, const char *path)
{
    return err_set(e, errno == EPERM || errno == EACCES ? E_DENIED : E_IO,
                   "%s %s: %s; the keeper has to be root and privileged, or use the "
                   "machine's own /dev/shm with --mps-shm-size 0",
                   what, path, strerror(errno));
}

/* Our own view alone: what is mounted elsewhere later still comes in, nothing goes out. */
static int shm_use(const char *path, struct err *e)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return failed(e, "leave the mount namespace for", path);
    return mount(path, "/dev/shm", NULL, MS_BIND, NULL) < 0 ? failed(e, "mount at /dev/shm", path) : 0;
}

static bool is_mount(const char *root, const char *path)
{
    struct stat a, b;
    return stat(root, &a) == 0 && lstat(path, &b) == 0 && S_ISDIR(b.st_mode) && a.st_dev != b.st_dev;
}

static int shm_make(const char *root, uint64_t bytes, struct err *e)
{
    char path[4200], options[64];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/shm", root);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && bytes)
        (void)unlink(path); /* an agent's, to the machine's */
    if (!bytes) {
        if (symlink("/dev/shm", path) < 0 && errno != EEXIST)
            return failed(e, "link to /dev/shm from", path);
        return 0;
    }
    (void)snprintf(options, sizeof options, "mode=1777,size=%llu", (unsigned long long)bytes);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return failed(e, "make", path);
    if (!is_mount(root, path) && mount("capstan-mps", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return failed(e, "mount a tmpfs at", path);
    return shm_use(path, e);
}

/* ---- daemons ---- */

static void kept_free(struct kept *it)
{
    free(it->spec.pipe);
    free(it->spec.log);
    free(it->spec.devices);
    free(it);
}

static void on_exit_of_daemon(void *arg, int code, const char *output, size_t n)
{
    struct kept *it = arg;
    struct mps_keeper *k = it->keeper;
    uint32_t at = 0;
    while (k->list[at] != it)
        at++;
    k->list[at] = k->list[--k->n];
    log_info("mps_ended pipe=%s status=%d", it->spec.pipe, code);
    kept_free(it);
}

/* Lines of the request; what is empty, relative or climbs up is none of ours. */
static bool is_path(const char *text)
{
    return text && text[0] == '/' && !strstr(text, "/../") && strlen(text) < 4000;
}

static int kept_start(struct mps_keeper *k, char *request, int *ret_pid, struct err *e)
{
    char *save = NULL, *pipe = strtok_r(request, "\n", &save), *log = strtok_r(NULL, "\n", &save), *ids = strtok_r(NULL, "\n", &save),
         *at = NULL;
    if (!is_path(pipe) || !is_path(log) || !ids || strtok_r(NULL, "\n", &save))
        return err_set(e, E_INVALID, "Start needs a pipe directory, a log directory and devices");
    if (k->n == LIMIT_MPS_KEPT)
        return err_set(e, E_LIMIT, "%d MPS daemons are kept already", LIMIT_MPS_KEPT);
    struct kept *it = mem_zero(1, sizeof *it);
    it->keeper = k;
    it->spec.pipe = mem_text(pipe);
    it->spec.log = mem_text(log);
    for (char *id = strtok_r(ids, ",", &at); id; id = strtok_r(NULL, ",", &at)) {
        it->spec.devices = mem_grow(it->spec.devices, it->spec.devices_n + 1, sizeof *it->spec.devices);
        struct mps_device *d = &it->spec.devices[it->spec.devices_n++];
        memset(d, 0, sizeof *d);
        (void)snprintf(d->uuid, sizeof d->uuid, "%s", id);
    }
    char *argv[] = {k->program, "-f", NULL};
    _cleanup_free_ char **env = mps_environment_make(&it->spec);
    const struct loop_child_options o = {.argv = argv, .env = env, .new_session = true};
    int r = mps_folder_make(pipe, true, e);
    if (r == 0)
        r = mps_folder_make(log, false, e);
    if (r == 0)
        r = loop_child_spawn(k->loop, &o, on_exit_of_daemon, it, &it->child, e);
    if (r < 0) {
        kept_free(it);
        return r;
    }
    k->list[k->n++] = it;
    *ret_pid = loop_child_pid(it->child);
    log_info("mps_kept pid=%d pipe=%s", *ret_pid, pipe);
    return 0;
}

static void call_start(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct err e = {0};
    int pid = 0;
    _cleanup_free_ char *text = mem_text_n(request.data, request.n);
    if (kept_start(ctx, text, &pid, &e) < 0) {
        log_warning("mps_keep error=\"%s\"", e.text);
        grpc_fail(s, GRPC_INTERNAL, e.text);
        return;
    }
    char answer[32];
    (void)snprintf(answer, sizeof answer, "%d", pid);
    grpc_reply(s, bytes_of(answer));
}

static bool has_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == n && memcmp(at, line, n) == 0)
            return true;
    return false;
}

/* The daemon and its servers lead a session of their own. */
static void kept_end(const struct kept *it, int signal_number)
{
    (void)kill(-loop_child_pid(it->child), signal_number); /* gone already: nothing to do */
}

static void call_keep(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct mps_keeper *k = ctx;
    _cleanup_free_ char *text = mem_text_n(request.data, request.n);
    for (uint32_t i = 0; i < k->n; i++) {
        if (has_line(text, k->list[i]->spec.pipe))
            continue;
        log_info("mps_unwanted pid=%d pipe=%s", loop_child_pid(k->list[i]->child), k->list[i]->spec.pipe);
        kept_end(k->list[i], SIGTERM);
    }
    grpc_reply(s, BYTES(""));
}

static const struct grpc_handler handlers[] = {{MPS_KEEPER_START, call_start, NULL}, {MPS_KEEPER_KEEP, call_keep, NULL}};

/* ---- life ---- */

int mps_keeper_new(struct loop *l, const char *root, const char *program, uint64_t shm_bytes, struct mps_keeper **ret_k, struct err *e)
{
    struct buf socket = {0};
    struct mps_keeper *k = mem_zero(1, sizeof *k);
    k->loop = l;
    k->program = mem_text(program);
    mps_keeper_socket(&socket, root);
    k->socket = buf_take(&socket, NULL);
    int r = mps_folder_make(root, false, e);
    if (r == 0)
        r = shm_make(root, shm_bytes, e);
    if (r == 0)
        r = grpc_server_new(l, k->socket, handlers, 2, k, &k->server, e);
    if (r < 0)
        mps_keeper_free(k);
    else
        *ret_k = k;
    return r;
}

void mps_keeper_free(struct mps_keeper *k)
{
    if (!k)
        return;
    grpc_server_free(k->server);
    for (uint32_t i = 0; i < k->n; i++) {
        kept_end(k->list[i], SIGTERM);
        loop_child_forget(k->list[i]->child);
        kept_free(k->list[i]);
    }
    free(k->program);
    free(k->socket);
    free(k);
}
