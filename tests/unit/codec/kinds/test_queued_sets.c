/* Who names a queue in vain: what is said, by whom it is said, and what mends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "codec/admission/admission_part.h"
#include "codec/kinds/queued_sets.h"
#include "../admission_world.h"

#define LABEL "kueue.x-k8s.io/queue-name"
#define PARENT "kueue.x-k8s.io/pod-suspending-parent"
#define NAMED "{name: x, namespace: ns, labels: {" LABEL ": q}}"
#define POD "spec: {containers: [{name: c, image: i}], restartPolicy: Always}"
#define APPS(kind, metadata, template) \
    "{apiVersion: apps/v1, kind: " kind ", metadata: " metadata ", spec: {selector: {matchLabels: {a: b}}, template: {" template "}}}"
#define CRON(template) \
    "{apiVersion: batch/v1, kind: CronJob, metadata: " NAMED ", spec: {schedule: '@daily', jobTemplate: {" template "spec: {template: {spec: " \
    "{restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}"
#define LWS(leader, worker) \
    "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: " NAMED ", spec: {leaderWorkerTemplate: {size: 2" leader \
    ", workerTemplate: {" worker POD "}}}}"
#define HELD "metadata: {annotations: {" PARENT ": leaderworkerset.x-k8s.io/leaderworkerset}}, "

struct unheld_case {
    const char *yaml, *says; /* says "": nothing */
};
static const struct unheld_case cases[] = {
    {APPS("Deployment", NAMED, "metadata: {labels: {a: b}}, " POD), "its pods do not wait for quota, and its label " LABEL
     " does nothing: write it into spec.template.metadata.labels, too, as " LABEL ": q; from Kubernetes 1.36 on"},
    {APPS("Deployment", NAMED, "metadata: {labels: {a: b, " LABEL ": q}}, " POD), ""},
    {APPS("Deployment", "{name: x}", "metadata: {labels: {a: b}}, " POD), ""},
    {APPS("Deployment", "{name: x, labels: 3}", "metadata: 4, " POD), ""},
    {APPS("ReplicaSet", NAMED, "metadata: {labels: {a: b}}, " POD), "into spec.template.metadata.labels, too, as " LABEL ": q"},
    {APPS("ReplicaSet", "{name: x, labels: {" LABEL ": q}, ownerReferences: [{kind: Deployment, name: d, controller: true}]}",
          "metadata: {labels: {a: b}}, " POD), ""},
    {APPS("DaemonSet", NAMED, "metadata: {labels: {a: b}}, " POD), "into spec.template.metadata.labels, too"},
    {APPS("StatefulSet", NAMED, "metadata: {labels: {a: b}}, " POD), "write into spec.template.metadata the annotation " PARENT
     ": statefulset and the label " LABEL ": q"},
    {CRON(""), "its Jobs do not wait for quota, and its label " LABEL " does nothing: write it into spec.jobTemplate.metadata.labels"},
    {CRON("metadata: {labels: {" LABEL ": q}}, "), ""},
    {LWS("", ""), "write into spec.leaderWorkerTemplate.workerTemplate.metadata the annotation " PARENT
     ": leaderworkerset.x-k8s.io/leaderworkerset"},
    {LWS(", leaderTemplate: {" POD "}", HELD), "write into spec.leaderWorkerTemplate.leaderTemplate.metadata the annotation"},
    {LWS(", leaderTemplate: {" HELD POD "}", HELD), ""},
    {"{apiVersion: batch/v1, kind: Job, metadata: " NAMED ", spec: {template: {" POD "}}}", ""},
};
enum { CASES_N = sizeof cases / sizeof *cases };

static void what_is_missing_is_said(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < CASES_N; i++) {
        const struct json *object = parse(w, cases[i].yaml);
        const char *text = unheld_text(w->arena, json_get_text(object, "kind", ""), object);
        if (cases[i].says[0] ? !text || !strstr(text, cases[i].says) : text != NULL)
            fail_msg("%s\n%s", cases[i].yaml, text ? text : "(nothing)");
    }
    assert_null(unheld_text(w->arena, "Deployment", NULL));
}

/* What is said can be done, and then nothing is said; the rest stays. */
static void what_is_missing_is_written(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < CASES_N; i++) {
        struct json *object = parse(w, cases[i].yaml);
        const char *kind = json_get_text(object, "kind", "");
        assert_int_equal(unheld_mend(w->arena, kind, object), cases[i].says[0] != '\0');
        assert_null(unheld_text(w->arena, kind, object));
        assert_false(unheld_mend(w->arena, kind, object));
    }
    struct json *set = parse(w, cases[0].yaml);
    assert_true(unheld_mend(w->arena, "Deployment", set));
    assert_string_equal(json_text(json_path(set, "spec", "template", "metadata", "labels", "a", NULL), ""), "b");
    assert_string_equal(json_text(json_path(set, "spec", "template", "metadata", "labels", LABEL, NULL), ""), "q");
}

/* The server and lint say it of kinds whose label nobody ever writes into their template. */
static void who_creates_one_is_told(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *yaml;
        bool told;
    } made[] = {{APPS("ReplicaSet", NAMED, "metadata: {labels: {a: b}}, " POD), true},
                {APPS("ReplicaSet", NAMED, "metadata: {labels: {a: b, " LABEL ": q}}, " POD), false},
                {APPS("DaemonSet", NAMED, "metadata: {labels: {a: b}}, " POD), true},
                {APPS("DaemonSet", NAMED, "metadata: {labels: {a: b, " LABEL ": q}}, " POD), false},
                {APPS("Deployment", NAMED, "metadata: {labels: {a: b}}, " POD), false},
                {CRON(""), true},
                {CRON("metadata: {labels: {" LABEL ": q}}, "), false}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_string_equal(admit_as(w, made[i].yaml, NULL, false, true), "");
        assert_int_equal(w->x.warnings_n, made[i].told);
        if (made[i].told)
            assert_memory_equal(w->x.warnings[0], "metadata.labels[" LABEL "]: its ", strlen("metadata.labels[" LABEL "]: its "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_missing_is_written, world_open, world_close),
        cmocka_unit_test_setup_teardown(who_creates_one_is_told, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
