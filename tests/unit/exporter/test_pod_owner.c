/* Whose a pod is, out of the metadata that its makers write */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "exporter/collect/pod_owner.h"

static void who_is_asked_first(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *queue, *job, *user;
    } rows[] = {
        {"{}", "", "", ""},
        {"{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"users\",\"batch.kubernetes.io/job-name\":\"train\",\"capstan.dev/user\":\"ada\"}}",
         "users", "train", "ada"},
        {"{\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"batch\",\"volcano.sh/job-name\":\"ring\","
         "\"notebooks.kubeflow.org/creator\":\"bob@example.org\"}}",
         "batch", "ring", "bob@example.org"},
        {"{\"labels\":{\"jobset.sigs.k8s.io/jobset-name\":\"set\",\"job-name\":\"set-0\"},\"annotations\":{\"capstan.dev/user\":\"ada\","
         "\"notebooks.kubeflow.org/creator\":\"bob\"}}",
         "", "set", "ada"},
        {"{\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"chat-5d4f\"}],\"labels\":{\"pod-template-hash\":\"5d4f\"}}", "", "chat",
         ""},
        {"{\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"db\"}]}", "", "db", ""},
        {"{\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"model-1\"}],\"labels\":{\"leaderworkerset.sigs.k8s.io/name\":\"model\"}}", "",
         "model", ""},
        {"{\"labels\":{\"training.kubeflow.org/job-name\":\"mpi\",\"batch.kubernetes.io/job-name\":\"mpi-launcher\"}}", "", "mpi", ""},
        {"{\"labels\":7,\"annotations\":[],\"ownerReferences\":{}}", "", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct pod_owner o = pod_owner_of(a, json_parse(a, bytes_of(rows[i].metadata), NULL, NULL));
        assert_string_equal(o.queue, rows[i].queue);
        assert_string_equal(o.job, rows[i].job);
        assert_string_equal(o.user, rows[i].user);
    }
    _cleanup_arena_ struct arena *a = arena_new();
    assert_string_equal(pod_owner_of(a, NULL).user, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_is_asked_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
