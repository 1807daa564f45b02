/* hold.c - capstan hold, capstan resume: a job that is not to start yet, and one that may again */
#include "cli/cli.h"
#include "cli/drive/drive.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

static const char *phase_of(const struct drive *d)
{
    return json_text(json_path(d->object, "status", "state", "phase", NULL), "");
}

static bool is_in_queue(const struct drive *d)
{
    return *object_label(d->object, "kueue.x-k8s.io/queue-name") != '\0';
}

static int no_workload(struct err *e)
{
    return err_set(e, E_AGAIN, "it names a queue and has no Workload yet: try again, or ask 'capstan why' what is in the way");
}

/* Kueue's way where there is a Workload; else its own. *ret_way: which it is. */
enum way { WAY_WORKLOAD, WAY_COMMAND, WAY_SUSPEND, WAY_ANNOTATION };
static int way_of(const struct drive *d, enum way *ret_way, struct err *e)
{
    if (d->workload)
        *ret_way = WAY_WORKLOAD;
    else if (d->kind == JOB_KIND_VCJOB)
        *ret_way = WAY_COMMAND;
    else if (d->kind == JOB_KIND_POD)
        return err_set(e, E_INVALID, "a pod of no queue cannot be held once it is there: its scheduling gates are given when it is made");
    else if (d->kind >= JOB_KIND_VOLCANO_GROUP)
        *ret_way = WAY_ANNOTATION;
    else if (is_in_queue(d))
        return no_workload(e);
    else
        *ret_way = WAY_SUSPEND;
    return 0;
}

static bool is_held(const struct drive *d, enum way way)
{
    switch (way) {
    case WAY_WORKLOAD:
        return !json_get_bool(json_get(d->workload, "spec"), "active", true);
    case WAY_COMMAND:
        return text_equal(phase_of(d), "Aborted") || text_equal(phase_of(d), "Aborting");
    case WAY_SUSPEND:
        return queued_kind_is_suspended(job_queued_kind(d->kind), d->object);
    case WAY_ANNOTATION:
        return *object_annotation(d->object, DECODE_HOLD_ANNOTATION) != '\0';
    }
    return false;
}

static int set_held(struct drive *d, enum way way, bool held, struct err *e)
{
    switch (way) {
    case WAY_WORKLOAD:
        return drive_patch_workload(d, held ? "{\"spec\":{\"active\":false}}" : "{\"spec\":{\"active\":true}}", e);
    case WAY_COMMAND:
        return drive_command(d, held ? "AbortJob" : "ResumeJob", e);
    case WAY_SUSPEND:
        return drive_suspend(d, held, e);
    case WAY_ANNOTATION:
        return drive_patch_object(d, arena_printf(d->a, "{\"metadata\":{\"annotations\":{\"" DECODE_HOLD_ANNOTATION "\":%s}}}",
                                                  held ? "\"true\"" : "null"), e);
    }
    return 0;
}

static int hold(struct drive *d, struct err *e)
{
    enum way way = WAY_WORKLOAD;
    bool stop = option_flag(d->o, OPT_HOLD_STOP), runs = drive_runs(d);
    if (drive_is_over(d))
        return err_set(e, E_CONFLICT, "it is over");
    if (way_of(d, &way, e) < 0)
        return -e->code;
    d->said = "held already";
    if (is_held(d, way))
        return 0;
    d->said = runs ? "held: its pods end, and it starts anew after capstan resume" : "held: it does not start before capstan resume";
    return drive_may_stop(d, stop, "hold", e) < 0 ? -e->code : set_held(d, way, true, e);
}

static int resume(struct drive *d, struct err *e)
{
    enum way way = WAY_WORKLOAD;
    if (drive_is_over(d))
        return err_set(e, E_CONFLICT, "it is over");
    if (way_of(d, &way, e) < 0)
        return -e->code;
    d->said = "it is not held";
    if (!is_held(d, way))
        return 0;
    d->said = "resumed: it is back in its queue";
    if (way == WAY_SUSPEND)
        d->said = "resumed";
    return set_held(d, way, false, e);
}

int hold_main(const struct options *o)
{
    return drive_each(o, hold);
}

int resume_main(const struct options *o)
{
    return drive_each(o, resume);
}
