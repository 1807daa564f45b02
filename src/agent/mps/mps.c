/* mps.c - the daemons that a resource table asks for, and the compute mode of their GPUs
 *
 *     table ─▶ wanted specs ─▶ step(): per daemon start, relimit, stop; per GPU exclusive while a daemon needs it, else default
 *
 * ORDER  a daemon starts when all of its GPUs are exclusive; a GPU is given back when no daemon that uses it is left.
 * OWNER  the driver outlives this: calls that wait for it are taken back at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/mps/mps.h"
#include "agent/mps/mps_keeper.h"
#include "base/log.h"
#include "base/memory.h"
#include "wire/json.h"

#define MODE_DEFAULT 0
#define MODE_EXCLUSIVE_PROCESS 3
#define MODE_RETRY_MS 5000
#define SHM_OLD_MAX 16 /* directories put aside; the folder is in memory, and empty after a reboot */

struct daemon {
    struct mps_daemon d;
    struct mps_spec *next; /* what it is to be; NULL: nothing, or what it is */
    bool wanted;
    bool used; /* has been started: its GPUs are needed until it is OFF again */
};
struct gpu_mode {
    char uuid[48];
    bool exclusive, asked, failed; /* as far as the driver has confirmed; a call is on its way; the last one did not work */
    int asked_mode;
};
struct mode_call { /* modes may be added while it is under way: it names its GPU */
    struct mps *mps;
    struct mode_call *next;
    struct driver_call *call;
    char uuid[48];
};
struct mps {
    struct loop *loop;
    struct driver *driver;
    struct mps_config config;
    char *root, *program, *keti;
    struct daemon **daemons;
    uint32_t daemons_n, daemons_cap;
    struct gpu_mode *modes;
    uint32_t modes_n, modes_cap;
    struct mode_call *calls;
    struct loop_timer *retry;
    struct grpc_client *keeper; /* NULL: daemons are our children */
    bool keeper_told;           /* which daemons are wanted: what an agent before us left is ended */
    bool stopping, step_asked, shm_differs; /* shm_differs: was said */
    void (*stopped)(void *arg);
    void *stopped_arg;
};
static void step(struct mps *m);

static void step_now(void *arg)
{
    struct mps *m = arg;
    m->step_asked = false;
    step(m);
}

static void step_soon(void *arg)
{
    struct mps *m = arg;
    if (!m->step_asked)
        loop_defer(m->loop, step_now, m);
    m->step_asked = true;
}

/* ---- compute mode ---- */

static void intent_key(char to[80], const char *uuid)
{
    (void)snprintf(to, 80, "compute-mode/%s", uuid);
}

static void intent_set(const struct mps *m, const char *uuid, const char *value)
{
    char key[80];
    struct err e = {0};
    intent_key(key, uuid);
    if (m->config.inventory && inventory_intent_set(m->config.inventory, key, value, &e) < 0)
        log_warning("mps_intent gpu=%s error=\"%s\"", uuid, e.text);
}

static struct gpu_mode *mode_get(struct mps *m, const char *uuid);

static void mode_answered(struct mps *m, struct gpu_mode *g, int code, const struct err *e)
{
    g->asked = false;
    g->failed = code < 0;
    if (code >= 0) {
        g->exclusive = g->asked_mode == MODE_EXCLUSIVE_PROCESS;
        if (!g->exclusive)
            intent_set(m, g->uuid, "");
    } else {
        log_warning("mps_compute_mode gpu=%s mode=%d error=\"%s\"", g->uuid, g->asked_mode, e ? e->text : "");
        loop_timer_start(m->retry, MODE_RETRY_MS, 0);
    }
    step_soon(m);
}

static void on_mode(void *arg, int code, const struct err *e)
{
    struct mode_call *c = arg;
    struct mode_call **at = &c->mps->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    mode_answered(c->mps, mode_get(c->mps, c->uuid), code, e);
    free(c);
}

static void mode_ask(struct mps *m, struct gpu_mode *g, int mode)
{
    if (mode == MODE_EXCLUSIVE_PROCESS)
        intent_set(m, g->uuid, "exclusive");
    g->asked = true;
    g->asked_mode = mode;
    struct mode_call *c = mem_zero(1, sizeof *c);
    c->mps = m;
    c->next = m->calls;
    m->calls = c;
    (void)snprintf(c->uuid, sizeof c->uuid, "%s", g->uuid);
    c->call = driver_set_compute_mode(m->driver, g->uuid, mode, on_mode, c);
}

static struct gpu_mode *mode_get(struct mps *m, const char *uuid)
{
    for (uint32_t i = 0; i < m->modes_n; i++) {
        if (text_equal(m->modes[i].uuid, uuid))
            return &m->modes[i];
    }
    MEM_RESERVE(m->modes, m->modes_cap, m->modes_n + 1);
    struct gpu_mode *g = &m->modes[m->modes_n++];
    memset(g, 0, sizeof *g);
    (void)snprintf(g->uuid, sizeof g->uuid, "%s", uuid);
    return g;
}

static bool spec_uses(const struct mps_spec *s, const char *uuid)
{
    for (uint32_t i = 0; s && i < s->devices_n; i++) {
        if (text_equal(s->devices[i].uuid, uuid))
            return true;
    }
    return false;
}

static bool mode_needed(const struct mps *m, const char *uuid)
{
    for (uint32_t i = 0; i < m->daemons_n; i++) {
        const struct daemon *d = m->daemons[i];
        if ((d->wanted && spec_uses(d->next ? d->next : d->d.spec, uuid)) || (d->used && spec_uses(d->d.spec, uuid)))
            return true;
    }
    return false;
}

/* GPUs of the spec are ready for a server. MIG devices are always. */
static bool modes_ready(struct mps *m, const struct mps_spec *s)
{
    bool ready = true;
    for (uint32_t i = 0; i < s->devices_n; i++) {
        if (text_starts(s->devices[i].uuid, "MIG-"))
            continue;
        struct gpu_mode *g = mode_get(m, s->devices[i].uuid);
        ready = ready && g->exclusive && !(g->asked && g->asked_mode == MODE_DEFAULT);
    }
    return ready;
}

static void modes_step(struct mps *m)
{
    for (uint32_t i = 0; i < m->modes_n; i++) {
        struct gpu_mode *g = &m->modes[i];
        bool needed = mode_needed(m, g->uuid);
        if (g->asked || needed == g->exclusive || (g->failed && loop_timer_running(m->retry)))
            continue;
        mode_ask(m, g, needed ? MODE_EXCLUSIVE_PROCESS : MODE_DEFAULT);
    }
}

/* ---- what the table asks for ---- */

void mps_directory(struct buf *out, const char *resource, const struct unit *u)
{
    buf_text(out, resource);
    if (u->mig)
        buf_printf(out, "/%s", u->uuid);
}

static struct mps_spec *spec_new(const struct mps *m, const struct resource *r, const struct unit *first)
{
    struct mps_spec *s = mem_zero(1, sizeof *s);
    _cleanup_buf_ struct buf key = {0}, text = {0};
    bool keti = r->sharing == SHARING_KETI;
    mps_directory(&key, r->name, first);
    s->resource = mem_text(r->name);
    s->key = mem_text(key.data);
    if (keti)
        buf_printf(&text, "%s%s%s", m->keti, first->mig ? "-" : "", first->mig ? first->uuid : "");
    else
        buf_printf(&text, "%s/%s/pipe", m->root, key.data);
    s->pipe = mem_text(text.data);
    if (keti)
        buf_text(&text, "-log");
    else
        memcpy(text.data + text.n - 4, "log", 4);
    s->log = mem_text(text.data);
    buf_clear(&text);
    buf_printf(&text, "%s/%s/.started", m->root, key.data);
    s->started = keti ? NULL : mem_text(text.data);
    s->thread_percentage = keti || r->replicas == 0 ? 0 : r->replicas >= 100 ? 1 : 100 / r->replicas;
    return s;
}

static void spec_add(struct mps_spec *s, const struct resource *r, const struct unit *u)
{
    for (uint32_t i = 0; i < s->devices_n; i++) {
        if (text_equal(s->devices[i].uuid, u->uuid))
            return;
    }
    s->devices = mem_grow(s->devices, s->devices_n + 1, sizeof *s->devices);
    struct mps_device *d = &s->devices[s->devices_n++];
    memset(d, 0, sizeof *d);
    (void)snprintf(d->uuid, sizeof d->uuid, "%s", u->uuid);
    if (r->sharing == SHARING_MPS && r->replicas)
        d->memory_mib = (u->mig ? u->mig->memory_mib : u->gpu->memory_mib) / r->replicas;
}

static struct daemon *daemon_find(const struct mps *m, const char *key)
{
    for (uint32_t i = 0; i < m->daemons_n; i++) {
        if (text_equal(m->daemons[i]->d.spec->key, key))
            return m->daemons[i];
    }
    return NULL;
}

static bool same_devices(const struct mps_spec *a, const struct mps_spec *b)
{
    bool same = a->devices_n == b->devices_n;
    for (uint32_t i = 0; same && i < a->devices_n; i++)
        same = text_equal(a->devices[i].uuid, b->devices[i].uuid);
    return same;
}

static bool same_limits(const struct mps_spec *a, const struct mps_spec *b)
{
    bool same = a->thread_percentage == b->thread_percentage;
    for (uint32_t i = 0; same && i < a->devices_n; i++)
        same = a->devices[i].memory_mib == b->devices[i].memory_mib;
    return same;
}

static void want(struct mps *m, struct mps_spec *s)
{
    struct daemon *d = daemon_find(m, s->key);
    if (!d && m->daemons_n >= LIMIT_MPS_DAEMONS) {
        log_warning("mps_limit resource=%s daemons=%u", s->resource, m->daemons_n);
        mps_spec_free(s);
        return;
    }
    for (uint32_t i = 0; i < s->devices_n; i++) {
        if (!text_starts(s->devices[i].uuid, "MIG-"))
            (void)mode_get(m, s->devices[i].uuid);
    }
    if (!d) {
        d = mem_zero(1, sizeof *d);
        mps_daemon_init(&d->d, m->loop, s);
        d->d.program = m->program;
        d->d.keeper = m->keeper;
        d->d.check_ms = m->config.check_period_ms;
        d->d.command_ms = m->config.command_timeout_ms;
        d->d.backoff_first_ms = m->config.backoff_ms;
        d->d.changed = step_soon;
        d->d.arg = m;
        MEM_RESERVE(m->daemons, m->daemons_cap, m->daemons_n + 1);
        m->daemons[m->daemons_n++] = d;
    } else {
        mps_spec_free(d->next);
        d->next = s;
    }
    d->wanted = true;
}

static void want_resource(struct mps *m, const struct inventory_snapshot *s, const struct resource *r)
{
    struct mps_spec *whole = NULL;
    for (uint32_t i = 0; i < r->slots_n; i++) {
        const struct unit *u = &s->units[r->slots[i].unit];
        if (!r->slots[i].shared || r->slots[i].replica > 0) /* the first share of each unit */
            continue;
        struct mps_spec *one = u->mig || !whole ? spec_new(m, r, u) : whole;
        spec_add(one, r, u);
        if (u->mig)
            want(m, one);
        else
            whole = one;
    }
    if (whole)
        want(m, whole);
}

/* ---- steps ---- */

static void ready_file(const struct mps *m)
{
    char path[4200];
    bool ready = false;
    for (uint32_t i = 0; i < m->daemons_n; i++) {
        const struct daemon *d = m->daemons[i];
        if (!d->d.spec->started)
            continue;
        ready = d->d.state == MPS_READY;
        if (!ready)
            break;
    }
    (void)snprintf(path, sizeof path, "%s/.ready", m->root);
    if (!ready) {
        (void)unlink(path); /* may not be there */
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    fd_close_p(&fd);
}

static void daemon_step(struct mps *m, struct daemon *d)
{
    enum mps_state state = d->d.state;
    if (state == MPS_OFF) {
        d->used = false;
        if (!d->wanted)
            return;
        if (d->next) {
            mps_spec_free(d->d.spec);
            d->d.spec = d->next;
            d->next = NULL;
        }
        if (modes_ready(m, d->d.spec)) {
            d->used = true;
            mps_daemon_start(&d->d);
        }
    } else if (state != MPS_STOPPING && (!d->wanted || (d->next && !same_devices(d->next, d->d.spec)))) {
        mps_daemon_stop(&d->d);
    } else if (state != MPS_STOPPING && d->next) {
        if (!same_limits(d->next, d->d.spec))
            mps_daemon_relimit(&d->d, d->next);
        else
            mps_spec_free(d->next);
        d->next = NULL;
    }
}

static void daemon_free(struct daemon *d)
{
    mps_daemon_clear(&d->d);
    mps_spec_free(d->next);
    free(d);
}

static bool all_given_back(const struct mps *m)
{
    for (uint32_t i = 0; i < m->modes_n; i++) {
        if (m->modes[i].asked || (m->modes[i].exclusive && !m->modes[i].failed))
            return false;
    }
    return m->daemons_n == 0;
}

static void step(struct mps *m)
{
    for (uint32_t i = 0; i < m->daemons_n; i++)
        daemon_step(m, m->daemons[i]);
    for (uint32_t i = 0; i < m->daemons_n;) {
        struct daemon *d = m->daemons[i];
        if (d->wanted || d->d.state != MPS_OFF) {
            i++;
            continue;
        }
        daemon_free(d);
        memmove(&m->daemons[i], &m->daemons[i + 1], (m->daemons_n - i - 1) * sizeof *m->daemons);
        m->daemons_n--;
    }
    modes_step(m);
    ready_file(m);
    if (m->stopping && m->stopped && all_given_back(m)) {
        void (*fn)(void *) = m->stopped;
        m->stopped = NULL;
        fn(m->stopped_arg);
    }
}

bool mps_is_left_over(struct inventory *inventory, const struct inventory_snapshot *s)
{
    char key[80];
    for (uint32_t i = 0; i < s->reading->gpus_n; i++) {
        intent_key(key, s->reading->gpus[i].uuid);
        if (inventory_intent(inventory, key))
            return true;
    }
    return false;
}

/* Exclusive since an agent before us, by the journal: given back when nobody wants it. */
static void intents_read(struct mps *m, const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; m->config.inventory && i < s->reading->gpus_n; i++) {
        char key[80];
        const char *uuid = s->reading->gpus[i].uuid;
        intent_key(key, uuid);
        if (!inventory_intent(m->config.inventory, key))
            continue;
        struct gpu_mode *g = mode_get(m, uuid);
        if (!g->asked && !g->exclusive) {
            g->exclusive = true;
            if (mode_needed(m, uuid)) /* asked for again: a reboot may have taken it away */
                mode_ask(m, g, MODE_EXCLUSIVE_PROCESS);
        }
    }
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A directory of the root that is not our own /dev/shm, put aside.
 * WHY  Renamed, not removed: rmdir would take what is mounted over it in another mount namespace away there; so a mount goes along. What is
 *      mounted in ours stays. */
static void shm_put_aside(const char *path)
{
    char aside[4220];
    struct stat is, own;
    if (lstat(path, &is) < 0 || !S_ISDIR(is.st_mode) || (stat("/dev/shm", &own) == 0 && same_file(&is, &own)))
        return;
    int r = -1;
    errno = EEXIST;
    for (int i = 1; r < 0 && errno == EEXIST && i <= SHM_OLD_MAX; i++) {
        char number[16] = "";
        if (i > 1)
            (void)snprintf(number, sizeof number, "%d", i);
        (void)snprintf(aside, sizeof aside, "%s.old%s", path, number);
        r = renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE);
    }
    if (r == 0)
        log_info("mps_shm path=%s put-aside=%s", path, aside);
    else if (errno != EBUSY) /* a mount of ours */
        log_warning("mps_shm path=%s put-aside=%s error=\"%s\"", path, aside, strerror(errno));
}

/* What clients get as /dev/shm has to be the daemon's: a link to the host's, which in a container is to be mounted at ours, or a directory
 * that is mounted there. The link is read on the host, where process 1 is. */
static void shm_make(struct mps *m)
{
    char path[4200], link[64];
    (void)snprintf(path, sizeof path, "%s/shm", m->root);
    (void)mkdir(m->root, 0755); /* the daemon's own directories say what is wrong, if anything is */
    shm_put_aside(path); /* left by NVIDIA's daemon, or made by a runtime that a container's mount was missing for */
    if (symlink("/dev/shm", path) < 0 && errno != EEXIST)
        log_warning("mps_shm path=%s error=\"%s\"", path, strerror(errno));
    struct stat own, given;
    const char *target = readlink(path, link, sizeof link) > 0 ? "/proc/1/root/dev/shm" : path;
    if (!m->shm_differs && stat("/dev/shm", &own) == 0 && stat(target, &given) == 0 && !same_file(&own, &given)) {
        log_warning("mps_shm path=%s reason=\"clients get it as /dev/shm, this process has another one: MPS will not work\" "
                    "advice=\"mount the host's /dev/shm, or that directory, at /dev/shm of the agent\"", path);
        m->shm_differs = true;
    }
}

static void on_told(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct mps *m = arg;
    m->keeper_told = status == GRPC_OK; /* else again with the next table */
}

static void keeper_tell(struct mps *m)
{
    _cleanup_buf_ struct buf pipes = {0};
    for (uint32_t i = 0; i < m->daemons_n; i++)
        if (m->daemons[i]->wanted)
            buf_printf(&pipes, "%s\n", m->daemons[i]->next ? m->daemons[i]->next->pipe : m->daemons[i]->d.spec->pipe);
    m->keeper_told = true;
    (void)grpc_call(m->keeper, MPS_KEEPER_KEEP, pipes.n ? buf_view(&pipes) : BYTES(""), m->config.command_timeout_ms, on_told, m);
}

void mps_set_program(struct mps *m, const char *program)
{
    if (text_equal(m->program, program))
        return;
    free(m->program);
    m->program = mem_text(program);
    for (uint32_t i = 0; i < m->daemons_n; i++)
        m->daemons[i]->d.program = m->program;
}

void mps_set(struct mps *m, const struct inventory_snapshot *s, const struct resource_table *t)
{
    if (m->stopping)
        return;
    for (uint32_t i = 0; i < m->daemons_n; i++)
        m->daemons[i]->wanted = false;
    for (uint32_t i = 0; i < t->resources_n; i++) {
        if (t->resources[i].sharing == SHARING_MPS && !m->keeper) /* else it is the keeper's */
            shm_make(m);
        if (t->resources[i].sharing == SHARING_MPS || t->resources[i].sharing == SHARING_KETI)
            want_resource(m, s, &t->resources[i]);
    }
    intents_read(m, s);
    if (m->keeper && !m->keeper_told)
        keeper_tell(m);
    step(m);
}

/* ---- what others ask ---- */

bool mps_ready(const struct mps *m, const char *resource)
{
    bool ready = false;
    for (uint32_t i = 0; i < m->daemons_n; i++) {
        const struct daemon *d = m->daemons[i];
        if (!d->wanted || !text_equal(d->d.spec->resource, resource))
            continue;
        ready = d->d.state == MPS_READY;
        if (!ready)
            return false;
    }
    return ready;
}

void mps_status(const struct mps *m, struct buf *out)
{
    buf_char(out, '[');
    for (uint32_t i = 0; i < m->daemons_n; i++) {
        const struct mps_daemon *d = &m->daemons[i]->d;
        buf_text(out, i ? ",{\"resource\":" : "{\"resource\":");
        json_write_string(out, bytes_of(d->spec->resource));
        buf_text(out, ",\"pipeDirectory\":");
        json_write_string(out, bytes_of(d->spec->pipe));
        buf_printf(out, ",\"state\":\"%s\",\"pid\":%d,\"activeThreadPercentage\":%u,\"clients\":%u,\"restarts\":%u,\"devices\":[",
                   mps_state_name(d->state), mps_daemon_pid(d), d->spec->thread_percentage, d->clients_n, d->restarts_n);
        for (uint32_t k = 0; k < d->spec->devices_n; k++) {
            buf_text(out, k ? ",{\"uuid\":" : "{\"uuid\":");
            json_write_string(out, bytes_of(d->spec->devices[k].uuid));
            buf_printf(out, ",\"pinnedMemoryMiB\":%u}", d->spec->devices[k].memory_mib);
        }
        buf_text(out, "],\"clientPids\":[");
        for (uint32_t k = 0; k < d->clients_n; k++)
            buf_printf(out, "%s%u", k ? "," : "", d->clients[k].pid);
        buf_text(out, "],\"error\":");
        json_write_string(out, bytes_of(d->problem.text));
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

/* ---- life ---- */

struct mps *mps_new(struct loop *l, struct driver *d, const struct mps_config *config)
{
    struct mps *m = mem_zero(1, sizeof *m);
    m->loop = l;
    m->driver = d;
    m->config = *config;
    m->root = mem_text(config->root);
    m->program = mem_text(config->control_program);
    m->keti = mem_text(config->keti_directory);
    m->config.check_period_ms = config->check_period_ms ? config->check_period_ms : 10000;
    m->config.command_timeout_ms = config->command_timeout_ms ? config->command_timeout_ms : 5000;
    m->config.backoff_ms = config->backoff_ms ? config->backoff_ms : 1000;
    m->retry = loop_timer_new(l, step_soon, m);
    if (config->kept) {
        struct buf socket = {0};
        mps_keeper_socket(&socket, config->root);
        m->keeper = grpc_client_new(l, socket.data);
        buf_free(&socket);
    }
    return m;
}

void mps_stop(struct mps *m, void (*fn)(void *arg), void *arg)
{
    m->stopping = true;
    if (m->keeper) {
        loop_defer(m->loop, fn, arg);
        return;
    }
    m->stopped = fn;
    m->stopped_arg = arg;
    for (uint32_t i = 0; i < m->daemons_n; i++)
        m->daemons[i]->wanted = false;
    step_soon(m);
}

static void nobody_waits(void *arg, int code, const struct err *e)
{
    /* The intent in the journal says that the mode may still have to be given back. */
}

void mps_free(struct mps *m)
{
    if (!m)
        return;
    while (m->calls) {
        struct mode_call *c = m->calls;
        m->calls = c->next;
        driver_cancel(c->call);
        free(c);
    }
    for (uint32_t i = 0; i < m->daemons_n; i++)
        daemon_free(m->daemons[i]);
    m->daemons_n = 0;
    for (uint32_t i = 0; i < m->modes_n && !m->keeper; i++) {
        if (m->modes[i].exclusive || m->modes[i].asked)
            driver_set_compute_mode(m->driver, m->modes[i].uuid, MODE_DEFAULT, nobody_waits, NULL);
    }
    if (!m->keeper)
        ready_file(m);
    grpc_client_free(m->keeper);
    loop_timer_free(m->retry);
    loop_forget(m->loop, step_now, m);
    free(m->daemons);
    free(m->modes);
    free(m->root);
    free(m->program);
    free(m->keti);
    free(m);
}
