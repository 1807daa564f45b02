/* why_until.c - asked anew each time: a limit of time may be changed, and the scheduler writes nothing for it
 *
 *   Workload   spec.maximumExecutionTimeSeconds over all its admissions; its Job's activeDeadlineSeconds
 *   Pod        its own activeDeadlineSeconds; its Job's
 *   PodGroup   when the last of its pods ends, if each of them does
 */
#include "cli/lookup/why_until.h"
#include "base/clock.h"
#include "cli/lookup/pod_group.h"
#include "jobs/kueue/kueue_kind.h"
#include "kube/object.h"

enum { NEVER = 0 };

struct asker {
    struct connection *c;
    struct arena *a;
    const char *ns;
};

static const struct json *get(struct asker *x, const char *group, const char *version, const char *plural, const char *name)
{
    struct err e = {0}; /* what cannot be read has no known end */
    return connection_get(x->c, x->a, kube_path(x->a, group, version, plural, x->ns, name, NULL), &e);
}

static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms == NEVER || (b_ms != NEVER && b_ms < a_ms) ? b_ms : a_ms;
}

/* Of a Job or a pod, both of which have their limit in spec and its begin in status. */
static int64_t deadline_ms(const struct json *object)
{
    int64_t start_ms, limit_s = json_int64(json_path(object, "spec", "activeDeadlineSeconds", NULL), 0);
    const char *start = json_text(json_path(object, "status", "startTime", NULL), "");
    return limit_s > 0 && limit_s <= INT64_MAX / 2000 && time_parse(bytes_of(start), &start_ms) ? start_ms + limit_s * 1000 : NEVER;
}

static int64_t job_end_ms(struct asker *x, const struct json *owned)
{
    bool is_job = text_equal(object_controller(owned, "kind"), "Job");
    return is_job ? deadline_ms(get(x, "batch", "v1", "jobs", object_controller(owned, "name"))) : NEVER;
}

static int64_t workload_end_ms(struct asker *x, const struct json *workload)
{
    int64_t limit_s = json_int64(json_path(workload, "spec", "maximumExecutionTimeSeconds", NULL), 0), now_ms = clock_wall_us() / 1000,
            end_ms = job_end_ms(x, workload);
    if (limit_s > 0 && limit_s <= INT64_MAX / 2000 && object_condition_true(workload, "Admitted"))
        end_ms = earlier(end_ms, now_ms + limit_s * 1000 - kueue_executed_ms(workload, now_ms));
    return end_ms;
}

static int64_t pod_end_ms(struct asker *x, const struct json *pod)
{
    return earlier(deadline_ms(pod), job_end_ms(x, pod));
}

static bool is_member(const struct asker *x, const struct json *pod, const char *group)
{
    for (int maker = 0; maker < POD_GROUP_KUEUE; maker++)
        if (text_equal(pod_group_name(x->a, pod, (enum pod_group_maker)maker), group))
            return true;
    return false;
}

static int64_t group_end_ms(struct asker *x, const char *name)
{
    int64_t last_ms = NEVER;
    JSON_EACH (pod, json_get(get(x, "", "v1", "pods", NULL), "items")) {
        const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
        if (!is_member(x, pod, name) || text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
            continue;
        int64_t end_ms = pod_end_ms(x, pod);
        if (end_ms == NEVER)
            return NEVER;
        last_ms = end_ms > last_ms ? end_ms : last_ms;
    }
    return last_ms;
}

/* Who holds what is waited for. */
struct holder {
    const char *job_kind, *job; /* whose Workload it is; "": it is none, of nobody, or may not be read */
    int64_t end_ms;             /* NEVER: not known */
};

static struct holder holder_of(struct asker *x, const char *kind, const char *name)
{
    struct holder h = {"", "", NEVER};
    if (text_equal(kind, "Workload")) {
        const struct json *workload = get(x, "kueue.x-k8s.io", "v1beta2", "workloads", name);
        h = (struct holder){object_controller(workload, "kind"), object_controller(workload, "name"), workload_end_ms(x, workload)};
    } else if (text_equal(kind, "Pod")) {
        h.end_ms = pod_end_ms(x, get(x, "", "v1", "pods", name));
    } else if (text_equal(kind, "PodGroup")) {
        h.end_ms = group_end_ms(x, name);
    }
    return h;
}

/* "the end of Workload n/job-a-1f" becomes "the end of Job n/a (at 10:00 at the latest)", wherever in the message it stands. */
static void say(struct arena *a, struct json *remedy, const char *what, const char *more)
{
    const char *message = json_get_text(remedy, "message", ""), *at = strstr(message, what);
    size_t n = strlen(what);
    while (at && at[n] && at[n] != ' ') /* n/a-2 is another one */
        at = strstr(at + 1, what);
    if (at)
        json_set_text(a, remedy, "message", arena_printf(a, "%.*s%s%s", (int)(at - message), message, more, at + n));
}

static void change_tell(struct asker *x, struct json *remedy, struct json *change, bool ends)
{
    const char *kind = json_get_text(change, "kind", ""), *name = json_get_text(change, "name", "");
    struct holder h = holder_of(x, kind, name);
    const char *who = arena_printf(x->a, "%s %s/%s", kind, x->ns, name), *said = who;
    char text[TIME_TEXT_MAX];
    if (*h.job) {
        struct json *job = json_ensure_object(x->a, change, "job");
        json_set_text(x->a, job, "kind", h.job_kind);
        json_set_text(x->a, job, "name", h.job);
        said = arena_printf(x->a, "%s %s/%s", h.job_kind, x->ns, h.job);
    }
    if (ends && h.end_ms != NEVER) {
        json_set_text(x->a, change, "until", time_format(text, h.end_ms));
        said = arena_printf(x->a, "%s (at %s at the latest)", said, text);
    }
    if (said != who)
        say(x->a, remedy, who, said);
}

void why_until(struct connection *c, struct arena *a, struct json *remedies)
{
    JSON_EACH (remedy, remedies)
        JSON_EACH (change, json_get(remedy, "all")) {
            struct asker x = {c, a, json_get_text(change, "namespace", "")};
            const char *what = json_get_text(change, "change", "");
            bool ends = text_equal(what, "end");
            if (ends || text_equal(what, "move"))
                change_tell(&x, remedy, change, ends);
        }
}

int64_t why_until_comes_ms(const struct json *remedies)
{
    int64_t first_ms = 0;
    JSON_EACH (remedy, remedies) {
        int64_t last_ms = 0;
        bool known = json_first(json_get(remedy, "all")) != NULL;
        JSON_EACH (change, json_get(remedy, "all")) {
            int64_t ms = 0;
            known = known && time_parse(bytes_of(json_get_text(change, "until", "")), &ms);
            last_ms = ms > last_ms ? ms : last_ms;
        }
        if (known && (!first_ms || last_ms < first_ms))
            first_ms = last_ms;
    }
    return first_ms;
}
