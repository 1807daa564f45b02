/* Random lives of CronJobs, Volcano's and batch's: users change them, remove Jobs, Jobs end well or badly, the controller begins anew.
 * After each step the Jobs and the status on the server are compared with a slow reference, which goes from one due time to the next and
 * reads the rules as sentences.
 *
 *     LIVES=1000 LIVES_SEED=7 build/tests/unit/jobs/volcano/test_jobs_cron_lives
 */
#include "../../sched/stage.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/random.h"
#include "jobs/batch/cron_job.h"
#include "kube/event.h"
#include "kube/object.h"

enum { STEPS = 40, JOBS_MOST = 400, MINUTE_MS = 60000, DEFAULT_GOOD = 3, DEFAULT_BAD = 1 };
#define START_MS INT64_C(1767225600000)

enum end { RUNS, GOOD, BAD, OVER }; /* OVER: was terminated, and is in no history */
struct made {
    int64_t due_ms;
    bool exists;
    enum end end;
};
struct life {
    struct random random;
    uint64_t seed;
    int at; /* step */
    bool is_volcanos;
    int64_t now_ms, born_ms;
    /* as its spec says */
    int64_t every; /* minutes */
    enum concurrency { ALLOW, FORBID, REPLACE } policy;
    bool suspend;
    int64_t deadline_s, keep_good, keep_bad; /* -1: not said */
    /* as it should be */
    struct made jobs[JOBS_MOST];
    int jobs_n;
    int64_t last_ms, good_ms; /* due time that was started last; the last success; 0: none */
    int met[4];               /* starts, made up for, replaced, too late: else this tries nothing */
};

/* ---- the reference ---- */

static int active_n(const struct life *l)
{
    int n = 0;
    for (int i = 0; i < l->jobs_n; i++)
        n += l->jobs[i].exists && l->jobs[i].end == RUNS;
    return n;
}

/* Of those that ended so, the newest are kept: as many as it says. */
static void keep(struct life *l, enum end end, int64_t most)
{
    for (int i = l->jobs_n - 1; i >= 0; i--)
        if (l->jobs[i].exists && l->jobs[i].end == end && --most < 0)
            l->jobs[i].exists = false;
}

static void comes_to(struct life *l)
{
    int64_t due_ms = l->now_ms / (l->every * MINUTE_MS) * (l->every * MINUTE_MS); /* the last one; those before it are forgotten */
    bool is_new = due_ms > l->born_ms && due_ms > l->last_ms;
    bool is_late = l->deadline_s >= 0 && l->now_ms - due_ms >= l->deadline_s * 1000;
    l->met[3] += is_new && is_late && !l->suspend;
    if (is_new && !is_late && !l->suspend && !(l->policy == FORBID && active_n(l) > 0)) {
        for (int i = 0; i < l->jobs_n && l->policy == REPLACE; i++) {
            l->met[2] += l->jobs[i].exists && l->jobs[i].end == RUNS;
            l->jobs[i].exists = l->jobs[i].exists && l->jobs[i].end != RUNS;
        }
        l->jobs[l->jobs_n++] = (struct made){due_ms, true, RUNS};
        l->last_ms = due_ms;
        l->met[0]++;
        l->met[1] += l->now_ms > due_ms;
    }
    keep(l, GOOD, l->keep_good < 0 ? DEFAULT_GOOD : l->keep_good);
    keep(l, BAD, l->keep_bad < 0 ? DEFAULT_BAD : l->keep_bad);
}

/* ---- the world ---- */

static struct kube_recorder *events;
static struct cron_jobs *controller;

/* As vcjob.c says it of Volcano's. */
static enum cron_ended volcano_ended(const struct json *job, int64_t *ret_ended_ms)
{
    const char *phase = json_text(json_path(job, "status", "state", "phase", NULL), "");
    time_parse(json_bytes(json_path(job, "status", "state", "lastTransitionTime", NULL)), ret_ended_ms);
    return strcmp(phase, "Completed") == 0    ? CRON_SUCCEEDED
           : strcmp(phase, "Failed") == 0     ? CRON_FAILED
           : strcmp(phase, "Terminated") == 0 ? CRON_OVER
                                              : CRON_RUNS;
}
static const struct cron_kind volcanos = {"batch.volcano.sh", "v1alpha1", "volcano.sh/cronjob-scheduled-timestamp", volcano_ended};

static void begin(const struct life *l)
{
    controller = cron_jobs_new(w.client, events, l->is_volcanos ? &volcanos : &cron_kind_batch, NULL);
}

static const char *path_of(const struct life *l, const char *plural, const char *name)
{
    return arena_printf(w.a, "/apis/%s/namespaces/n/%s%s", l->is_volcanos ? "batch.volcano.sh/v1alpha1" : "batch/v1", plural, name);
}

static void change(const char *path, const char *text)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(text), NULL, NULL);
}

static const char *number(int64_t n)
{
    return n < 0 ? "null" : arena_printf(w.a, "%lld", (long long)n);
}

static const char *spec_of(const struct life *l)
{
    static const char *const policies[] = {"Allow", "Forbid", "Replace"};
    return arena_printf(w.a,
                        "\"schedule\":\"*/%lld * * * *\",\"concurrencyPolicy\":\"%s\",\"suspend\":%s,\"startingDeadlineSeconds\":%s,"
                        "\"successfulJobsHistoryLimit\":%s,\"failedJobsHistoryLimit\":%s",
                        (long long)l->every, policies[l->policy], l->suspend ? "true" : "false", number(l->deadline_s),
                        number(l->keep_good), number(l->keep_bad));
}

static void born(struct life *l, uint64_t seed)
{
    *l = (struct life){.random = {seed}, .seed = seed, .is_volcanos = seed % 2, .every = 1 + (int64_t)random_below(&l->random, 3),
                       .deadline_s = -1, .keep_good = -1, .keep_bad = -1, .now_ms = START_MS + 20000};
    l->random.state = seed;
    l->born_ms = l->now_ms;
    l->policy = (enum concurrency)random_below(&l->random, 3);
    stage_open(NULL);
    run(20000);
    events = kube_recorder_new(w.client, "test");
    const char *pod = "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    create(arena_printf(w.a, "{\"apiVersion\":\"%s\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":{%s,"
                             "\"jobTemplate\":{\"spec\":%s}}}",
                        l->is_volcanos ? "batch.volcano.sh/v1alpha1" : "batch/v1", spec_of(l),
                        l->is_volcanos ? arena_printf(w.a, "{\"tasks\":[{\"name\":\"t\",\"replicas\":1,%s}]}", pod)
                                       : arena_printf(w.a, "{%s}", pod)));
    begin(l);
}

static const char *name_of(const struct made *j)
{
    return arena_printf(w.a, "/c-%lld", (long long)(j->due_ms / MINUTE_MS));
}

static struct made *any_job(struct life *l, bool running)
{
    struct made *found = NULL;
    uint64_t n = 0;
    for (int i = 0; i < l->jobs_n; i++)
        if (l->jobs[i].exists && (!running || l->jobs[i].end == RUNS) && random_below(&l->random, ++n) == 0)
            found = &l->jobs[i];
    return found;
}

static void ends(struct life *l, struct made *j)
{
    char text[TIME_TEXT_MAX];
    time_format(text, l->now_ms);
    j->end = (enum end[]){GOOD, GOOD, BAD, l->is_volcanos ? OVER : BAD}[random_below(&l->random, 4)];
    const char *word = j->end == GOOD ? (l->is_volcanos ? "Completed" : "Complete") : j->end == BAD ? "Failed" : "Terminated";
    if (j->end == GOOD)
        l->good_ms = l->now_ms;
    change(path_of(l, "jobs", arena_printf(w.a, "%s/status", name_of(j))),
           l->is_volcanos ? arena_printf(w.a, "{\"status\":{\"state\":{\"phase\":\"%s\",\"lastTransitionTime\":\"%s\"}}}", word, text)
                          : arena_printf(w.a, "{\"status\":{%s%s%s\"conditions\":[{\"type\":\"%s\",\"status\":\"True\"}]}}",
                                         j->end == GOOD ? "\"completionTime\":\"" : "", j->end == GOOD ? text : "",
                                         j->end == GOOD ? "\"," : "", word));
}

static void is_changed(struct life *l)
{
    switch (random_below(&l->random, 5)) {
    case 0:
        l->policy = (enum concurrency)random_below(&l->random, 3);
        break;
    case 1:
        l->deadline_s = random_permille(&l->random, 300) ? -1 : 10 + (int64_t)random_below(&l->random, 100);
        break;
    case 2:
        l->keep_good = (int64_t)random_below(&l->random, 4) - 1;
        break;
    case 3:
        l->keep_bad = (int64_t)random_below(&l->random, 4) - 1;
        break;
    default:
        l->suspend = !l->suspend;
    }
    change(path_of(l, "cronjobs", "/c"), arena_printf(w.a, "{\"spec\":{%s}}", spec_of(l)));
}

static void happens(struct life *l)
{
    uint64_t dice = random_below(&l->random, 20);
    struct made *j = any_job(l, dice < 10);
    if (dice < 10 && j) {
        ends(l, j);
    } else if (dice == 10 && j) {
        j->exists = false;
        kube_delete(w.user, path_of(l, "jobs", name_of(j)), BYTES("{\"propagationPolicy\":\"Background\"}"), NULL, NULL);
    } else if (dice == 11) {
        cron_jobs_free(controller);
        begin(l);
    } else {
        is_changed(l);
    }
}

/* ---- both ---- */

static const char *by_rules(const struct life *l)
{
    char text[TIME_TEXT_MAX];
    const char *all = "", *active = "";
    for (int i = 0; i < l->jobs_n; i++) {
        if (!l->jobs[i].exists)
            continue;
        all = arena_printf(w.a, "%s %s", all, name_of(&l->jobs[i]) + 1);
        if (l->jobs[i].end == RUNS)
            active = arena_printf(w.a, "%s %s", active, name_of(&l->jobs[i]) + 1);
    }
    all = arena_printf(w.a, "jobs%s, active%s, last %s", all, active, l->last_ms ? time_format(text, l->last_ms) : "");
    return arena_printf(w.a, "%s, succeeded %s", all, l->good_ms ? time_format(text, l->good_ms) : "");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *sorted(const struct json *list, bool is_object)
{
    const char *names[JOBS_MOST], *text = "";
    size_t n = 0;
    JSON_EACH (item, list)
        names[n++] = is_object ? object_meta(item, "name") : json_get_text(item, "name", "");
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        text = arena_printf(w.a, "%s %s", text, names[i]);
    return text;
}

static const char *on_server(const struct life *l)
{
    const struct json *status = json_get(get(path_of(l, "cronjobs", "/c")), "status");
    return arena_printf(w.a, "jobs%s, active%s, last %s, succeeded %s", sorted(json_get(get(path_of(l, "jobs", "")), "items"), true),
                        sorted(json_get(status, "active"), false), json_get_text(status, "lastScheduleTime", ""),
                        json_get_text(status, "lastSuccessfulTime", ""));
}

static void compare(const struct life *l)
{
    const char *is = on_server(l), *wanted = by_rules(l);
    if (strcmp(is, wanted) != 0)
        fail_msg("seed %llu, step %d, %s:\n%s\nand by the rules\n%s", (unsigned long long)l->seed, l->at, spec_of(l), is, wanted);
}

/* To a moment that is not close to a full minute, from one of those to the next. */
static void time_goes_by(struct life *l)
{
    int64_t minutes = l->now_ms / MINUTE_MS + (int64_t)random_below(&l->random, 4), seconds = 5 + (int64_t)random_below(&l->random, 45);
    int64_t until_ms = minutes * MINUTE_MS + seconds * 1000;
    until_ms += until_ms < l->now_ms + 4000 ? MINUTE_MS : 0;
    for (int64_t full_ms; (full_ms = (l->now_ms / MINUTE_MS + 1) * MINUTE_MS) < until_ms;) {
        l->now_ms = full_ms;
        comes_to(l);
    }
    l->now_ms = until_ms;
    run(until_ms - loop_wall_ms(w.loop));
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_cron_jobs_go_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 40), first = number_of("LIVES_SEED", 1);
    int met[4] = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l;
        born(&l, seed);
        for (l.at = 0; l.at < STEPS; l.at++) {
            time_goes_by(&l);
            compare(&l);
            happens(&l);
            comes_to(&l);
            run(2000);
            compare(&l);
        }
        for (int i = 0; i < 4; i++)
            met[i] += l.met[i];
        cron_jobs_free(controller);
        kube_recorder_free(events);
        kube_client_free(w.user);
        kube_client_free(w.client);
        server_close();
    }
    for (int i = 0; i < 4 && lives_n >= 20; i++)
        assert_true(met[i] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cron_jobs_go_by_the_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
