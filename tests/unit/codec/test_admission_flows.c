/* Admission of Volcano's JobFlows, JobTemplates and CronJobs: circles, names, schedules; and what no Job would come of is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "admission_world.h"
#include "base/limits.h"

#define FLOW(flows) "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f, namespace: ns}\nspec: {flows: [" flows "]}\n"
#define TASKS "tasks: [{name: t, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]"
#define TEMPLATE(spec) "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata: {name: t, namespace: ns}\nspec: {" spec "}\n"
#define CRON(name, spec) \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nmetadata: {name: " name ", namespace: ns}\nspec: {" spec "}\n"
#define A "{name: a}"
#define AFTER(name, targets) "{name: " name ", dependsOn: {targets: [" targets "]}}"

static void flows_are_checked(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {FLOW(A ", " AFTER("b", "a") ", " AFTER("c", "a, b")), ""},
        {FLOW(A ", " AFTER("b", "x")),
         "spec.flows[1].dependsOn.targets[0]: Not found: \"x\": jobflow Flow is not DAG: vertex is not defined: write the name of another"},
        {FLOW(AFTER("a", "a")), "spec.flows: Invalid value: jobflow Flow is not DAG: a wait for each other"},
        {FLOW(A ", " AFTER("b", "d") ", " AFTER("c", "b") ", " AFTER("d", "a, c")), "jobflow Flow is not DAG: b, c, d wait for each other"},
        {FLOW(A ", " A ", " AFTER("b", "a") ", " AFTER("b", "a, a")), ""}, /* Volcano takes it; told below */
        {FLOW(A ", " AFTER("b", "a") ", " AFTER("a", "b")), "jobflow Flow is not DAG: b, a wait for each other"},
        {FLOW("{name: A_b}"), "spec.flows[0].name: Invalid value: \"A_b\": write the name of a JobTemplate"},
        {FLOW("{name: a-name-with-so-many-letters-that-there-is-no-room-left-for-any}"), "shorten one of the names"},
        {TEMPLATE(TASKS), ""},
        {TEMPLATE("tasks: []"), ""},
        {CRON("c", "schedule: '*/5 * * * *', jobTemplate: {spec: {" TASKS "}}"), ""},
        {CRON("c", "schedule: daily, jobTemplate: {spec: {" TASKS "}}"), "spec.schedule: Invalid value: \"daily\": expected five fields"},
        {CRON("c", "schedule: 'TZ=UTC 1 * * * *', jobTemplate: {spec: {" TASKS "}}"), "spec.schedule"},
        {CRON("c", "schedule: '@daily', timeZone: Europe/Berlin, jobTemplate: {spec: {" TASKS "}}"), ""},
        {CRON("c", "schedule: '@daily', timeZone: Local, jobTemplate: {spec: {" TASKS "}}"),
         "spec.timeZone: Invalid value: \"Local\": timeZone must be an explicit time zone"},
        {CRON("c", "schedule: '@daily', timeZone: ../zone, jobTemplate: {spec: {" TASKS "}}"), "spec.timeZone: Invalid value: \"../zone\": unknown"},
        {CRON("a-name-with-so-many-letters-that-there-is-no-room-left-f", "schedule: '@daily', jobTemplate: {spec: {" TASKS "}}"),
         "metadata.name: Invalid value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit(*state, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\n%s", cases[i].yaml, errors);
    }
}

static void what_no_job_would_come_of_is_told(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *yaml, *warning;
    } cases[] = {
        {TEMPLATE("tasks: []"), "spec: its Job would be refused: spec.tasks: Required value: No task specified in job spec"},
        {TEMPLATE("minAvailable: 2, " TASKS), "spec: its Job would be refused: spec.minAvailable: Invalid value: 2"},
        {TEMPLATE("plugins: {pytorch: []}, " TASKS), "spec: of its Job: spec.plugins[pytorch]: it does nothing"},
        {CRON("c", "schedule: '@daily', jobTemplate: {spec: {queue: gone, " TASKS "}}"),
         "spec.jobTemplate.spec: its Job would be refused: spec.queue: Invalid value: \"gone\": unable to find job queue"},
        {FLOW(""), "spec.flows: there are none, and the flow stays Pending"},
        {FLOW(A ", " AFTER("b", "a") ", " A),
         "spec.flows[2]: has no effect: an earlier one is called a, and its Job is made once, as that one says"},
        {FLOW(A ", {name: b, dependsOn: {targets: [a], probe: {httpGetList: [{taskName: t, path: /, port: 80}]}}}"),
         "spec.flows[1].dependsOn.probe.httpGetList: has no effect yet: nobody connects to pods"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(admit(w, cases[i].yaml), "");
        if (w->x.warnings_n == 0 || !strstr(w->x.warnings[0], cases[i].warning))
            fail_msg("%s\n%s", cases[i].yaml, w->x.warnings_n ? w->x.warnings[0] : "(no warning)");
    }
    assert_string_equal(admit(w, cases[0].yaml), "");
    struct json *old = json_clone(w->arena, w->object);
    assert_string_equal(admit_as(w, cases[0].yaml, old, false, true), "");
    assert_int_equal(w->x.warnings_n, 0); /* said when it was written */
}

/* As many as there may be, and one more; the longest chain, closed to a circle. */
static const char *chain(struct world *w, uint32_t n, bool closed, uint32_t targets)
{
    struct buf text = {0};
    buf_text(&text, "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f, namespace: ns}\nspec:\n  flows:\n");
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(&text, "  - name: s%u\n    dependsOn: {targets: [", i);
        for (uint32_t t = 0; t < targets && (i > 0 || closed); t++)
            buf_printf(&text, "%ss%u", t ? ", " : "", i > 0 ? i - 1 : n - 1);
        buf_text(&text, "]}\n");
    }
    const char *copy = arena_text_n(w->arena, text.data, text.n);
    buf_free(&text);
    return copy;
}

static void there_may_be_so_many(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, chain(w, LIMIT_FLOWS, false, 1)), "");
    assert_non_null(strstr(admit(w, chain(w, LIMIT_FLOWS + 1, false, 1)), "spec.flows: Too long: must have at most 512 items"));
    assert_non_null(strstr(admit(w, chain(w, LIMIT_FLOWS, true, 1)), "is not DAG"));
    assert_non_null(strstr(admit(w, chain(w, LIMIT_FLOWS, false, 9)), "spec.flows: Too long: 4599 names in dependsOn, at most 4096 together"));
}

static void tasks_in_a_circle_are_found_however_many(void **state)
{
    struct world *w = *state;
    struct buf text = {0};
    buf_text(&text, "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  tasks:\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&text, "  - {name: t%d, replicas: 1, dependsOn: {name: [t%d]}, template: {spec: {containers: [{name: c, image: i}]}}}\n", i,
                   (i + 1) % 40);
    assert_non_null(strstr(admit(w, arena_text_n(w->arena, text.data, text.n)), "doesn't form a directed acyclic graph(DAG): t0, t1, t2"));
    for (int i = 40; i <= LIMIT_VCJOB_TASKS; i++)
        buf_printf(&text, "  - {name: t%d, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n", i);
    assert_non_null(strstr(admit(w, arena_text_n(w->arena, text.data, text.n)), "spec.tasks: Too long: must have at most 256 items"));
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flows_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_no_job_would_come_of_is_told, world_open, world_close),
        cmocka_unit_test_setup_teardown(there_may_be_so_many, world_open, world_close),
        cmocka_unit_test_setup_teardown(tasks_in_a_circle_are_found_however_many, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
