/* pods.c - processes as /proc has them, kept by (pid, start time), with the names of their containers
 *
 * WHY    A known process costs one stat(2) of /proc/<pid>: the kernel makes that folder anew for another process of the same number, with
 *        another inode. Elsewhere than on procfs (tests, copies) it is the stat file in that folder, by inode, time and size; one that was
 *        written a moment ago is read again, since a file's time has a grain.
 */
#include "exporter/collect/pods.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "agent/inventory/pod_cgroup.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/collect/pods_parts.h"

#define PROC_MAGIC 0x9fa0
#define AGAIN_ROUNDS 64 /* a kept process is read again after so many collections */
#define COMM_CUT 15     /* bytes that the kernel keeps of a name */
#define COMM_MAX 72
#define GRAIN_NS 100000000
#define MISMATCH_MIN 3 /* so many unknown processes at once are no accident; fewer have to be so twice */

/* What tells that a number is another process now. */
struct identity {
    uint64_t inode;
    int64_t changed_ns, size; /* procfs: 0 */
    bool is_fresh;            /* written just before it was looked at */
};
struct process {
    struct identity identity;
    uint64_t start_ticks;
    uint64_t round;             /* last asked for */
    uint64_t names_at;          /* what was known of logs and watch when it was looked up in vain */
    char *ns, *pod, *container; /* NULL: not known (yet) */
    char command[PODS_COMMAND_BYTES + 4];
    struct pod_cgroup where;
};
struct pods {
    struct loop *loop;
    char *root;
    struct map *processes; /* four bytes of the pid -> struct process * */
    struct pods_logs *logs;
    struct pods_watch *watch; /* NULL: none */
    int64_t boot_s;           /* 0 unknown */
    long ticks_per_s;
    int proc; /* folder; -1 */
    bool is_procfs;
    uint64_t round;
    uint32_t asked_n, found_n, unseen_rounds_n;
    bool (*process_of)(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                       struct pod_names *ret_names);
    bool (*pod_of)(void *arg, const char *ns, const char *pod, struct pod_names *ret_names);
    void *arg; /* of process_of, pod_of */
};

/* ---- files of /proc ---- */

static ssize_t file_read(int folder, const char *path, char *text, size_t size)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, size - 1);
    (void)close(fd);
    if (n >= 0)
        text[n] = '\0';
    return n;
}

static int64_t boot_time_s(int proc)
{
    static const char mark[] = "\nbtime ";
    char text[4096];
    int fd = proc < 0 ? -1 : openat(proc, "stat", O_RDONLY | O_CLOEXEC);
    size_t kept = 0;
    int64_t found = 0;
    while (fd >= 0 && !found) { /* the line may lie across two readings: its beginning is kept */
        ssize_t n = read(fd, text + kept, sizeof text - 1 - kept);
        if (n <= 0)
            break;
        size_t have = kept + (size_t)n;
        text[have] = '\0';
        const char *at = strstr(text, mark);
        if (at && strchr(at + 1, '\n'))
            found = strtoll(at + sizeof mark - 1, NULL, 10);
        kept = have < 64 ? have : 64;
        memmove(text, text + have - kept, kept);
    }
    if (fd >= 0)
        (void)close(fd);
    return found;
}

/* The name in a stat line, where the kernel has written newlines and backslashes as "\n" and "\\". */
static void comm_take(const char *from, const char *end, char ret_comm[COMM_MAX])
{
    size_t n = 0;
    for (; from < end && n < COMM_MAX - 1; from++) {
        bool escaped = *from == '\\' && from + 1 < end && (from[1] == 'n' || from[1] == '\\');
        ret_comm[n++] = escaped && *++from == 'n' ? '\n' : *from;
    }
    ret_comm[n] = '\0';
}

/* Field 22 of /proc/<pid>/stat, and field 2, which may hold anything; false: gone.
 * WHY  the name from here and not from /proc/<pid>/comm: opening a file of /proc is what a process costs. */
static bool stat_read(const struct pods *p, uint32_t pid, uint64_t *ret_ticks, char ret_comm[COMM_MAX])
{
    char path[32], text[1024];
    (void)snprintf(path, sizeof path, "%u/stat", pid);
    if (file_read(p->proc, path, text, sizeof text) <= 0)
        return false;
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    if (!name || !at || at[1] != ' ')
        return false;
    comm_take(name + 1, at, ret_comm);
    at += 2;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    *ret_ticks = strtoull(at, NULL, 10);
    return true;
}

/* File name of argv[0] when it continues the name that the kernel has cut. */
static size_t whole_name(const struct pods *p, uint32_t pid, const char *comm, char *text, size_t size)
{
    char path[32];
    (void)snprintf(path, sizeof path, "%u/cmdline", pid);
    if (file_read(p->proc, path, text, size) <= 0)
        return 0;
    const char *slash = strrchr(text, '/'); /* text ends with argv[0] */
    size_t n = slash ? strlen(slash + 1) : strlen(text);
    if (slash)
        memmove(text, slash + 1, n + 1);
    return strncmp(text, comm, COMM_CUT) == 0 ? n : 0;
}

static void command_set(const struct pods *p, uint32_t pid, const char *comm, char ret_command[PODS_COMMAND_BYTES + 4])
{
    char argv[1024];
    struct bytes name = bytes_of(comm);
    size_t whole_n = name.n == COMM_CUT ? whole_name(p, pid, comm, argv, sizeof argv) : 0;
    if (whole_n > 0)
        name = (struct bytes){argv, whole_n};
    _cleanup_buf_ struct buf clean = {0};
    prometheus_clean(&clean, name, PODS_COMMAND_BYTES);
    (void)snprintf(ret_command, PODS_COMMAND_BYTES + 4, "%s", clean.data ? clean.data : "");
}

/* ---- names ---- */

static void names_keep(struct process *x, const char *ns, const char *pod, const char *container)
{
    x->ns = mem_text(ns);
    x->pod = mem_text(pod);
    x->container = mem_text(container ? container : "");
}

static void names_look_up(struct pods *p, struct process *x)
{
    uint64_t known = pods_logs_generation(p->logs) + pods_watch_generation(p->watch) + 1;
    struct pod_names names;
    if (x->ns || (!*x->where.uid && !*x->where.container) || x->names_at == known)
        return;
    x->names_at = known;
    const struct watched_pod *watched = pods_watch_uid(p->watch, x->where.uid);
    if (pods_logs_container(p->logs, x->where.container, &names) || pods_logs_uid(p->logs, x->where.uid, &names))
        names_keep(x, names.ns, names.pod, names.container);
    else if (watched)
        names_keep(x, watched->ns, watched->name, "");
}

static void names_drop(struct process *x)
{
    free(x->ns);
    free(x->pod);
    free(x->container);
    x->ns = x->pod = x->container = NULL;
}

static void process_free(struct process *x)
{
    names_drop(x);
    free(x);
}

/* ---- processes ---- */

static struct bytes pid_key(const uint32_t *pid)
{
    return (struct bytes){(const char *)pid, sizeof *pid};
}

static void process_forget(struct pods *p, uint32_t pid)
{
    struct process **x = map_find(p->processes, pid_key(&pid));
    if (!x)
        return;
    process_free(*x);
    (void)map_remove(p->processes, pid_key(&pid));
}

/* NULL: gone. */
static struct process *process_read(struct pods *p, uint32_t pid, const struct identity *identity)
{
    uint64_t ticks;
    char comm[COMM_MAX];
    struct pod_cgroup where;
    if (!stat_read(p, pid, &ticks, comm) || pod_cgroup_read(p->root, pid, &where) == -E_NOTFOUND) {
        process_forget(p, pid);
        return NULL;
    }
    bool is_new;
    struct process **slot = map_put(p->processes, pid_key(&pid), &is_new);
    if (is_new)
        *slot = mem_zero(1, sizeof **slot);
    struct process *x = *slot;
    if (x->start_ticks != ticks || memcmp(&x->where, &where, sizeof where) != 0) {
        names_drop(x);
        x->names_at = 0;
    }
    x->identity = *identity;
    x->start_ticks = ticks;
    x->where = where;
    command_set(p, pid, comm, x->command);
    return x;
}

/* False: gone. */
static bool identity_read(const struct pods *p, uint32_t pid, struct identity *ret)
{
    char path[24];
    struct stat st;
    (void)snprintf(path, sizeof path, p->is_procfs ? "%u" : "%u/stat", pid);
    if (p->proc < 0 || fstatat(p->proc, path, &st, 0) != 0)
        return false;
    *ret = (struct identity){.inode = (uint64_t)st.st_ino};
    if (p->is_procfs)
        return true;
    struct timespec now;
    ret->changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    ret->size = (int64_t)st.st_size;
    int64_t now_ns =
        clock_gettime(CLOCK_REALTIME, &now) == 0 ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : ret->changed_ns;
    ret->is_fresh = now_ns - ret->changed_ns < GRAIN_NS;
    return true;
}

static bool identity_same(const struct identity *kept, const struct identity *now)
{
    return kept->inode == now->inode && kept->changed_ns == now->changed_ns && kept->size == now->size &&
           !kept->is_fresh;
}

static struct process *process_get(struct pods *p, uint32_t pid)
{
    struct identity identity;
    if (!identity_read(p, pid, &identity)) {
        process_forget(p, pid);
        return NULL;
    }
    struct process **known = map_find(p->processes, pid_key(&pid));
    bool again = (p->round + pid) % AGAIN_ROUNDS == 0;
    if (known && !again && identity_same(&(*known)->identity, &identity))
        return *known;
    return process_read(p, pid, &identity);
}

void pods_begin(struct pods *p)
{
    size_t at = 0;
    struct bytes key;
    p->unseen_rounds_n = p->asked_n > 0 && p->found_n == 0 ? p->unseen_rounds_n + 1 : 0;
    p->asked_n = p->found_n = 0;
    p->round++;
    pods_logs_look(p->logs, loop_wall_ms(p->loop));
    for (struct process **x; (x = map_next(p->processes, &at, &key));)
        if ((*x)->round + 2 < p->round) {
            process_free(*x);
            (void)map_remove(p->processes, key);
        }
}

static const char *text_or_empty(struct arena *a, const char *text)
{
    return text ? arena_text(a, text) : "";
}

static bool process_simulated(struct pods *p, struct arena *a, uint32_t pid, struct pod_process *ret)
{
    struct pod_names n = {NULL, NULL, NULL, NULL, NULL};
    const char *command = NULL;
    if (!p->process_of(p->arg, pid, &command, &ret->start_s, &n))
        return false;
    p->found_n++;
    ret->command = text_or_empty(a, command);
    ret->start_ticks = (uint64_t)(ret->start_s * 100);
    ret->names = (struct pod_names){text_or_empty(a, n.ns), text_or_empty(a, n.pod), text_or_empty(a, n.container),
                                    text_or_empty(a, n.uid), text_or_empty(a, n.queue)};
    return true;
}

bool pods_process(struct pods *p, struct arena *a, uint32_t pid, struct pod_process *ret)
{
    p->asked_n++;
    *ret = (struct pod_process){.command = "", .names = {"", "", "", "", ""}};
    if (p->process_of)
        return process_simulated(p, a, pid, ret);
    struct process *x = process_get(p, pid);
    if (!x)
        return false;
    p->found_n++;
    x->round = p->round;
    names_look_up(p, x);
    const struct watched_pod *watched = pods_watch_uid(p->watch, x->where.uid);
    if (!watched && x->ns) /* static pods have another uid in their cgroup than in the API */
        watched = pods_watch_name(p->watch, x->ns, x->pod);
    ret->command = arena_text(a, x->command);
    ret->start_ticks = x->start_ticks;
    if (p->boot_s > 0 && p->ticks_per_s > 0)
        ret->start_s = (double)p->boot_s + (double)x->start_ticks / (double)p->ticks_per_s;
    ret->names = (struct pod_names){.ns = text_or_empty(a, x->ns),
                                    .pod = text_or_empty(a, x->pod),
                                    .container = text_or_empty(a, x->container),
                                    .uid = arena_text(a, watched ? watched->uid : x->where.uid),
                                    .queue = watched ? arena_text(a, watched->queue) : ""};
    return true;
}

bool pods_pod(struct pods *p, struct arena *a, const char *ns, const char *pod, struct pod_names *ret_names,
              const struct prometheus_label **ret_labels, uint32_t *ret_labels_n)
{
    struct pod_names told = {"", "", "", "", "", "", ""};
    if (p->pod_of && p->pod_of(p->arg, ns, pod, &told)) {
        *ret_labels = NULL;
        *ret_labels_n = 0;
        *ret_names = (struct pod_names){arena_text(a, ns), arena_text(a, pod), "", text_or_empty(a, told.uid),
                                        text_or_empty(a, told.queue), text_or_empty(a, told.job), text_or_empty(a, told.user)};
        return true;
    }
    const struct watched_pod *watched = pods_watch_name(p->watch, ns, pod);
    const char *uid = watched ? watched->uid : pods_logs_uid_of(p->logs, ns, pod);
    *ret_labels = NULL;
    *ret_labels_n = 0;
    *ret_names = (struct pod_names){arena_text(a, ns), arena_text(a, pod), "", uid ? arena_text(a, uid) : "", "", "", ""};
    if (!watched)
        return uid != NULL;
    struct prometheus_label *labels = arena_zero(a, watched->labels_n + 1, sizeof *labels);
    for (uint32_t i = 0; i < watched->labels_n; i++)
        labels[i] =
            (struct prometheus_label){arena_text(a, watched->labels[i].name), arena_text(a, watched->labels[i].value)};
    ret_names->queue = arena_text(a, watched->queue);
    ret_names->job = arena_text(a, watched->job);
    ret_names->user = arena_text(a, watched->user);
    *ret_labels = labels;
    *ret_labels_n = watched->labels_n;
    return true;
}

bool pods_pid_namespace_mismatch(const struct pods *p)
{
    return p->asked_n > 0 && p->found_n == 0 && (p->asked_n >= MISMATCH_MIN || p->unseen_rounds_n > 0);
}

void pods_clock_set(struct pods *p)
{
    p->boot_s = boot_time_s(p->proc);
}

/* ---- life ---- */

struct pods *pods_new(struct loop *l, const struct pods_config *config)
{
    struct pods *p = mem_zero(1, sizeof *p);
    struct statfs fs;
    _cleanup_buf_ struct buf path = {0};
    p->loop = l;
    p->root = mem_text(config->root ? config->root : "");
    p->process_of = config->process_of;
    p->pod_of = config->pod_of;
    p->arg = config->arg;
    p->processes = map_new(sizeof(struct process *));
    p->logs = pods_logs_new(p->root);
    if (config->client)
        p->watch = pods_watch_new(config);
    buf_printf(&path, "%s/proc", p->root);
    p->proc = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p->is_procfs = p->proc >= 0 && fstatfs(p->proc, &fs) == 0 && fs.f_type == PROC_MAGIC;
    p->boot_s = boot_time_s(p->proc);
    p->ticks_per_s = sysconf(_SC_CLK_TCK);
    return p;
}

void pods_free(struct pods *p)
{
    if (!p)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct process **x; (x = map_next(p->processes, &at, &key));)
        process_free(*x);
    map_free(p->processes);
    pods_logs_free(p->logs);
    pods_watch_free(p->watch);
    if (p->proc >= 0)
        (void)close(p->proc);
    free(p->root);
    free(p);
}
