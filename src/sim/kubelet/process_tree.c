/* process_tree.c - see process_tree.h */
#include "sim/kubelet/process_tree.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "sim/folder.h"

#define COMM_BYTES 15 /* SOURCE proc(5): what the kernel keeps of a name */
#define LOG_NAME_BYTES 251 /* before ".log". SOURCE kubelets cut the names of logs there: files have 255 at most */

struct made {
    char *log, *pod_folder, *container_folder;
};
struct process_tree {
    char *root;
    struct map *processes; /* four bytes of the pid -> struct made */
    int64_t boot_s;
    long ticks_per_s;
};

static struct bytes pid_key(const uint32_t *pid)
{
    return (struct bytes){(const char *)pid, sizeof *pid};
}

static void made_fini(struct made *m)
{
    free(m->log);
    free(m->pod_folder);
    free(m->container_folder);
}

/* ---- what an earlier run has left ---- */

static void remove_left_processes(const char *proc)
{
    DIR *d = opendir(proc);
    int64_t pid;
    for (struct dirent *x; d && (x = readdir(d));) {
        _cleanup_buf_ struct buf path = {0};
        if (!bytes_int64(bytes_of(x->d_name), &pid))
            continue; /* driver, stat, ... */
        buf_printf(&path, "%s/%s", proc, x->d_name);
        folder_remove(path.data);
    }
    if (d)
        (void)closedir(d); /* only read */
}

int process_tree_new(const char *root, int64_t wall_ms, struct process_tree **ret_t, struct err *e)
{
    static const char *const logs[] = {"containers", "pods"};
    _cleanup_buf_ struct buf proc = {0}, stat = {0}, text = {0};
    buf_printf(&proc, "%s/proc", root);
    int r = folder_make(proc.data, 0755, e);
    for (int i = 0; r == 0 && i < 2; i++) {
        _cleanup_buf_ struct buf path = {0};
        buf_printf(&path, "%s/var/log/%s", root, logs[i]);
        folder_remove(path.data);
        r = folder_make(path.data, 0755, e);
    }
    remove_left_processes(proc.data);
    int64_t boot_s = wall_ms / 1000;
    buf_printf(&stat, "%s/stat", proc.data);
    buf_printf(&text, "cpu  0 0 0 0 0 0 0 0 0 0\nbtime %lld\n", (long long)boot_s);
    if (r < 0 || (r = folder_write_file(stat.data, 0644, buf_view(&text), e)) < 0)
        return r;
    struct process_tree *t = mem_zero(1, sizeof *t);
    *t = (struct process_tree){mem_text(root), map_new(sizeof(struct made)), boot_s, sysconf(_SC_CLK_TCK)};
    *ret_t = t;
    return 0;
}

void process_tree_free(struct process_tree *t)
{
    if (!t)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct made *m; (m = map_next(t->processes, &at, &key));)
        made_fini(m);
    map_free(t->processes);
    free(t->root);
    free(t);
}

/* ---- one process ---- */

/* 64 hexadecimal digits, as runtimes make them. */
static void container_id(const struct process_place *p, char ret_id[65])
{
    for (int i = 0; i < 4; i++)
        (void)snprintf(ret_id + 16 * i, 17, "%016llx",
                       (unsigned long long)hash_bytes(p->uid, strlen(p->uid),
                                                      hash_bytes(p->container, strlen(p->container), (uint64_t)i)));
}

static void write_part(const char *folder, const char *name, const char *text)
{
    _cleanup_buf_ struct buf path = {0};
    struct err e = {0};
    buf_printf(&path, "%s/%s", folder, name);
    if (folder_write_file(path.data, 0644, bytes_of(text), &e) < 0)
        log_warning("made up process is not shown error=\"%s\"", e.text);
}

static void write_process(const struct process_tree *t, const char *folder, uint32_t pid, const struct process_place *p,
                          const char *command, const char *id, int64_t wall_ms)
{
    _cleanup_buf_ struct buf stat = {0}, cgroup = {0}, uid = {0};
    long long ticks = (wall_ms - t->boot_s * 1000) * t->ticks_per_s / 1000;
    buf_printf(&stat, "%u (%.*s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %lld 0 0\n", pid, COMM_BYTES, command, ticks);
    buf_text(&uid, p->uid);
    for (size_t i = 0; i < uid.n; i++)
        if (uid.data[i] == '-')
            uid.data[i] = '_';
    buf_printf(&cgroup,
               "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod%s.slice/cri-containerd-%s.scope\n",
               buf_view(&uid).data, id);
    write_part(folder, "stat", stat.data);
    write_part(folder, "cmdline", command); /* without the NUL at its end, as processes may set it */
    write_part(folder, "cgroup", cgroup.data);
}

void process_tree_add(struct process_tree *t, uint32_t pid, const struct process_place *p, const char *command,
                      int64_t wall_ms)
{
    _cleanup_buf_ struct buf name = {0}, log = {0}, pod = {0}, container = {0}, folder = {0};
    char id[65];
    struct err e = {0};
    process_tree_remove(t, pid);
    container_id(p, id);
    buf_printf(&name, "%s_%s_%s-%s", p->pod, p->ns, p->container, id);
    buf_printf(&log, "%s/var/log/containers/%.*s.log", t->root, LOG_NAME_BYTES, name.data);
    buf_printf(&pod, "%s/var/log/pods/%s_%s_%s", t->root, p->ns, p->pod, p->uid);
    buf_printf(&container, "%s/%s", pod.data, p->container);
    buf_printf(&folder, "%s/proc/%u", t->root, pid);
    if (folder_make(container.data, 0755, &e) < 0 || folder_write_file(log.data, 0644, bytes_of(""), &e) < 0)
        log_warning("made up process is shown without the names of its container error=\"%s\"", e.text);
    if (folder_make(folder.data, 0755, &e) < 0)
        log_warning("made up process is not shown error=\"%s\"", e.text);
    else
        write_process(t, folder.data, pid, p, command, id, wall_ms);
    struct made *m = map_put(t->processes, pid_key(&pid), NULL);
    *m = (struct made){buf_take(&log, NULL), buf_take(&pod, NULL), buf_take(&container, NULL)};
}

void process_tree_remove(struct process_tree *t, uint32_t pid)
{
    struct made *m = map_find(t->processes, pid_key(&pid));
    _cleanup_buf_ struct buf folder = {0};
    if (!m)
        return;
    buf_printf(&folder, "%s/proc/%u", t->root, pid);
    folder_remove(folder.data);
    (void)unlink(m->log);             /* not there: it could not be written */
    (void)rmdir(m->container_folder); /* likewise */
    (void)rmdir(m->pod_folder);       /* stays while another container runs */
    made_fini(m);
    (void)map_remove(t->processes, pid_key(&pid)); /* it is there */
}
