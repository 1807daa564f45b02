/* requeue.c - capstan requeue, capstan move: back into the line, and into that of another queue */
#include "cli/cli.h"
#include "cli/drive/drive.h"
#include "cli/drive/queue_missing.h"
#include "cli/lookup/pod_group.h"
#include "kube/object.h"

#define ACTIVE "{\"spec\":{\"active\":true}}"
#define INACTIVE "{\"spec\":{\"active\":false}}"

/* Its quota and its pods are given back; it stays so until somebody sets it active again. */
static int put_aside(struct drive *d, struct err *e)
{
    if (drive_patch_workload(d, INACTIVE, e) < 0)
        return -e->code;
    if (drive_wait(d, drive_gave_back, "it has not given back what it held", e) < 0)
        return err_wrap(e, "it is held now, and 'capstan resume' lets it go on");
    return 0;
}

static int suspend_and_resume(struct drive *d, struct err *e)
{
    if (drive_suspend(d, true, e) < 0)
        return -e->code;
    if (drive_wait(d, drive_gave_back, "its pods have not ended", e) < 0)
        return err_wrap(e, "it is held now, and 'capstan resume' lets it go on");
    return drive_suspend(d, false, e);
}

static int requeue(struct drive *d, struct err *e)
{
    if (drive_is_over(d))
        return err_set(e, E_CONFLICT, "it is over");
    d->said = "it waits already";
    if (!drive_runs(d))
        return 0;
    if (drive_may_stop(d, true, "requeue", e) < 0)
        return -e->code;
    d->said = "requeued: its pods have ended, and it waits in its queue";
    if (d->kind == JOB_KIND_VCJOB)
        d->said = "requeued: it restarts";
    if (d->kind == JOB_KIND_VCJOB)
        return drive_command(d, "RestartJob", e);
    if (!d->workload) {
        d->said = "requeued: its pods have ended, and new ones are made";
        return suspend_and_resume(d, e);
    }
    return put_aside(d, e) < 0 ? -e->code : drive_patch_workload(d, ACTIVE, e);
}

int requeue_main(const struct options *o)
{
    return drive_each(o, requeue);
}

/* ---- move ---- */

/* WHY  a job in a queue that is not there waits for ever, and nothing refuses it. Who may not read queues is believed. */
static int check_queue(struct drive *d, const char *queue, struct err *e)
{
    struct err one = {0};
    bool volcano = d->kind == JOB_KIND_VCJOB || d->kind == JOB_KIND_VOLCANO_GROUP;
    const char *path = volcano ? kube_path(d->a, "scheduling.volcano.sh", "v1beta1", "queues", NULL, queue, NULL)
                               : kube_path(d->a, "kueue.x-k8s.io", "v1beta2", "localqueues", d->c->ns, queue, NULL);
    if (connection_get(d->c, d->a, path, &one) || one.code == E_DENIED)
        return 0;
    if (one.code != E_NOTFOUND) {
        *e = one;
        return -one.code;
    }
    if (volcano)
        return err_set(e, E_NOTFOUND, "there is no Queue of Volcano called %s: 'capstan queues' lists them", queue);
    return err_set(e, E_NOTFOUND, "%s", queue_missing_text(d->c, d->a, queue, false));
}

static const char *queue_of(const struct drive *d)
{
    if (d->kind == JOB_KIND_VCJOB || d->kind == JOB_KIND_VOLCANO_GROUP)
        return json_text(json_path(d->object, "spec", "queue", NULL), "default");
    if (d->workload)
        return json_text(json_path(d->workload, "spec", "queueName", NULL), "");
    return object_label(d->object, "kueue.x-k8s.io/queue-name");
}

static bool is_moved(const struct drive *d)
{
    return d->workload && text_equal(queue_of(d), option_text(d->o, OPT_MOVE_QUEUE));
}

/* Where the queue is written: with who owns the Workload, or with the Workload itself. */
static int write_queue(struct drive *d, const char *queue, struct err *e)
{
    const char *label = arena_printf(d->a, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}}}", queue),
               *field = arena_printf(d->a, "{\"spec\":{\"queueName\":\"%s\"}}", queue);
    if (d->kind == JOB_KIND_VCJOB || d->kind == JOB_KIND_VOLCANO_GROUP)
        return drive_patch_object(d, arena_printf(d->a, "{\"spec\":{\"queue\":\"%s\"}}", queue), e);
    if (job_queued_kind(d->kind))
        return drive_patch_object(d, label, e);
    const struct json *pods = drive_pods(d);
    JSON_EACH (pod, pods)
        if (drive_patch(d, JOB_KIND_POD, object_meta(pod, "name"), label, e) < 0)
            return -e->code;
    return json_first(pods) ? 0 : drive_patch_workload(d, field, e);
}

static int move(struct drive *d, struct err *e)
{
    const char *queue = option_text(d->o, OPT_MOVE_QUEUE), *from = queue_of(d);
    bool runs = drive_runs(d), active = json_get_bool(json_get(d->workload, "spec"), "active", true);
    if (drive_is_over(d))
        return err_set(e, E_CONFLICT, "it is over");
    bool queueless = d->kind >= JOB_KIND_COSCHEDULING && d->kind <= JOB_KIND_COMPOSITE;
    if (queueless || (d->kind == JOB_KIND_POD && !d->workload))
        return err_set(e, E_INVALID, "it is in no queue, and nothing of its kind is");
    d->said = arena_printf(d->a, "it is in queue %s already", queue);
    if (text_equal(from, queue))
        return 0;
    if (check_queue(d, queue, e) < 0 || drive_may_stop(d, option_flag(d->o, OPT_MOVE_STOP), "move", e) < 0)
        return -e->code;
    if (runs && d->workload && put_aside(d, e) < 0)
        return -e->code;
    int r = write_queue(d, queue, e);
    if (r == 0 && d->workload)
        r = drive_wait(d, is_moved, "its Workload does not say that it is moved", e);
    struct err again = {0};
    if (runs && active && d->workload && drive_patch_workload(d, ACTIVE, &again) < 0 && r == 0) {
        *e = again;
        r = -again.code;
    }
    d->said = *from ? arena_printf(d->a, "moved from queue %s to %s", from, queue) : arena_printf(d->a, "moved to queue %s", queue);
    return r;
}

int move_main(const struct options *o)
{
    const char *queue = option_text(o, OPT_MOVE_QUEUE);
    if (!queue || !*queue)
        return options_wrong(o, "say where to, with --queue");
    if (queue[strspn(queue, "abcdefghijklmnopqrstuvwxyz0123456789.-")])
        return options_wrong(o, "--queue: names have lower case letters, digits, '-' and '.'");
    return drive_each(o, move);
}
