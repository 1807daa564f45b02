/* agent_health.c - carries out what health.c orders, and reports processes on devices that their pod was not given
 *
 * WHY  The list of processes costs a call on every GPU: it is asked for each second only while something is not healthy or was told of
 *      lately (who is at fault, is anybody still on the GPU), else every PROCESSES_MS.
 */
#include <stdio.h>
#include <unistd.h>
#include "agent/agent_parts.h"
#include "agent/health/kernel_log.h"
#include "agent/inventory/pod_cgroup.h"
#include "base/collections/map.h"
#include "base/log.h"

#define PROCESSES_MS 15000
#define ATTENTION_MS 30000 /* after an event */
#define REPORTED_MAX 64
#define PODS_SEEN 256
#define POD_SEEN_MS 60000 /* so long a number is not given to another process, or a newer list says so */

struct reset {
    struct agent *agent;
    struct reset *next;
    char uuid[48];
};
struct pod_seen { /* a process that may be gone when it is asked for */
    uint32_t pid;
    char uid[40];
    int64_t at_ms;
};
struct agent_health {
    struct health *machine;
    struct kernel_log *log; /* NULL: not to be read */
    struct pod_seen *seen; /* PODS_SEEN of them, by pid % PODS_SEEN; NULL: fed */
    struct reset *resets;
    int64_t attention_until_ms, processes_ms;
    bool asking;
    char own_uid[40];
    uint64_t reported[REPORTED_MAX]; /* (pid, device) that were said lately */
    uint32_t reported_n;
};

static void on_reset(void *arg, int code, const struct err *e)
{
    struct reset *r = arg;
    struct agent *a = r->agent;
    struct reset **at = &a->health->resets;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (code < 0)
        agent_log(a, LOG_WARNING, "GPU not reset gpu=%s error=\"%s\"", r->uuid, e->text);
    else
        agent_log(a, LOG_INFO, "GPU reset gpu=%s", r->uuid);
    if (code == 0)
        a->above->gpu_reset(a);
    health_reset_done(a->health->machine, r->uuid, code, loop_now_ms(a->loop));
    a->above->read_now(a);
    free(r);
}

static void act_reset(struct agent *a, const struct health_order *o)
{
    struct reset *r = mem_zero(1, sizeof *r);
    r->agent = a;
    (void)snprintf(r->uuid, sizeof r->uuid, "%s", o->gpu_uuid);
    r->next = a->health->resets;
    a->health->resets = r;
    agent_log(a, LOG_INFO, "resetting GPU gpu=%s", o->gpu_uuid);
    if (a->o.feed && a->o.feed->driver_changes)
        a->o.feed->driver_changes(a->o.feed->arg);
    driver_reset(a->driver, o->gpu_uuid, on_reset, r);
}

/* The uid of the pod that a process is in; "": none. NULL: it is gone. Good until the next call. */
static const char *pod_uid(struct agent *a, uint32_t pid)
{
    struct pod_cgroup where;
    int r = pod_cgroup_read(a->o.root ? a->o.root : "", pid, &where);
    if (r < 0)
        return NULL;
    struct pod_seen *seen = &a->health->seen[pid % PODS_SEEN];
    *seen = (struct pod_seen){.pid = pid, .at_ms = loop_now_ms(a->loop)};
    if (r == 1)
        memcpy(seen->uid, where.uid, sizeof seen->uid);
    return seen->uid;
}

static const char *pod_uid_lately(struct agent *a, uint32_t pid)
{
    const char *uid = pod_uid(a, pid);
    const struct pod_seen *seen = &a->health->seen[pid % PODS_SEEN];
    if (!uid && seen->pid == pid && loop_now_ms(a->loop) - seen->at_ms < POD_SEEN_MS)
        uid = seen->uid;
    return uid ? uid : "";
}

/* The pods that an application error is blamed on learn of it themselves. */
static void tell_pods(struct agent *a, const struct health_order *o)
{
    for (uint32_t i = 0; i < o->pids_n && !a->o.feed; i++) {
        const struct agent_pod *pod = agent_pods_by_uid(a, pod_uid_lately(a, o->pids[i]));
        if (pod)
            agent_pod_event(a, pod->ns, pod->name, pod->uid, true, "GPUApplicationError", o->text);
    }
}

static void act_event(struct agent *a, const struct health_order *o)
{
    agent_log(a, o->warning ? LOG_WARNING : LOG_INFO, "health gpu=%s xid=%u text=\"%s\"", o->gpu_uuid, o->xid, o->text);
    agent_node_event(a, o->warning, o->xid ? "GPUError" : "GPUHealth", o->text);
    tell_pods(a, o);
}

static void carry_out(struct agent *a)
{
    struct health_order o;
    while (health_next(a->health->machine, &o)) {
        switch (o.act) {
        case HEALTH_SET:
            agent_log(a, LOG_INFO, "health gpu=%s gi=%d ci=%d state=%s xid=%u", o.gpu_uuid, (int)o.gi, (int)o.ci,
                      unit_health_name(o.health), o.xid);
            inventory_set_health(a->inventory, o.gpu_uuid, o.gi, o.ci, o.health, o.xid);
            break;
        case HEALTH_RESET:
            act_reset(a, &o);
            break;
        case HEALTH_EVENT:
            act_event(a, &o);
            break;
        case HEALTH_NOTHING:
            break;
        }
    }
}

/* ---- unauthorised use ---- */

static bool pod_of(void *ctx, uint32_t pid, struct process_pod *ret_pod)
{
    struct agent *a = ctx;
    const char *uid = pod_uid(a, pid);
    if (!uid || !*uid || text_equal(uid, a->health->own_uid))
        return false;
    *ret_pod = (struct process_pod){0};
    (void)snprintf(ret_pod->uid, sizeof ret_pod->uid, "%s", uid);
    const struct agent_pod *pod = agent_pods_by_uid(a, uid);
    if (pod) {
        ret_pod->ns = pod->ns;
        ret_pod->name = pod->name;
    }
    return true;
}

static bool reported_before(struct agent_health *h, uint32_t pid, const char *device)
{
    uint64_t hash = hash_bytes(device, strlen(device), pid);
    for (uint32_t i = 0; i < REPORTED_MAX && i < h->reported_n; i++)
        if (h->reported[i] == hash)
            return true;
    h->reported[h->reported_n++ % REPORTED_MAX] = hash;
    return false;
}

static void report_unauthorised(struct agent *a, const struct driver_process *list, uint32_t n)
{
    struct arena *m = arena_new();
    struct unauthorised *found = NULL;
    uint32_t found_n = health_unauthorised(m, inventory_now(a->inventory), list, n, false, pod_of, a, &found);
    for (uint32_t i = 0; i < found_n; i++) {
        const struct unauthorised *u = &found[i];
        if (reported_before(a->health, u->pid, u->device))
            continue;
        log_warning("unauthorised use of a device pid=%u device=%s pod=%s/%s uid=%s", u->pid, u->device, u->ns, u->pod, u->uid);
        const char *text = arena_printf(m, "process %u%s%s%s%s uses %s, which it was not given", u->pid, *u->pod ? " of pod " : "",
                                        u->ns, *u->pod ? "/" : "", u->pod, u->device);
        agent_node_event(a, true, "GPUUnauthorisedUse", text);
        const struct agent_pod *pod = agent_pods_by_uid(a, u->uid);
        if (pod)
            agent_pod_event(a, pod->ns, pod->name, pod->uid, true, "GPUUnauthorisedUse", text);
    }
    arena_free(m);
}

/* ---- in and out ---- */

void agent_health_event(struct agent *a, const struct driver_event *event)
{
    int64_t now_ms = loop_now_ms(a->loop);
    a->health->attention_until_ms = now_ms + ATTENTION_MS;
    health_event(a->health->machine, event, inventory_now(a->inventory), now_ms);
    carry_out(a);
}

bool agent_health_is_news(struct agent *a, const struct driver_event *event)
{
    return !a->health->log || kernel_log_is_news(a->health->log, event, loop_now_ms(a->loop));
}

bool agent_health_is_faulty(const struct agent *a, const struct unit *u)
{
    return health_is_faulty(a->health->machine, u);
}

static void read_kernel_log(struct agent *a)
{
    struct agent_health *h = a->health;
    struct driver_event event;
    bool known;
    kernel_log_read(h->log, inventory_now(a->inventory)->reading, loop_now_ms(a->loop));
    while (kernel_log_next(h->log, loop_now_ms(a->loop), &event, &known)) {
        if (known) {
            health_culprit(h->machine, &event);
            continue;
        }
        static const char *const severities[] = {
            [DRIVER_SEVERITY_UNSAID] = "", [DRIVER_SEVERITY_FATAL] = " severity=fatal", [DRIVER_SEVERITY_NONFATAL] = " severity=nonfatal"};
        log_warning("XID after a look at the kernel's log gpu=%s xid=%llu pid=%u%s", event.uuid, (unsigned long long)event.data, event.pid,
                    severities[event.severity]);
        a->above->gpu_event(a, &event);
    }
}

static void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e)
{
    struct agent *a = arg;
    (void)e; /* a driver that does not answer is said where it is read */
    a->health->asking = false;
    health_tick(a->health->machine, inventory_now(a->inventory), list, code < 0 ? HEALTH_PROCESSES_UNKNOWN : n, loop_now_ms(a->loop));
    carry_out(a);
    if (code == 0 && !a->o.feed && inventory_now(a->inventory)->owners_known)
        report_unauthorised(a, list, n);
}

static bool all_healthy(const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; i < s->units_n; i++)
        if (s->units[i].health != UNIT_HEALTHY)
            return false;
    return true;
}

bool agent_health_attends(const struct agent *a)
{
    return loop_now_ms(a->loop) < a->health->attention_until_ms || a->health->resets || !all_healthy(inventory_now(a->inventory));
}

static void look_at_processes(struct agent *a)
{
    a->health->asking = true;
    if (!a->o.feed) {
        driver_processes(a->driver, on_processes, a);
        return;
    }
    struct driver_process *list = NULL;
    uint32_t n = a->o.feed->processes ? a->o.feed->processes(a->o.feed->arg, &list) : 0;
    on_processes(a, 0, list, n, NULL);
    free(list);
}

void agent_fed_repaired(struct agent *a, const char *text)
{
    const struct driver_reading *r = driver_reading_ref(inventory_now(a->inventory)->reading);
    health_free(a->health->machine);
    a->health->machine = health_new(a->o.health_disable, a->o.health_enable);
    for (uint32_t i = 0; i < r->gpus_n; i++)
        inventory_set_health(a->inventory, r->gpus[i].uuid, HEALTH_WHOLE, HEALTH_WHOLE, UNIT_HEALTHY, 0);
    driver_reading_unref(r);
    agent_node_event(a, false, "GPUHealth", text);
}

void agent_health_tick(struct agent *a)
{
    struct agent_health *h = a->health;
    int64_t now_ms = loop_now_ms(a->loop);
    const struct inventory_snapshot *s = inventory_now(a->inventory);
    if (s->units_n > 0 && h->log)
        read_kernel_log(a);
    s = inventory_now(a->inventory);
    if (h->asking || s->units_n == 0)
        return;
    bool due = now_ms - h->processes_ms >= PROCESSES_MS;
    if (due || now_ms < h->attention_until_ms || !all_healthy(s)) {
        h->processes_ms = now_ms;
        look_at_processes(a);
    } else {
        health_tick(h->machine, s, NULL, HEALTH_PROCESSES_UNKNOWN, now_ms);
        carry_out(a);
    }
}

/* The kernel's identity of this boot differs from that of the last run. */
static bool was_rebooted(struct agent *a)
{
    char path[512], id[64] = "";
    (void)snprintf(path, sizeof path, "%s/proc/sys/kernel/random/boot_id", a->o.root ? a->o.root : "");
    FILE *f = fopen(path, "re");
    if (f) {
        if (fgets(id, sizeof id, f))
            id[strcspn(id, "\n")] = '\0';
        (void)fclose(f);
    }
    const char *old = inventory_intent(a->inventory, "boot");
    bool rebooted = old && *id && !text_equal(old, id);
    if (*id && (!old || rebooted))
        (void)inventory_intent_set(a->inventory, "boot", id, NULL); /* not kept: asked again at the next start */
    return rebooted;
}

void agent_health_new(struct agent *a)
{
    struct agent_health *h = a->health = mem_zero(1, sizeof *h);
    h->machine = health_new(a->o.health_disable, a->o.health_enable);
    if (a->o.feed)
        return;
    h->seen = mem_zero(PODS_SEEN, sizeof *h->seen);
    if (a->o.state_dir && was_rebooted(a))
        health_rebooted(h->machine);
    struct pod_cgroup own;
    if (!loop_is_virtual(a->loop) && pod_cgroup_read("", (uint32_t)getpid(), &own) == 1)
        (void)snprintf(h->own_uid, sizeof h->own_uid, "%s", own.uid);
    struct err e = {0};
    if (a->o.kernel_log && kernel_log_open(a->o.kernel_log, &h->log, &e) < 0)
        log_info("XIDs come from the driver alone error=\"%s\"", e.text);
}

/* After the driver is gone no answers come any more. */
void agent_health_free(struct agent *a)
{
    struct agent_health *h = a->health;
    if (!h)
        return;
    for (struct reset *r = h->resets, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    kernel_log_free(h->log);
    free(h->seen);
    health_free(h->machine);
    free(h);
    a->health = NULL;
}
