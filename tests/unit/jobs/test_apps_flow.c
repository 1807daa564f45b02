/* StatefulSets and DaemonSets against the API server, scheduler and simulated kubelets, on a virtual clock: what a user sees of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs/taint_eviction.h"
#include "world.h"

#define APPS "/apis/apps/v1/namespaces/n/"
#define SETS APPS "statefulsets/"
#define PODS "/api/v1/namespaces/n/pods/"
#define NODES "/api/v1/nodes/"
#define MATCHES(app) "\"selector\":{\"matchLabels\":{\"app\":\"" app "\"}},"

/* Something with pods of the label app=NAME; spec and pod: more of its spec and of theirs, each member with a comma behind it. */
static void controller(const char *api_version, const char *kind, const char *name, const char *spec, const char *pod)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s"
                        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
                        "\"image\":\"one\"}]}}}}",
                        api_version, kind, name, spec, name, pod));
}

static void stateful(const char *name, const char *spec)
{
    controller("apps/v1", "StatefulSet", name,
               arena_printf(w.a, "\"serviceName\":\"svc\"," MATCHES("%s") "%s", name, spec), "");
}

static const struct json *pods(const char *selector)
{
    return json_get(get(arena_printf(w.a, "/api/v1/namespaces/n/pods?labelSelector=%s", selector)), "items");
}

/* "WHO:IMAGE:PHASE " */
static void pod_text(struct buf *out, const char *who, const struct json *pod)
{
    const struct json *container = json_item(json_path(pod, "spec", "containers", NULL), 0);
    buf_printf(out, "%s:%s:%s ", who, json_get_text(container, "image", ""),
               object_deleting(pod) ? "ending" : json_text(json_path(pod, "status", "phase", NULL), ""));
}

/* Of each pod, by name. */
static const char *pods_text(const char *selector)
{
    _cleanup_buf_ struct buf out = {0};
    JSON_EACH (pod, pods(selector))
        pod_text(&out, object_meta(pod, "name"), pod);
    return arena_text(w.a, out.data ? out.data : "");
}

static int64_t status_n(const char *path, const char *field)
{
    return json_int64(json_path(get(path), "status", field, NULL), 0);
}

static const char *status_text(const char *path, const char *field)
{
    return json_text(json_path(get(path), "status", field, NULL), "");
}

static int revisions_n(void)
{
    return (int)json_get(get(APPS "controllerrevisions"), "items")->n;
}

static void set_image(const char *path, const char *image)
{
    patch(path, arena_printf(w.a, "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"%s\"}]}}}}", image));
}

static void test_pods_have_names_and_come_in_order(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":3,");
    run(150); /* a simulated pod starts after 200 ms */
    assert_string_equal(pods_text("app=web"), "web-0:one:Pending ");
    run(4000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running web-2:one:Running ");
    const struct json *pod = get(PODS "web-1"), *set = get(SETS "web");
    assert_string_equal(json_text(json_path(pod, "spec", "hostname", NULL), ""), "web-1");
    assert_string_equal(json_text(json_path(pod, "spec", "subdomain", NULL), ""), "svc");
    assert_string_equal(object_label(pod, "statefulset.kubernetes.io/pod-name"), "web-1");
    assert_string_equal(object_label(pod, "apps.kubernetes.io/pod-index"), "1");
    assert_string_equal(object_label(pod, "controller-revision-hash"), status_text(SETS "web", "updateRevision"));
    assert_string_equal(object_controller(pod, "uid"), object_meta(set, "uid"));
    assert_int_equal(status_n(SETS "web", "replicas"), 3);
    assert_int_equal(status_n(SETS "web", "readyReplicas"), 3);
    assert_int_equal(status_n(SETS "web", "currentReplicas"), 3);
    assert_int_equal(status_n(SETS "web", "updatedReplicas"), 3);
    assert_int_equal(status_n(SETS "web", "observedGeneration"), 1);
    patch(SETS "web", "{\"spec\":{\"replicas\":1}}");
    run(100);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running web-2:one:ending ");
    run(5000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running ");
    assert_int_equal(status_n(SETS "web", "replicas"), 1);
}

static void test_update_goes_down_to_the_partition(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":3,\"updateStrategy\":{\"rollingUpdate\":{\"partition\":2}},");
    run(5000);
    const char *first = status_text(SETS "web", "currentRevision");
    set_image(SETS "web", "two");
    run(5000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running web-2:two:Running ");
    assert_string_equal(status_text(SETS "web", "currentRevision"), first);
    assert_string_not_equal(status_text(SETS "web", "updateRevision"), first);
    assert_int_equal(status_n(SETS "web", "currentReplicas"), 2);
    assert_int_equal(status_n(SETS "web", "updatedReplicas"), 1);
    delete(PODS "web-0");
    run(5000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running web-2:two:Running "); /* as it was */
    patch(SETS "web", "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}");
    run(10000);
    assert_string_equal(pods_text("app=web"), "web-0:two:Running web-1:two:Running web-2:two:Running ");
    assert_string_equal(status_text(SETS "web", "currentRevision"), status_text(SETS "web", "updateRevision"));
    assert_int_equal(revisions_n(), 2);
    set_image(SETS "web", "one"); /* as `rollout undo` */
    run(10000);
    assert_string_equal(status_text(SETS "web", "currentRevision"), first);
    assert_int_equal(revisions_n(), 2);
    const struct json *revision = get(arena_printf(w.a, APPS "controllerrevisions/%s", first));
    assert_int_equal(json_get_int64(revision, "revision", 0), 3);
    assert_string_equal(json_text(json_path(revision, "data", "spec", "template", "$patch", NULL), ""), "replace");
}

static void test_history_is_bounded(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":1,\"revisionHistoryLimit\":1,");
    for (int i = 0; i < 4; i++) {
        run(3000);
        set_image(SETS "web", arena_printf(w.a, "image-%d", i));
    }
    run(4000);
    assert_string_equal(pods_text("app=web"), "web-0:image-3:Running ");
    assert_int_equal(revisions_n(), 2);
}

static void test_on_delete_waits_for_the_user(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":2,\"podManagementPolicy\":\"Parallel\",\"updateStrategy\":{\"type\":\"OnDelete\"},");
    run(400);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running ");
    set_image(SETS "web", "two");
    run(3000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running web-1:one:Running ");
    delete(PODS "web-0");
    run(3000);
    assert_string_equal(pods_text("app=web"), "web-0:two:Running web-1:one:Running ");
}

static const char *claims_text(void)
{
    _cleanup_buf_ struct buf out = {0};
    JSON_EACH (claim, json_get(get("/api/v1/namespaces/n/persistentvolumeclaims"), "items"))
        buf_printf(&out, "%s ", object_meta(claim, "name"));
    return arena_text(w.a, out.data ? out.data : "");
}

#define CLAIMS                                                                                                       \
    "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"     \
    "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],"

static void test_claims_stay(void **state)
{
    (void)state;
    stateful("db", "\"replicas\":2," CLAIMS);
    run(4000);
    assert_string_equal(claims_text(), "data-db-0 data-db-1 ");
    const struct json *volume = json_item(json_path(get(PODS "db-1"), "spec", "volumes", NULL), 0);
    assert_string_equal(json_text(json_path(volume, "persistentVolumeClaim", "claimName", NULL), ""), "data-db-1");
    patch(SETS "db", "{\"spec\":{\"replicas\":1}}");
    run(4000);
    assert_string_equal(claims_text(), "data-db-0 data-db-1 ");
    delete(SETS "db");
    run(4000);
    assert_string_equal(pods_text("app=db"), "");
    assert_string_equal(claims_text(), "data-db-0 data-db-1 ");
    assert_int_equal(revisions_n(), 0);
}

static void test_claims_go_where_the_policy_says_so(void **state)
{
    (void)state;
    stateful("db",
             "\"replicas\":2,\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"Delete\",\"whenScaled\":\"Delete\"}," CLAIMS);
    run(4000);
    patch(SETS "db", "{\"spec\":{\"replicas\":1}}");
    run(4000);
    assert_string_equal(claims_text(), "data-db-0 ");
    delete(SETS "db");
    run(4000);
    assert_string_equal(claims_text(), "");
}

static void test_failed_pod_is_replaced(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":1,");
    run(2000);
    const char *uid = object_meta(get(PODS "web-0"), "uid");
    patch(PODS "web-0/status", "{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}");
    run(5000);
    assert_string_equal(pods_text("app=web"), "web-0:one:Running ");
    assert_string_not_equal(object_meta(get(PODS "web-0"), "uid"), uid);
}

/* ---- DaemonSet ---- */

#define DAEMONS APPS "daemonsets/"

static void daemon_set(const char *name, const char *spec, const char *pod)
{
    controller("apps/v1", "DaemonSet", name, arena_printf(w.a, MATCHES("%s") "%s", name, spec), pod);
}

/* Of each pod, by node. */
static const char *by_node(const char *selector)
{
    static const char *const nodes[] = {"", "n1", "n2", "n3"};
    _cleanup_buf_ struct buf out = {0};
    const struct json *list = pods(selector);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        JSON_EACH (pod, list)
            if (text_equal(json_text(json_path(pod, "spec", "nodeName", NULL), ""), nodes[i]))
                pod_text(&out, nodes[i], pod);
    return arena_text(w.a, out.data ? out.data : "");
}

static const char *daemon_counts(const char *path)
{
    static const char *const fields[] = {"desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady",
                                         "updatedNumberScheduled", "numberAvailable", "numberUnavailable"};
    _cleanup_buf_ struct buf out = {0};
    const struct json *status = json_get(get(path), "status");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        buf_printf(&out, "%d ", (int)json_get_int64(status, fields[i], 0));
    return arena_text(w.a, out.data);
}

static void test_daemons_stand_on_every_node(void **state)
{
    (void)state;
    daemon_set("agent", "", "");
    run(3000);
    assert_string_equal(by_node("app=agent"), "n1:one:Running n2:one:Running ");
    assert_string_equal(daemon_counts(DAEMONS "agent"), "2 2 0 2 2 2 0 ");
    node("n3", 0);
    run(3000);
    assert_string_equal(by_node("app=agent"), "n1:one:Running n2:one:Running n3:one:Running ");
    delete(NODES "n3");
    run(8000);
    assert_string_equal(by_node("app=agent"), "n1:one:Running n2:one:Running ");
    assert_string_equal(daemon_counts(DAEMONS "agent"), "2 2 0 2 2 2 0 ");
}

static void test_daemons_follow_labels_and_taints(void **state)
{
    (void)state;
    patch(NODES "n1", "{\"metadata\":{\"labels\":{\"disk\":\"ssd\"}}}");
    daemon_set("picky", "", "\"nodeSelector\":{\"disk\":\"ssd\"},");
    daemon_set("meek", "", "");
    run(3000);
    assert_string_equal(by_node("app=picky"), "n1:one:Running ");
    patch(NODES "n2", "{\"metadata\":{\"labels\":{\"disk\":\"ssd\"}}}");
    run(3000);
    assert_string_equal(by_node("app=picky"), "n1:one:Running n2:one:Running ");
    patch(NODES "n1", "{\"metadata\":{\"labels\":{\"disk\":null}}}");
    run(3000);
    assert_string_equal(by_node("app=picky"), "n2:one:Running ");
    /* a cordoned node and one whose taint only keeps new pods away keep their daemons, and get new ones where that is tolerated */
    patch(NODES "n2", "{\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"node.kubernetes.io/unschedulable\",\"effect\":\"NoSchedule\"}]}}");
    patch(NODES "n1", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}}");
    run(2000);
    assert_string_equal(by_node("app=meek"), "n1:one:Running n2:one:Running ");
    assert_string_equal(daemon_counts(DAEMONS "meek"), "1 1 1 1 1 1 0 ");
    daemon_set("late", "", "");
    daemon_set("bold", "", "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}],");
    run(3000);
    assert_string_equal(by_node("app=late"), "n2:one:Running ");
    assert_string_equal(by_node("app=bold"), "n1:one:Running n2:one:Running ");
    patch(NODES "n1", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoExecute\"}]}}");
    run(3000);
    assert_string_equal(by_node("app=meek"), "n2:one:Running ");
    assert_string_equal(by_node("app=bold"), "n1:one:Running n2:one:Running ");
}

static void test_daemons_are_updated_a_few_at_a_time(void **state)
{
    (void)state;
    daemon_set("agent", "", "");
    run(3000);
    set_image(DAEMONS "agent", "two");
    run(60);
    int running = 0;
    JSON_EACH (pod, pods("app=agent"))
        running += !object_deleting(pod);
    assert_int_equal(running, 1);
    run(5000);
    assert_string_equal(by_node("app=agent"), "n1:two:Running n2:two:Running ");
    assert_string_equal(daemon_counts(DAEMONS "agent"), "2 2 0 2 2 2 0 ");
    assert_int_equal(revisions_n(), 2);
    patch(DAEMONS "agent", "{\"spec\":{\"updateStrategy\":{\"type\":\"OnDelete\",\"rollingUpdate\":null}}}");
    set_image(DAEMONS "agent", "three");
    run(3000);
    assert_string_equal(by_node("app=agent"), "n1:two:Running n2:two:Running ");
    assert_string_equal(daemon_counts(DAEMONS "agent"), "2 2 0 2 0 2 0 ");
}

/* A revision that somebody writes by hand, with the same template, restarts nobody. */
static void test_daemons_do_not_mind_a_revision_of_others(void **state)
{
    (void)state;
    daemon_set("agent", "", "");
    run(3000);
    const struct json *made = json_item(json_get(get(APPS "controllerrevisions"), "items"), 0);
    struct json *copy = json_clone(w.a, made), *metadata = json_new(w.a, JSON_OBJECT);
    const char *pod = object_meta(json_item(pods("app=agent"), 0), "name");
    json_set_text(w.a, metadata, "name", "agent-mine");
    json_set_text(w.a, metadata, "namespace", "n");
    json_set(w.a, metadata, "labels", json_parse(w.a, BYTES("{\"app\":\"agent\"}"), NULL, NULL));
    json_set(w.a, metadata, "ownerReferences", json_clone(w.a, json_path(made, "metadata", "ownerReferences", NULL)));
    json_set(w.a, copy, "metadata", metadata);
    json_set_text(w.a, copy, "apiVersion", "apps/v1");
    json_set_text(w.a, copy, "kind", "ControllerRevision");
    json_set_int64(w.a, copy, "revision", 2);
    struct err e = {0};
    assert_int_equal(apiserver_create(w.server, w.a, copy, &e), 0);
    delete(arena_printf(w.a, APPS "controllerrevisions/%s", object_meta(made, "name")));
    run(5000);
    assert_int_equal(revisions_n(), 1);
    assert_string_equal(daemon_counts(DAEMONS "agent"), "2 2 0 2 2 2 0 ");
    assert_non_null(get(arena_printf(w.a, PODS "%s", pod)));
    set_image(DAEMONS "agent", "two");
    run(6000);
    assert_string_equal(by_node("app=agent"), "n1:two:Running n2:two:Running ");
    assert_int_equal(revisions_n(), 2);
    int64_t newest = 0;
    JSON_EACH (revision, json_get(get(APPS "controllerrevisions"), "items"))
        newest = json_get_int64(revision, "revision", 0) > newest ? json_get_int64(revision, "revision", 0) : newest;
    assert_int_equal(newest, 3);
}

static void test_daemons_surge(void **state)
{
    (void)state;
    daemon_set("agent", "\"updateStrategy\":{\"rollingUpdate\":{\"maxSurge\":1,\"maxUnavailable\":0}},", "");
    run(3000);
    set_image(DAEMONS "agent", "two");
    for (int i = 0; i < 50; i++) {
        run(100);
        assert_int_equal(status_n(DAEMONS "agent", "numberAvailable"), 2);
    }
    assert_string_equal(by_node("app=agent"), "n1:two:Running n2:two:Running ");
}

/* ---- adoption and release ---- */

static void bare_pod(const char *ns, const char *name, const char *app)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"labels\":{"
                        "\"app\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"one\"}]}}",
                        name, ns, app));
}

static const char *controller_of(const char *path)
{
    const struct json *object = get(path);
    return arena_printf(w.a, "%s/%s", object_controller(object, "kind"), object_controller(object, "name"));
}

static int pods_of(const char *selector)
{
    return (int)pods(selector)->n;
}

/* kind takes the pod p in, gives it back when its label changes, and makes another for it. */
static void check_adoption(const char *api_version, const char *kind, const char *spec, const char *pod, int pods)
{
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n2\"}}");
    const char *path = arena_printf(w.a, PODS "%s", pod);
    bare_pod("n", pod, "web");
    bare_pod("n", "other", "other");
    bare_pod("n2", pod, "web");
    run(1000);
    controller(api_version, kind, "web", spec, "");
    run(4000);
    assert_string_equal(controller_of(path), arena_printf(w.a, "%s/web", kind));
    assert_string_equal(controller_of(PODS "other"), "/");
    assert_string_equal(controller_of(arena_printf(w.a, "/api/v1/namespaces/n2/pods/%s", pod)), "/");
    assert_int_equal(pods_of("app=web"), pods);
    patch(path, "{\"metadata\":{\"labels\":{\"app\":\"alone\"}}}");
    run(4000);
    assert_string_equal(controller_of(path), "/");
    /* and back again */
    patch(path, "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
    run(8000);
    assert_int_equal(pods_of("app=web"), pods);
}

static void test_replica_set_adopts_and_releases(void **state)
{
    (void)state;
    check_adoption("apps/v1", "ReplicaSet", "\"replicas\":2," MATCHES("web"), "p", 2);
}

static void test_replication_controller_adopts_and_releases(void **state)
{
    (void)state;
    check_adoption("v1", "ReplicationController", "\"replicas\":2,\"selector\":{\"app\":\"web\"},", "p", 2);
}

static void test_daemon_set_adopts_and_releases(void **state)
{
    (void)state;
    check_adoption("apps/v1", "DaemonSet", "\"updateStrategy\":{\"type\":\"OnDelete\"}," MATCHES("web"), "p", 2);
}

static void test_stateful_set_adopts_by_name(void **state)
{
    (void)state;
    bare_pod("n", "p", "web"); /* not called as pods of the set are */
    check_adoption("apps/v1", "StatefulSet", "\"replicas\":2,\"updateStrategy\":{\"type\":\"OnDelete\"}," MATCHES("web"), "web-0", 3);
    assert_string_equal(controller_of(PODS "p"), "/");
}

static void test_job_adopts_and_releases(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"k\",\"namespace\":\"n\"},\"spec\":{\"parallelism\":2,"
           "\"completions\":2,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{"
           "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(3000);
    const struct json *pod = json_item(pods("job-name=k"), 0);
    const char *path = arena_printf(w.a, PODS "%s", object_meta(pod, "name"));
    patch(path, "{\"metadata\":{\"ownerReferences\":null}}");
    run(3000);
    assert_string_equal(controller_of(path), "Job/k");
    assert_int_equal(pods_of("job-name=k"), 2);
    patch(path, "{\"metadata\":{\"labels\":null}}");
    run(3000);
    assert_string_equal(controller_of(path), "/");
    assert_int_equal(pods_of("job-name=k"), 2);
}

/* Kubernetes gives each index its own back-off: those that have not failed start at once. */
static void test_indexes_do_not_wait_for_each_other(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"k\",\"namespace\":\"n\"},\"spec\":{\"parallelism\":2,"
           "\"completions\":4,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":1,\"template\":{\"metadata\":{\"annotations\":{"
           "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"1\"}},\"spec\":{\"restartPolicy\":\"Never\","
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(4000);
    assert_int_equal(pods_of("job-name=k"), 2);
    run(10000); /* the second try of 0 and 1 has failed, too */
    assert_string_equal(status_text("/apis/batch/v1/namespaces/n/jobs/k", "failedIndexes"), "0,1");
    run(3000);
    assert_int_equal(pods_of("job-name=k"), 6); /* so that it is the turn of 2 and 3 */
    run(12000);
    assert_string_equal(status_text("/apis/batch/v1/namespaces/n/jobs/k", "failedIndexes"), "0-3");
    assert_string_equal(json_get_text(object_condition(get("/apis/batch/v1/namespaces/n/jobs/k"), "Failed"), "reason", ""), "FailedIndexes");
}

static void test_deployment_adopts_and_releases(void **state)
{
    (void)state;
    static const char path[] = APPS "replicasets/web";
    controller("apps/v1", "ReplicaSet", "web", "\"replicas\":2," MATCHES("web"), "");
    patch(path, "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
    run(3000);
    controller("apps/v1", "Deployment", "web", "\"replicas\":2," MATCHES("web"), "");
    run(4000);
    assert_string_equal(controller_of(path), "Deployment/web");
    assert_int_equal(pods_of("app=web"), 2);
    patch(path, "{\"metadata\":{\"labels\":{\"app\":\"alone\"}}}");
    run(4000);
    assert_string_equal(controller_of(path), "/");
    assert_int_equal((int)json_get(get(APPS "replicasets"), "items")->n, 2);
}

static void test_orphaned_set_is_taken_over_whole(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":2,");
    run(4000);
    const char *uid = object_meta(get(PODS "web-1"), "uid");
    kube_delete(w.client, SETS "web", BYTES("{\"propagationPolicy\":\"Orphan\"}"), NULL, NULL);
    run(2000);
    assert_string_equal(controller_of(PODS "web-1"), "/");
    stateful("web", "\"replicas\":2,");
    run(4000);
    assert_string_equal(controller_of(PODS "web-1"), "StatefulSet/web");
    assert_string_equal(object_meta(get(PODS "web-1"), "uid"), uid);
    assert_int_equal(revisions_n(), 1);
    const char *revision = status_text(SETS "web", "currentRevision");
    assert_string_equal(controller_of(arena_printf(w.a, APPS "controllerrevisions/%s", revision)), "StatefulSet/web");
}

/* ---- pods that are refused ---- */

static const char *failure_of(const char *path)
{
    const struct json *c = object_condition(get(path), "ReplicaFailure");
    return arena_printf(w.a, "%s %s", json_get_text(c, "status", "none"), json_get_text(c, "reason", ""));
}

static void check_failure(const char *api_version, const char *kind, const char *selector, const char *path)
{
    controller(api_version, kind, "web", arena_printf(w.a, "%s\"replicas\":2,", selector), "\"priorityClassName\":\"late\",");
    run(1500);
    assert_string_equal(failure_of(path), "True FailedCreate");
    assert_non_null(strstr(json_get_text(object_condition(get(path), "ReplicaFailure"), "message", ""), "no PriorityClass with name late"));
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"late\"},\"value\":5}");
    run(5000);
    assert_int_equal(pods_of("app=web"), 2);
    assert_string_equal(failure_of(path), "none ");
}

static void test_refused_pods_are_told(void **state)
{
    (void)state;
    check_failure("apps/v1", "ReplicaSet", MATCHES("web"), APPS "replicasets/web");
}

static void test_refused_pods_of_replication_controllers_too(void **state)
{
    (void)state;
    check_failure("v1", "ReplicationController", "\"selector\":{\"app\":\"web\"},", "/api/v1/namespaces/n/replicationcontrollers/web");
}

/* ---- taints that evict ---- */

static void test_evicting_taints_have_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *taints, *tolerations;
        int64_t ms;
    } cases[] = {
        {"[]", "[]", TAINT_EVICTION_NEVER},
        {"[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]", "[]", TAINT_EVICTION_NEVER},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", "[]", 0},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", "[{\"operator\":\"Exists\"}]", TAINT_EVICTION_NEVER},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", "[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]", 0},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", "[{\"key\":\"k\",\"operator\":\"Exists\",\"tolerationSeconds\":5}]", 5000},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", "[{\"key\":\"k\",\"operator\":\"Exists\",\"tolerationSeconds\":-5}]", 0},
        {"[{\"key\":\"k\",\"value\":\"a\",\"effect\":\"NoExecute\"}]", "[{\"key\":\"k\",\"value\":\"b\"}]", 0},
        {"[{\"key\":\"k\",\"value\":\"a\",\"effect\":\"NoExecute\"}]", "[{\"key\":\"k\",\"value\":\"a\"}]", TAINT_EVICTION_NEVER},
        {"[{\"key\":\"k\",\"effect\":\"NoExecute\"},{\"key\":\"l\",\"effect\":\"NoExecute\"}]",
         "[{\"key\":\"l\",\"operator\":\"Exists\",\"tolerationSeconds\":7},{\"key\":\"k\",\"operator\":\"Exists\",\"tolerationSeconds\":9}]", 7000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(taint_eviction_patience_ms(json_parse(w.a, bytes_of(cases[i].taints), NULL, NULL),
                                                    json_parse(w.a, bytes_of(cases[i].tolerations), NULL, NULL)),
                         cases[i].ms);
}

static void tolerant_pod(const char *name, const char *tolerations)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{\"app\":\"p\"}},"
                        "\"spec\":{\"nodeName\":\"n1\",\"terminationGracePeriodSeconds\":0,\"tolerations\":[%s],\"containers\":[{\"name\":\"c\","
                        "\"image\":\"one\"}]}}",
                        name, tolerations));
}

static void test_taints_evict_pods(void **state)
{
    (void)state;
    tolerant_pod("bold", "{\"key\":\"k\",\"operator\":\"Exists\"}");
    tolerant_pod("brief", "{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":5}");
    tolerant_pod("meek", "");
    run(2000);
    patch(NODES "n1", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}");
    run(10000);
    assert_int_equal(pods_of("app=p"), 3);
    patch(NODES "n1", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}}");
    run(3000);
    assert_string_equal(pods_text("app=p"), "bold:one:Running brief:one:Running ");
    run(4000);
    assert_string_equal(pods_text("app=p"), "bold:one:Running ");
    tolerant_pod(
        "late",
        "{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":5}"); /* its time begins when it comes */
    run(3000);
    assert_string_equal(pods_text("app=p"), "bold:one:Running late:one:Running ");
    patch(NODES "n1", "{\"spec\":{\"taints\":null}}"); /* in time */
    run(10000);
    assert_string_equal(pods_text("app=p"), "bold:one:Running late:one:Running ");
    patch(NODES "n1", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"},{\"key\":\"l\",\"effect\":\"NoExecute\"}]}}");
    run(2000);
    assert_string_equal(pods_text("app=p"), "");
}

/* ---- Endpoints ---- */

static void service(const char *name, const char *spec)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s"
                        "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]}}",
                        name, spec));
}

/* "ready/not ready" of Endpoints and "ready/all" of slices. */
static const char *addresses(const char *name)
{
    int ready = 0, unready = 0, slice_ready = 0, slice_all = 0;
    JSON_EACH (subset, json_get(get(arena_printf(w.a, "/api/v1/namespaces/n/endpoints/%s", name)), "subsets")) {
        ready += json_get(subset, "addresses") ? (int)json_get(subset, "addresses")->n : 0;
        unready += json_get(subset, "notReadyAddresses") ? (int)json_get(subset, "notReadyAddresses")->n : 0;
    }
    JSON_EACH (slice, json_get(get(arena_printf(w.a, "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices?labelSelector="
                                                     "kubernetes.io/service-name=%s", name)), "items"))
        JSON_EACH (endpoint, json_get(slice, "endpoints")) {
            slice_all++;
            slice_ready += json_bool(json_path(endpoint, "conditions", "ready", NULL), false);
        }
    return arena_printf(w.a, "%d/%d %d/%d", ready, unready, slice_ready, slice_all);
}

static void test_endpoints_follow_pods_and_services(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":2,");
    run(3000);
    service("all", "\"selector\":{\"app\":\"web\"},");
    service("first", "\"clusterIP\":\"None\",\"selector\":{\"statefulset.kubernetes.io/pod-name\":\"web-0\"},");
    service("none", "\"selector\":{\"app\":\"web\",\"x\":\"y\"},");
    service("mine", "");
    run(1000);
    assert_string_equal(addresses("all"), "2/0 2/2");
    assert_string_equal(addresses("first"), "1/0 1/1");
    assert_string_equal(addresses("none"), "0/0 0/0");
    assert_null(get("/api/v1/namespaces/n/endpoints/mine")); /* without a selector they are the user's */
    const struct json *pod = get(PODS "web-0"), *endpoints = get("/api/v1/namespaces/n/endpoints/first");
    const struct json *address = json_item(json_get(json_item(json_get(endpoints, "subsets"), 0), "addresses"), 0);
    assert_string_equal(json_get_text(address, "ip", ""), json_text(json_path(pod, "status", "podIP", NULL), "none"));
    patch(SETS "web", "{\"spec\":{\"replicas\":3}}");
    run(3000);
    assert_string_equal(addresses("all"), "3/0 3/3");
    patch(PODS "web-1/status", "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
    run(1000);
    assert_string_equal(addresses("all"), "2/1 2/3");
    patch(PODS "web-2", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
    run(1000);
    assert_string_equal(addresses("none"), "1/0 1/1");
    patch("/api/v1/namespaces/n/services/none", "{\"spec\":{\"selector\":{\"x\":null,\"app\":\"other\"}}}");
    patch("/api/v1/namespaces/n/endpoints/all", "{\"subsets\":[]}"); /* is mended */
    run(1000);
    assert_string_equal(addresses("none"), "0/0 0/0");
    assert_string_equal(addresses("all"), "2/1 2/3");
    delete("/api/v1/namespaces/n/services/all");
    run(1000);
    assert_null(get("/api/v1/namespaces/n/endpoints/all"));
    assert_string_equal(addresses("all"), "0/0 0/0");
    delete(SETS "web");
    run(3000);
    assert_string_equal(addresses("first"), "0/0 0/0");
}

static void custom_endpoints(const char *ip)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"mine\",\"namespace\":\"n\"},\"subsets\":[{"
                        "\"addresses\":[{\"ip\":\"%s\"},{\"ip\":\"2001:db8::1\"}],\"notReadyAddresses\":[{\"ip\":\"192.0.2.9\"}],"
                        "\"ports\":[{\"port\":80}]}]}",
                        ip));
}

static const char *slices_text(const char *name)
{
    _cleanup_buf_ struct buf out = {0};
    const struct json *list = get(arena_printf(w.a, "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices?labelSelector="
                                                    "kubernetes.io/service-name=%s", name));
    static const char *const types[] = {"IPv4", "IPv6"};
    for (size_t i = 0; i < 2; i++)
        JSON_EACH (slice, json_get(list, "items")) {
            if (!text_equal(json_get_text(slice, "addressType", ""), types[i]))
                continue;
            buf_printf(&out, "%d:", (int)json_get_int64(json_item(json_get(slice, "ports"), 0), "port", 0));
            JSON_EACH (endpoint, json_get(slice, "endpoints"))
                buf_printf(&out, " %s%s", json_text(json_item(json_get(endpoint, "addresses"), 0), ""),
                           json_bool(json_path(endpoint, "conditions", "ready", NULL), false) ? "" : "?");
            buf_char(&out, ';');
        }
    return arena_text(w.a, out.data ? out.data : "");
}

static void test_endpoints_of_users_are_mirrored(void **state)
{
    (void)state;
    custom_endpoints("192.0.2.1");
    run(500);
    assert_string_equal(slices_text("mine"), ""); /* whose service is not there */
    service("mine", "");
    run(500);
    assert_string_equal(slices_text("mine"), "80: 192.0.2.1 192.0.2.9?;80: 2001:db8::1;");
    patch("/api/v1/namespaces/n/endpoints/mine", "{\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.2\"}],\"ports\":[{\"port\":81}]}]}");
    run(500);
    assert_string_equal(slices_text("mine"), "81: 192.0.2.2;");
    patch("/api/v1/namespaces/n/endpoints/mine", "{\"metadata\":{\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}}}");
    run(500);
    assert_string_equal(slices_text("mine"), "");
    patch("/api/v1/namespaces/n/endpoints/mine", "{\"metadata\":{\"labels\":null}}");
    run(500);
    assert_string_equal(slices_text("mine"), "81: 192.0.2.2;");
    delete("/api/v1/namespaces/n/endpoints/mine");
    run(1000);
    assert_string_equal(slices_text("mine"), "");
}

/* A service is written once, not again and again because the server stores it a little differently. */
static void test_endpoints_come_to_rest(void **state)
{
    (void)state;
    stateful("web", "\"replicas\":1,");
    service("web", "\"clusterIP\":\"None\",\"selector\":{\"app\":\"web\"},");
    run(4000);
    const char *before = object_meta(get("/api/v1/namespaces/n/endpoints/web"), "resourceVersion");
    uint64_t calls_n = kube_client_counts(w.client).calls_n;
    run(30000);
    assert_string_equal(object_meta(get("/api/v1/namespaces/n/endpoints/web"), "resourceVersion"), before);
    assert_in_range(kube_client_counts(w.client).calls_n - calls_n, 0, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pods_have_names_and_come_in_order),
        TEST(test_update_goes_down_to_the_partition),
        TEST(test_history_is_bounded),
        TEST(test_on_delete_waits_for_the_user),
        TEST(test_claims_stay),
        TEST(test_claims_go_where_the_policy_says_so),
        TEST(test_failed_pod_is_replaced),
        TEST(test_daemons_stand_on_every_node),
        TEST(test_daemons_follow_labels_and_taints),
        TEST(test_daemons_are_updated_a_few_at_a_time),
        TEST(test_daemons_do_not_mind_a_revision_of_others),
        TEST(test_daemons_surge),
        TEST(test_replica_set_adopts_and_releases),
        TEST(test_replication_controller_adopts_and_releases),
        TEST(test_daemon_set_adopts_and_releases),
        TEST(test_stateful_set_adopts_by_name),
        TEST(test_job_adopts_and_releases),
        TEST(test_indexes_do_not_wait_for_each_other),
        TEST(test_deployment_adopts_and_releases),
        TEST(test_orphaned_set_is_taken_over_whole),
        TEST(test_refused_pods_are_told),
        TEST(test_refused_pods_of_replication_controllers_too),
        TEST(test_evicting_taints_have_their_order),
        TEST(test_taints_evict_pods),
        TEST(test_endpoints_follow_pods_and_services),
        TEST(test_endpoints_of_users_are_mirrored),
        TEST(test_endpoints_come_to_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
