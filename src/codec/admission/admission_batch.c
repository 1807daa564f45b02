#include "codec/admission/admission_part.h"

#define INDEXED_COMPLETIONS_MAX                                                                                        \
    100000               /* indexed jobs with more than that many pods at once are refused by Kubernetes */
#define CRON_NAME_MAX 52 /* eleven letters are added to make the name of a Job */

/* ---- Job ---- */

static void default_false(struct admission *x, struct json *spec, const char *key)
{
    if (!json_get(spec, key))
        json_set_bool(x->arena, spec, key, false);
}

/* Of a Job alone: what a CronJob or another kind makes Jobs from is kept as it was written. */
static void default_job(struct admission *x, struct json *spec)
{
    bool no_completions = !json_get(spec, "completions"), no_parallelism = !json_get(spec, "parallelism");
    if (no_completions && no_parallelism)
        json_set_int64(x->arena, spec, "completions", 1);
    if (no_parallelism)
        json_set_int64(x->arena, spec, "parallelism", 1);
    if (!json_get(spec, "backoffLimit"))
        json_set_int64(x->arena, spec, "backoffLimit", json_get(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
    admission_default_text(x, spec, "podReplacementPolicy",
                           json_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
    admission_default_text(x, spec, "completionMode", "NonIndexed");
    default_false(x, spec, "manualSelector");
    default_false(x, spec, "suspend");
}

static struct json *template_labels(struct admission *x, struct json *spec)
{
    struct json *pod_template = json_ensure_object(x->arena, spec, "template");
    return json_ensure_object(x->arena, json_ensure_object(x->arena, pod_template, "metadata"), "labels");
}

/* Pods find their Job by its uid: labels on the template, and a selector for one of them. */
static void generate_selector(struct admission *x, struct json *spec)
{
    const char *uid = json_text(json_path(x->object, "metadata", "uid", NULL), "");
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    if (json_get_bool(spec, "manualSelector", false) || !uid[0])
        return;
    if (json_get(spec, "selector")) {
        admission_error(x, FIELD_INVALID, "spec.selector", json_get(spec, "selector"),
                        "`selector` will be auto-generated: leave it out, or set manualSelector");
        return;
    }
    struct json *labels = template_labels(x, spec);
    json_set_text(x->arena, labels, "batch.kubernetes.io/controller-uid", uid);
    json_set_text(x->arena, labels, "batch.kubernetes.io/job-name", name);
    json_set_text(x->arena, labels, "controller-uid", uid);
    json_set_text(x->arena, labels, "job-name", name);
    struct json *selector = json_ensure_object(x->arena, spec, "selector");
    json_set_text(x->arena, json_ensure_object(x->arena, selector, "matchLabels"), "batch.kubernetes.io/controller-uid",
                  uid);
}

static void check_counts(struct admission *x, const struct json *spec, const char *path)
{
    static const char *const keys[] = {
        "parallelism",          "completions",     "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        admission_not_negative(x, spec, path, keys[i]);
    bool indexed = text_equal(json_get_text(spec, "completionMode", ""), "Indexed");
    if (indexed && !json_get(spec, "completions"))
        admission_error(x, FIELD_REQUIRED, AT(x, "%s.completions", path), NULL, "when completion mode is Indexed");
    if (indexed && json_get_int64(spec, "parallelism", 0) > INDEXED_COMPLETIONS_MAX)
        admission_error(x, FIELD_INVALID, AT(x, "%s.parallelism", path), json_get(spec, "parallelism"),
                        "must be less than or equal to %d when completionMode is Indexed", INDEXED_COMPLETIONS_MAX);
    if (!indexed && json_get(spec, "backoffLimitPerIndex"))
        admission_error(x, FIELD_INVALID, AT(x, "%s.backoffLimitPerIndex", path),
                        json_get(spec, "backoffLimitPerIndex"), "requires indexed completion mode");
}

/* A template without what may still change while a suspended job has not started. */
static struct json *without_scheduling(struct admission *x, const struct json *pod_template)
{
    static const char *const open[] = {"nodeSelector", "affinity", "tolerations", "schedulingGates", "resources"};
    struct json *copy = json_clone(x->arena, pod_template);
    json_remove(copy, "metadata");
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        json_remove(json_get(copy, "spec"), open[i]);
    return copy;
}

static void check_job_update(struct admission *x, const struct json *spec)
{
    const struct json *was = json_get(x->old, "spec");
    bool indexed = text_equal(json_get_text(was, "completionMode", ""), "Indexed");
    const struct json *completions = json_get(spec, "completions"), *before = json_get(was, "completions");
    bool changed = (completions || before) && !(completions && before && json_equal(completions, before));
    bool elastic =
        indexed && completions && before && json_int64(completions, 0) == json_get_int64(spec, "parallelism", -1);
    bool not_started = !json_path(x->old, "status", "startTime", NULL);
    bool partial = json_get_bool(was, "suspend", false) &&
                   admission_label(x->object, QUEUE_NAME_LABEL)[0]; /* partial admission sets both */
    if (changed && !elastic && !partial)
        admission_error(x, FIELD_INVALID, "spec.completions", completions, IMMUTABLE);
    admission_immutable(x, "spec", "selector");
    admission_immutable(x, "spec", "completionMode");
    admission_immutable(x, "spec", "podFailurePolicy");
    admission_immutable(x, "spec", "backoffLimitPerIndex");
    admission_immutable(x, "spec", "managedBy");
    const struct json *a = json_get(was, "template"), *b = json_get(spec, "template");
    if (!a || !b || json_equal(a, b))
        return;
    if (json_get_bool(was, "suspend", false) && not_started &&
        json_equal(without_scheduling(x, a), without_scheduling(x, b)))
        return;
    admission_error(x, FIELD_INVALID, "spec.template", NULL,
                    "field is immutable (but node selector, affinity, tolerations, labels and annotations while the "
                    "job is suspended and status.startTime is not set)");
}

#define MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"

/* Kueue's own rules for a Job that has a queue. */
static void check_queued_job(struct admission *x, const struct json *spec)
{
    const char *fewest = admission_annotation(x->object, MIN_PARALLELISM);
    int64_t n;
    admission_queue_rules(x, &queued_kinds[QUEUED_JOB]);
    int64_t parallelism = json_get_int64(spec, "parallelism", 1), completions = json_get_int64(spec, "completions", parallelism);
    /* SOURCE Kueue: only where it is new. A job that starts with its fewest pods has that many. */
    bool is_new = !x->old || !text_equal(fewest, admission_annotation(x->old, MIN_PARALLELISM));
    if (fewest[0] && is_new && (!bytes_int64(bytes_of(fewest), &n) || n < 1 || n >= parallelism))
        admission_error_text(x, FIELD_INVALID, "metadata.annotations[" MIN_PARALLELISM "]", bytes_of(fewest),
                             "should be a whole number between 0 and the job's parallelism, both excluded");
    if (admission_label(x->object, QUEUE_NAME_LABEL)[0])
        admission_topology_annotations(x, json_path(spec, "template", "metadata", "annotations", NULL), "spec.template.metadata.annotations",
                                       completions < parallelism ? completions : parallelism);
}

static void admit_job(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec");
    if (!json_is(spec, JSON_OBJECT))
        return;
    default_job(x, spec);
    struct json *metadata = json_ensure_object(x->arena, x->object, "metadata");
    if (!x->old)
        generate_selector(x, spec);
    const struct json *labels = json_path(spec, "template", "metadata", "labels", NULL),
                      *own = json_get(metadata, "labels");
    if (json_is(labels, JSON_OBJECT) && labels->n && !(json_is(own, JSON_OBJECT) && own->n))
        json_set(x->arena, metadata, "labels", json_clone(x->arena, labels)); /* those that were just made, too */
    if (!x->old)
        admission_queue_name(x, spec);
    check_counts(x, spec, "spec");
    admission_template(x, json_get(spec, "template"), "spec.template", ADMISSION_TEMPLATE_FINITE);
    check_queued_job(x, spec);
    const char *name = json_get_text(metadata, "name", "");
    if (text_equal(json_get_text(spec, "completionMode", ""), "Indexed") && strlen(name) > LIMIT_LABEL)
        admission_error(x, FIELD_INVALID, "metadata.name", json_get(metadata, "name"),
                        "must be no more than 63 characters: pods of an Indexed job carry it as host name");
    if (x->old)
        check_job_update(x, spec);
}

/* ---- CronJob ---- */

static bool number_in(struct bytes text, int64_t low, int64_t high)
{
    int64_t n;
    return bytes_int64(text, &n) && n >= low && n <= high;
}

static bool name_in(struct bytes text, const char *names)
{
    char lower[4] = {0};
    if (text.n != 3)
        return false;
    for (int i = 0; i < 3; i++)
        lower[i] = (char)(text.data[i] | 32);
    const char *found = strstr(names, lower);
    return found && (found - names) % 3 == 0;
}

/* One field of a schedule: "*", "5", "1-5", "MON-FRI", any of them with "/step", comma separated. */
static bool cron_field(struct bytes text, int64_t low, int64_t high, const char *names)
{
    while (text.n) {
        const char *comma = memchr(text.data, ',', text.n);
        struct bytes part = {text.data, comma ? (size_t)(comma - text.data) : text.n};
        text = comma ? (struct bytes){comma + 1, text.n - part.n - 1} : (struct bytes){"", 0};
        const char *slash = part.n ? memchr(part.data, '/', part.n) : NULL;
        if (slash && !number_in((struct bytes){slash + 1, part.n - (size_t)(slash - part.data) - 1}, 1, high))
            return false;
        part.n = slash ? (size_t)(slash - part.data) : part.n;
        const char *dash = part.n ? memchr(part.data, '-', part.n) : NULL;
        struct bytes first = {part.data, dash ? (size_t)(dash - part.data) : part.n};
        struct bytes last = dash ? (struct bytes){dash + 1, part.n - first.n - 1} : first;
        if (bytes_is(part, "*") || bytes_is(part, "?"))
            continue;
        if (!(number_in(first, low, high) || name_in(first, names)) ||
            !(number_in(last, low, high) || name_in(last, names)))
            return false;
        if (comma && text.n == 0)
            return false;
    }
    return true;
}

static bool is_schedule(const char *text)
{
    static const char *const macros[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                         "@daily",  "@midnight", "@hourly"};
    static const struct {
        int64_t low, high;
        const char *names;
    } fields[5] = {{0, 59, ""},
                   {0, 23, ""},
                   {1, 31, ""},
                   {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                   {0, 7, "sunmontuewedthufrisat"}};
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        if (text_equal(text, macros[i]))
            return true;
    if (text_starts(text, "@every "))
        return text[7] != '\0';
    for (int i = 0; i < 5; i++) {
        text += strspn(text, " \t");
        size_t n = strcspn(text, " \t");
        if (n == 0 || !cron_field((struct bytes){text, n}, fields[i].low, fields[i].high, fields[i].names))
            return false;
        text += n;
    }
    return text[strspn(text, " \t")] == '\0';
}

/* Whether there is such a zone is known where schedules are followed. */
static bool is_time_zone(struct bytes name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+/";
    bool begins = true;
    for (size_t i = 0; i < name.n; i++) {
        if (!strchr(allowed, name.data[i]) || (begins && strchr("./-", name.data[i])))
            return false;
        begins = name.data[i] == '/';
    }
    return name.n > 0 && name.n <= 100 && !begins;
}

void admission_cron(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec");
    const struct json *zone = json_get(spec, "timeZone");
    if (zone && text_equal(json_text(zone, ""), "Local"))
        admission_error(x, FIELD_INVALID, "spec.timeZone", zone, "timeZone must be an explicit time zone, such as Europe/Berlin");
    else if (zone && zone->type != JSON_NULL && !is_time_zone(json_bytes(zone)))
        admission_error(x, FIELD_INVALID, "spec.timeZone", zone, "unknown time zone: write one such as Europe/Berlin or UTC");
    const struct json *schedule = json_get(spec, "schedule"), *name = json_path(x->object, "metadata", "name", NULL);
    if (admission_absent(schedule))
        admission_error(x, FIELD_REQUIRED, "spec.schedule", NULL,
                        "such as \"*/5 * * * *\": minute, hour, day of month, month, day of week");
    else if (!is_schedule(json_text(schedule, "")))
        admission_error(x, FIELD_INVALID, "spec.schedule", schedule,
                        "expected five fields (minute, hour, day of month, month, day of week) such as \"0 3 * * "
                        "1-5\", or @hourly, @daily, @weekly, @monthly, @yearly");
    else if (strstr(json_text(schedule, ""), "TZ"))
        admission_error(x, FIELD_INVALID, "spec.schedule", schedule,
                        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    if (json_bytes(name).n > CRON_NAME_MAX)
        admission_error(x, FIELD_INVALID, "metadata.name", name, "must be no more than %d characters", CRON_NAME_MAX);
    static const char *const keys[] = {"startingDeadlineSeconds", "successfulJobsHistoryLimit",
                                       "failedJobsHistoryLimit"};
    for (size_t i = 0; i < 3; i++)
        admission_not_negative(x, spec, "spec", keys[i]);
}

static void admit_cron_job(struct admission *x)
{
    const struct json *made = json_path(x->object, "spec", "jobTemplate", NULL);
    struct json *job = json_path(x->object, "spec", "jobTemplate", "spec", NULL);
    admission_cron(x);
    admission_queue_unread(x, "CronJob");
    if (json_is(made, JSON_OBJECT) && admission_absent(job))
        admission_error(x, FIELD_REQUIRED, "spec.jobTemplate.spec.template", NULL, "%s", "");
    if (!json_is(job, JSON_OBJECT))
        return;
    check_counts(x, job, "spec.jobTemplate.spec");
    admission_template(x, json_get(job, "template"), "spec.jobTemplate.spec.template", ADMISSION_TEMPLATE_FINITE);
}

void admission_batch(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "jobs"))
        admit_job(x);
    else if (text_equal(k->plural, "cronjobs"))
        admit_cron_job(x);
}

struct json *admission_batch_fix(struct admission *x, const struct kind *k)
{
    struct json *fixed = json_clone(x->arena, x->object), *spec = json_get(fixed, "spec");
    bool cron = text_equal(k->plural, "cronjobs"), finite = cron || text_equal(k->plural, "jobs");
    struct json *pod = json_path(cron ? json_path(spec, "jobTemplate", "spec", NULL) : spec, "template", "spec", NULL);
    if (!json_is(pod, JSON_OBJECT))
        return NULL;
    bool changed = admission_pod_spec_fix(x, pod);
    if (finite && admission_absent(json_get(pod, "restartPolicy"))) {
        json_set_text(x->arena, pod, "restartPolicy", "Never");
        changed = true;
    }
    return changed ? fixed : NULL;
}
