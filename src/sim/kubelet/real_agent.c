/* real_agent.c - directories, the child process, node status, work and faults */
#include "sim/kubelet/real_agent.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/file.h"
#include "base/log.h"
#include "nvsim/nvsim.h"
#include "sim/folder.h"
#include "sim/kubelet/pod_life.h"
#include "sim/kubelet/process_tree.h"
#include "sim/node/node_kind.h"

#define AGAIN_FIRST_MS 1000
#define AGAIN_MAX_MS 60000
#define STARTING_MS 60000
#define STATUS_AGAIN_MS 1000
#define SOCKETS_NAME "capstan-agent-"
#define ORPHAN_WAITS 100
#define ORPHAN_WAIT_US 5000
#define END_WAITS 2000 /* ten seconds */
#define END_WAIT_US 5000
#define FIRST_PID (1u << 22) /* made up: above the largest that Linux gives */
#define ALL 0xffffffffu
#define SMALL_BYTES 65536
#define DAEMONS_FOLDER "mps-daemons" /* a file for each, with its process id */
#define ARGUMENTS_MAX 64

struct real_agent {
    struct loop *loop;
    struct real_agent_config config;
    char *node, *dir, *sockets, *nvml_path, *program, *kubeconfig;
    struct node_kind kind;
    struct arena *arena; /* of the child's arguments */
    char *arguments[ARGUMENTS_MAX];
    uint32_t arguments_n;
    char **environment;
    struct nvsim *nvsim;
    struct process_tree *processes;
    struct fake_kubelet *kubelet;
    struct agent_page *page;
    struct loop_child *child;
    struct loop_timer *again, *status_timer;
    int64_t again_ms, started_ms;
    struct map *written; /* resource -> nothing: those that the node's status has had */
    bool status_busy, status_again, told_to_end;
    char *faults;
};

const char *real_agent_node(const struct real_agent *r)
{
    return r->node;
}

struct fake_kubelet *real_agent_kubelet(struct real_agent *r)
{
    return r->kubelet;
}

struct agent_page *real_agent_page(struct real_agent *r)
{
    return r->page;
}

/* ---- the child ---- */

static void start_agent(void *arg);

static void on_agent_ended(void *arg, int exit_code, const char *output, size_t n)
{
    struct real_agent *r = arg;
    (void)output;
    (void)n;
    r->child = NULL;
    log_warning("agent ended node=%s exit=%d again_ms=%lld", r->node, exit_code, (long long)r->again_ms);
    loop_timer_start(r->again, r->again_ms, 0);
    r->again_ms = r->again_ms * 2 < AGAIN_MAX_MS ? r->again_ms * 2 : AGAIN_MAX_MS;
}

/* So that the next start can end an agent that was left behind, when this program was killed. */
static void write_pid(const struct real_agent *r)
{
    _cleanup_buf_ struct buf path = {0}, text = {0};
    struct err e = {0};
    buf_printf(&path, "%s/agent.pid", r->dir);
    buf_printf(&text, "%d\n", loop_child_pid(r->child));
    if (folder_write_file(path.data, 0600, buf_view(&text), &e) < 0)
        log_warning("agent's process id not kept error=\"%s\"", e.text);
}

/* "" when it is not there. Caller frees. */
static char *read_small(const char *path, size_t *ret_n)
{
    struct buf text = {0};
    if (file_read(path, SMALL_BYTES, &text, NULL) < 0)
        buf_clear(&text); /* the process ends: as if it were gone */
    return buf_take(&text, ret_n);
}

/* Is `text` in this part of what /proc tells of the process? */
static bool process_has(int64_t pid, const char *part, const char *text)
{
    char path[64];
    size_t n;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, part);
    _cleanup_free_ char *all = read_small(path, &n);
    return n > 0 && memmem(all, n, text, strlen(text));
}

/* A process of an earlier run whose number is in this file; it is ours when /proc shows `mark` in this part. */
static void end_left_behind(const char *pid_file, const char *part, const char *mark)
{
    int64_t pid;
    size_t n;
    _cleanup_free_ char *text = read_small(pid_file, &n);
    if (n < 2 || !bytes_int64((struct bytes){text, n - 1}, &pid) || pid < 2 || pid > INT32_MAX ||
        !process_has(pid, part, mark) || kill((pid_t)pid, SIGKILL) < 0)
        return;
    log_warning("a process of an earlier run was ended pid=%d mark=%s", (int)pid, mark);
    for (int i = 0; i < ORPHAN_WAITS && process_has(pid, part, mark); i++)
        (void)usleep(ORPHAN_WAIT_US); /* at the start only: its locks go with it */
}

/* The agent, which holds the lock of its state, and the MPS daemons that it had. */
static void end_all_left_behind(const struct real_agent *r)
{
    _cleanup_buf_ struct buf agent = {0}, state = {0}, daemons = {0}, pipes = {0};
    buf_printf(&agent, "%s/agent.pid", r->dir);
    buf_printf(&state, "%s/state", r->dir);
    buf_printf(&daemons, "%s/" DAEMONS_FOLDER, r->dir);
    buf_printf(&pipes, "CUDA_MPS_PIPE_DIRECTORY=%s/mps", r->dir); /* mps/RESOURCE/pipe and mps-keti/.. of make_arguments */
    end_left_behind(agent.data, "cmdline", state.data);
    DIR *d = opendir(daemons.data);
    for (struct dirent *x; d && (x = readdir(d));) {
        _cleanup_buf_ struct buf path = {0};
        buf_printf(&path, "%s/%s", daemons.data, x->d_name);
        end_left_behind(path.data, "environ", pipes.data);
    }
    if (d)
        (void)closedir(d); /* only read */
    folder_remove(daemons.data);
}

static void start_agent(void *arg)
{
    struct real_agent *r = arg;
    struct err e = {0};
    const struct loop_child_options o = {.argv = r->arguments, .env = r->environment, .new_session = true};
    if (loop_child_spawn(r->loop, &o, on_agent_ended, r, &r->child, &e) < 0) {
        log_warning("agent not started node=%s error=\"%s\"", r->node, e.text);
        loop_timer_start(r->again, r->again_ms, 0);
        return;
    }
    write_pid(r);
}

static void add(struct real_agent *r, const char *option, const char *value)
{
    assert(r->arguments_n + 2 < ARGUMENTS_MAX);
    r->arguments[r->arguments_n++] = arena_text(r->arena, option);
    if (value)
        r->arguments[r->arguments_n++] = arena_text(r->arena, value);
}

/* In place of NVIDIA's program: a daemon that takes commands and has no clients. */
static const char mps_control[] =
    "#!/bin/sh\n"
    "# nvidia-cuda-mps-control of a simulated node: it keeps its settings and has no clients\n"
    "pid=$CUDA_MPS_PIPE_DIRECTORY/stand-in.pid share=$CUDA_MPS_PIPE_DIRECTORY/stand-in.percentage\n"
    "if [ \"${1:-}\" = -f ]; then\n"
    "    echo 100.0 >\"$share\"\n"
    "    echo $$ >\"$pid\"\n"
    "    echo $$ >\"${0%/*}/" DAEMONS_FOLDER "/$$\"\n"
    "    exec sleep infinity\n"
    "fi\n"
    "kill -0 \"$(cat \"$pid\")\" 2>/dev/null || { echo 'Cannot find MPS control daemon process'; exit 1; }\n"
    "while read -r command value rest; do\n"
    "    case $command in\n"
    "    get_default_active_thread_percentage) cat \"$share\" ;;\n"
    "    set_default_active_thread_percentage) echo \"$value\" >\"$share\" ;;\n"
    "    quit) daemon=$(cat \"$pid\"); rm -f \"${0%/*}/" DAEMONS_FOLDER "/$daemon\"; kill \"$daemon\" ;;\n"
    "    esac\n"
    "done\n";

static int make_arguments(struct real_agent *r, struct err *e)
{
    struct arena *a = r->arena;
    const struct real_agent_config *c = &r->config;
    add(r, r->program, NULL);
    add(r, "agent", NULL);
    add(r, "--node-name", r->node);
    add(r, "--kubeconfig", r->kubeconfig);
    add(r, "--library", r->nvml_path);
    add(r, "--root", arena_printf(a, "%s/nvsim/root", r->dir));
    add(r, "--state-dir", arena_printf(a, "%s/state", r->dir));
    add(r, "--plugin-dir", arena_printf(a, "%s/plugins", r->sockets));
    add(r, "--pod-resources-socket", arena_printf(a, "%s/pod-resources.sock", r->sockets));
    add(r, "--address", arena_printf(a, "unix:%s/metrics.sock", r->sockets)); /* several agents share this machine */
    add(r, "--cdi-dir", arena_printf(a, "%s/cdi", r->dir));
    add(r, "--output-file", arena_printf(a, "%s/features", r->dir));
    add(r, "--read-period", "2s");
    add(r, "--mig-strategy", c->mig_strategy ? c->mig_strategy : "mixed");
    add(r, "--mig-config-map",
        arena_printf(a, "gpu-operator/%s", *c->mig_config_map ? c->mig_config_map : "mig-parted-config"));
    add(r, "--mig-busy", c->mig_evicts ? "evict" : "refuse");
    add(r, "--log-level", "warning");
    add(r, "--reset-command", arena_printf(a, "%s nvsim reset --gpu {index}", r->program));
    const char *control = arena_printf(a, "%s/nvidia-cuda-mps-control", r->dir);
    add(r, "--mps-root", arena_printf(a, "%s/mps", r->dir));
    add(r, "--mps-control", control);
    add(r, "--mps-keti-directory", arena_printf(a, "%s/mps-keti", r->dir));
    if (r->kind.shape.mps_shares > 0)
        add(r, "--ketimpsgpu", arena_printf(a, "%d", r->kind.shape.mps_shares));
    (void)unlink(control); /* of the last start: it may run still */
    if (folder_write_file(control, 0700, bytes_of(mps_control), e) < 0)
        return -e->code;
    const char *file = arena_printf(a, "%s/config.yaml", r->dir);
    if (r->kind.shape.replicas > 1) {
        add(r, "--config-file", file);
        return folder_write_file(file, 0600, bytes_of(r->kind.config), e); /* as an administrator would write one */
    }
    add(r, "--config-map", arena_printf(a, "gpu-operator/%s", *c->config_map ? c->config_map : "time-slicing-config"));
    if (*c->config_default)
        add(r, "--config-default", c->config_default);
    return 0;
}

/* Ours without what steers agents and drivers. */
static void make_environment(struct real_agent *r)
{
    extern char **environ;
    uint32_t n = 0, to = 0;
    while (environ[n])
        n++;
    r->environment = arena_zero(r->arena, n + 3, sizeof *r->environment);
    for (uint32_t i = 0; i < n; i++)
        if (text_starts(environ[i], "PATH=") || text_starts(environ[i], "HOME=") ||
            text_starts(environ[i], "TMPDIR=") || text_starts(environ[i], "LANG=") ||
            text_starts(environ[i], "ASAN_OPTIONS=") || text_starts(environ[i], "UBSAN_OPTIONS=") ||
            text_starts(environ[i], "TZ="))
            r->environment[to++] = environ[i];
    r->environment[to++] = arena_printf(r->arena, "NVSIM_STATE=%s/nvsim/state", r->dir);
}

/* ---- node status ---- */

static void write_status(void *arg);

static void on_status_written(void *arg, const struct kube_answer *answer)
{
    struct real_agent *r = arg;
    r->status_busy = false;
    if (answer->code < 0 || r->status_again)
        loop_timer_start(r->status_timer, answer->code < 0 ? STATUS_AGAIN_MS : 0, 0);
    r->status_again = false;
}

/* As a kubelet's: what its device manager counts; resources that have gone stay at 0. */
static void write_status(void *arg)
{
    struct real_agent *r = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf body = {0};
    if (r->status_busy) {
        r->status_again = true;
        return;
    }
    struct json *patch = json_new(a, JSON_OBJECT), *status = json_ensure_object(a, patch, "status");
    struct json *capacity = json_ensure_object(a, status, "capacity"),
                *allocatable = json_ensure_object(a, status, "allocatable");
    size_t at = 0;
    struct bytes key;
    while (map_next(r->written, &at, &key)) {
        json_set_text(a, capacity, key.data, "0");
        json_set_text(a, allocatable, key.data, "0");
    }
    struct fake_kubelet_amount *list;
    uint32_t n = fake_kubelet_amounts(r->kubelet, a, &list);
    for (uint32_t i = 0; i < n; i++) {
        json_set_text(a, capacity, list[i].resource, arena_printf(a, "%u", list[i].capacity));
        json_set_text(a, allocatable, list[i].resource, arena_printf(a, "%u", list[i].allocatable));
        (void)map_put(r->written, bytes_of(list[i].resource), NULL);
    }
    if (!capacity->n)
        return;
    json_write(&body, patch);
    r->status_busy = true;
    kube_patch(r->config.client, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "nodes", NULL, r->node, "status"),
               buf_view(&body), on_status_written, r);
}

static void on_devices(void *arg)
{
    struct real_agent *r = arg;
    r->again_ms = AGAIN_FIRST_MS;
    if (!loop_timer_running(r->status_timer))
        loop_timer_start(r->status_timer, 0, 0);
    r->config.changed(r->config.arg, r->node);
}

bool real_agent_starting(const struct real_agent *r, const struct pod_devices *devices)
{
    if (loop_now_ms(r->loop) - r->started_ms > STARTING_MS)
        return false;
    _cleanup_arena_ struct arena *a = arena_new();
    struct fake_kubelet_amount *list;
    uint32_t n = fake_kubelet_amounts(r->kubelet, a, &list);
    for (uint32_t i = 0; i < devices->wants_n; i++) {
        bool there = false;
        for (uint32_t k = 0; k < n; k++)
            there |= text_equal(list[k].resource, devices->wants[i].resource) && list[k].allocatable > 0;
        if (!there)
            return true;
    }
    return false;
}

/* ---- work and faults ---- */

/* Where a slot's device is, from nvsim's own list; false: it is gone. */
static bool find_device(const struct json *gpus, const char *slot, struct nvsim_work *work)
{
    JSON_EACH (gpu, gpus) {
        const char *uuid = json_get_text(gpu, "uuid", "?");
        work->gpu = (uint32_t)json_get_int64(gpu, "index", 0);
        work->gi = work->ci = ALL;
        if (text_starts(slot, uuid))
            return true;
        JSON_EACH (mig, json_path(gpu, "mig", "devices", NULL))
            if (text_starts(slot, json_get_text(mig, "uuid", "?"))) {
                work->gi = (uint32_t)json_get_int64(mig, "gpuInstance", 0);
                work->ci = (uint32_t)json_get_int64(mig, "computeInstance", 0);
                return true;
            }
    }
    return false;
}

/* Containers of a pod are processes of their own. Init containers have had their time. */
static uint32_t pid_of(uint32_t number, uint32_t container)
{
    return FIRST_PID + number * POD_CONTAINERS_MAX + container;
}

static void work_on(struct real_agent *r, const struct json *gpus, const struct pod_want *want, uint32_t pid,
                    const char *name)
{
    for (uint32_t k = 0; want->slots && k < want->n; k++) {
        struct nvsim_work work = {.pid = pid, .memory_mib = 1024, .sm_permille = 800, .memory_permille = 400};
        struct err e = {0};
        (void)snprintf(work.name, sizeof work.name, "%s", name);
        if (find_device(gpus, want->slots[k], &work) && nvsim_work_start(r->nvsim, &work, &e) < 0)
            log_warning("work not started node=%s device=%s error=\"%s\"", r->node, want->slots[k], e.text);
    }
}

void real_agent_work(struct real_agent *r, const struct fake_kubelet_pod *pod, const struct pod_devices *devices,
                     uint32_t number)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    const char *last = NULL;
    uint32_t containers_n = 0;
    nvsim_list(r->nvsim, &text);
    const struct json *gpus = json_get(json_parse(a, buf_view(&text), NULL, NULL), "gpus");
    for (uint32_t i = 0; i < devices->wants_n; i++) {
        const struct pod_want *want = &devices->wants[i];
        if (want->is_init)
            continue;
        if (!last || !text_equal(last, want->container)) {
            if (containers_n++ == POD_CONTAINERS_MAX)
                break;
            last = want->container;
        }
        const uint32_t pid = pid_of(number, containers_n - 1);
        const struct process_place place = {pod->ns, pod->name, pod->uid, want->container};
        process_tree_add(r->processes, pid, &place, pod->name, loop_wall_ms(r->loop));
        work_on(r, gpus, want, pid, pod->name);
    }
}

void real_agent_work_end(struct real_agent *r, uint32_t number)
{
    for (uint32_t i = 0; i < POD_CONTAINERS_MAX; i++) {
        (void)nvsim_work_stop(r->nvsim, pid_of(number, i), NULL); /* none was started: nothing to stop */
        process_tree_remove(r->processes, pid_of(number, i));
    }
}

/* Work of an earlier run: who still runs is told again. */
static void stop_left_work(struct real_agent *r)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    nvsim_list(r->nvsim, &text);
    JSON_EACH (gpu, json_get(json_parse(a, buf_view(&text), NULL, NULL), "gpus"))
        JSON_EACH (process, json_get(gpu, "processes")) {
            int64_t pid = json_get_int64(process, "pid", 0);
            if (pid >= FIRST_PID)
                (void)nvsim_work_stop(r->nvsim, (uint32_t)pid, NULL); /* on several GPUs: stopped already */
        }
}

static int one_fault(struct real_agent *r, char *text, struct err *e)
{
    const char *kind = NULL, *argument = "";
    int64_t gpu = -1, gi = -1, ci = -1;
    char *save = NULL;
    for (char *part = strtok_r(text, ", ", &save); part; part = strtok_r(NULL, ", ", &save)) {
        char *equal = strchr(part, '=');
        if (equal)
            *equal = '\0';
        if (equal && text_equal(part, "gpu"))
            (void)bytes_int64(bytes_of(equal + 1), &gpu); /* stays -1 */
        else if (equal && text_equal(part, "gi"))
            (void)bytes_int64(bytes_of(equal + 1), &gi);
        else if (equal && text_equal(part, "ci"))
            (void)bytes_int64(bytes_of(equal + 1), &ci);
        else {
            kind = part;
            argument = equal ? equal + 1 : text_equal(part, "ecc") ? "double" : "";
        }
    }
    if (!kind || gpu < 0 || gpu >= r->kind.shape.gpus_n)
        return err_set(e, E_INVALID, "write xid=79,gpu=3 or lost,gpu=0");
    return nvsim_fault(r->nvsim, (uint32_t)gpu, (int)gi, (int)ci, kind, argument, e);
}

void real_agent_seen(struct real_agent *r, const struct json *node)
{
    const char *text = json_text(json_path(node, "metadata", "annotations", "capstan.dev/simulate-fault", NULL), "");
    if (text_equal(text, r->faults ? r->faults : ""))
        return;
    _cleanup_free_ char *copy = mem_text(text);
    char *save = NULL;
    for (char *one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
        struct err e = {0};
        if (one_fault(r, one, &e) < 0)
            log_warning("simulated fault not possible node=%s error=\"%s\"", r->node, e.text);
    }
    for (int32_t i = 0; !*text && i < r->kind.shape.gpus_n; i++)
        (void)nvsim_fault(r->nvsim, (uint32_t)i, -1, -1, "back", "", NULL); /* had none: nothing to clear */
    free(r->faults);
    r->faults = mem_text(text);
}

/* ---- life ---- */

/* The directory's name is kept beside the state, for the start after a kill. */
static int make_sockets(struct real_agent *r, struct err *e)
{
    _cleanup_buf_ struct buf link = {0};
    struct buf template = {0};
    const char *base = getenv("TMPDIR");
    char old[256];
    buf_printf(&link, "%s/sockets", r->dir);
    ssize_t n = readlink(link.data, old, sizeof old - 1);
    if (n > 0) {
        old[n] = '\0';
        if (strstr(old, "/" SOCKETS_NAME))
            folder_remove(old);
        (void)unlink(link.data); /* made anew below */
    }
    buf_printf(&template, "%s/" SOCKETS_NAME "XXXXXX", base && *base && strlen(base) < 40 ? base : "/tmp");
    r->sockets = buf_take(&template, NULL);
    if (!mkdtemp(r->sockets)) {
        int code = err_errno(e, errno, "make directory %s", r->sockets);
        free(r->sockets);
        r->sockets = NULL;
        return code;
    }
    if (symlink(r->sockets, link.data) < 0)
        return err_errno(e, errno, "link %s", link.data);
    _cleanup_buf_ struct buf plugins = {0};
    buf_printf(&plugins, "%s/plugins", r->sockets);
    return folder_make(plugins.data, 0700, e);
}

static int make_directories(struct real_agent *r, struct err *e)
{
    static const char *const names[] = {"state", "cdi", DAEMONS_FOLDER};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof names / sizeof *names; i++) {
        _cleanup_buf_ struct buf path = {0};
        buf_printf(&path, "%s/%s", r->dir, names[i]);
        code = folder_make(path.data, 0700, e);
    }
    return code < 0 ? code : make_sockets(r, e);
}

static int find_library(struct real_agent *r, struct err *e)
{
    static const char *const beside[] = {"libnvsim/libnvidia-ml.so.1", "libnvidia-ml.so.1",
                                         "../lib/capstan/libnvidia-ml.so.1"};
    const char *named = r->config.nvml_path ? r->config.nvml_path : getenv("CAPSTAN_LIBNVSIM");
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return err_errno(e, errno, "find this program");
    self[n] = '\0';
    r->program = mem_text(self);
    if (named && *named) {
        r->nvml_path = realpath(named, NULL);
        return r->nvml_path ? 0 : err_errno(e, errno, "libnvsim %s", named);
    }
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        struct buf path = {0};
        buf_printf(&path, "%s/%s", self, beside[i]);
        r->nvml_path = realpath(path.data, NULL);
        buf_free(&path);
        if (r->nvml_path)
            return 0;
    }
    return err_set(e, E_NOTFOUND,
                   "libnvsim is not beside this program (%s/%s): set CAPSTAN_LIBNVSIM to libnvidia-ml.so.1 of libnvsim",
                   self, beside[0]);
}

static int open_nvsim(struct real_agent *r, struct err *e)
{
    _cleanup_buf_ struct buf dir = {0}, state = {0}, root = {0};
    const struct nvsim_config config = {.model = r->kind.shape.model,
                                        .gpus_n = (uint32_t)r->kind.shape.gpus_n,
                                        .seed_name = r->node,
                                        .driver_version = "580.95.05",
                                        .cuda_version = 13000};
    buf_printf(&dir, "%s/nvsim", r->dir);
    buf_printf(&state, "%s/state", dir.data);
    int code = nvsim_create(dir.data, &config, e);
    if ((code < 0 && code != -E_EXISTS) || (code = nvsim_open(state.data, &r->nvsim, e)) < 0)
        return code;
    buf_printf(&root, "%s/root", dir.data);
    stop_left_work(r);
    return process_tree_new(root.data, loop_wall_ms(r->loop), &r->processes, e);
}

static int start(struct real_agent *r, struct err *e)
{
    end_all_left_behind(r); /* first: an agent would make its sockets again */
    int code = make_directories(r, e);
    if (code < 0 || (code = find_library(r, e)) < 0 || (code = open_nvsim(r, e)) < 0 ||
        (code = make_arguments(r, e)) < 0)
        return code;
    make_environment(r);
    _cleanup_buf_ struct buf plugins = {0}, resources = {0}, page = {0};
    buf_printf(&plugins, "%s/plugins", r->sockets);
    buf_printf(&resources, "%s/pod-resources.sock", r->sockets);
    buf_printf(&page, "%s/metrics.sock", r->sockets);
    const struct fake_kubelet_config kubelet = {plugins.data, resources.data, on_devices, r};
    if ((code = fake_kubelet_new(r->loop, &kubelet, &r->kubelet, e)) < 0 ||
        (code = agent_page_new(r->loop, page.data, &r->page, e)) < 0)
        return code;
    start_agent(r);
    return 0;
}

static char *absolute(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : mem_text(path);
}

int real_agent_new(struct loop *l, const struct real_agent_config *config, struct real_agent **ret_r, struct err *e)
{
    struct real_agent *r = mem_zero(1, sizeof *r);
    r->loop = l;
    r->config = *config;
    r->node = mem_text(config->node_name);
    r->kubeconfig = absolute(config->kubeconfig);
    node_kind_init(&r->kind, config->shape);
    r->arena = arena_new();
    r->written = map_new(1);
    r->again_ms = AGAIN_FIRST_MS;
    r->started_ms = loop_now_ms(l);
    r->again = loop_timer_new(l, start_agent, r);
    r->status_timer = loop_timer_new(l, write_status, r);
    int code = folder_make(config->dir, 0700, e);
    r->dir = absolute(config->dir); /* agents take no other */
    if (code == 0)
        code = start(r, e);
    if (code < 0) {
        err_wrap(e, "real agent of node %s", r->node);
        real_agent_free(r);
        return code;
    }
    *ret_r = r;
    return 0;
}

/* ORDER  once only: at its end the agent has no handler any more, and a second signal would kill it while it saves its books. */
void real_agent_end(struct real_agent *r)
{
    if (r->child && !r->told_to_end)
        loop_child_signal(r->child, SIGTERM);
    r->told_to_end = true;
}

/* WHY  its exit status stays for the loop, which knows the child: WNOWAIT */
static void wait_for_end(const struct real_agent *r)
{
    siginfo_t info = {0};
    for (int i = 0; i < END_WAITS && info.si_pid == 0; i++) {
        if (waitid(P_PID, (id_t)loop_child_pid(r->child), &info, WEXITED | WNOHANG | WNOWAIT) < 0)
            return;
        if (info.si_pid == 0)
            (void)usleep(END_WAIT_US);
    }
}

/* The agent saves its books at the end: it has ten seconds, and needs some milliseconds where nobody else works.
 * What a kill would leave harms nothing (its journal has a checksum a line). */
void real_agent_free(struct real_agent *r)
{
    if (!r)
        return;
    real_agent_end(r);
    if (r->child)
        wait_for_end(r);
    loop_child_forget(r->child);
    end_all_left_behind(r); /* of an agent that did not end in its time */
    kube_client_forget(r->config.client, on_status_written, r);
    agent_page_free(r->page);
    fake_kubelet_free(r->kubelet);
    loop_timer_free(r->again);
    loop_timer_free(r->status_timer);
    process_tree_free(r->processes);
    nvsim_close(r->nvsim);
    if (r->sockets) {
        _cleanup_buf_ struct buf link = {0};
        buf_printf(&link, "%s/sockets", r->dir);
        folder_remove(r->sockets);
        (void)unlink(link.data); /* read at the next start, when it is still there */
    }
    map_free(r->written);
    arena_free(r->arena);
    free(r->faults);
    free(r->node);
    free(r->dir);
    free(r->sockets);
    free(r->nvml_path);
    free(r->program);
    free(r->kubeconfig);
    free(r);
}
