#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define POD(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

#define assert_text(api, path, expect) assert_string_equal(api_text(api, path), expect)
#define assert_has(api, path, part) assert_non_null(strstr(api_text(api, path), part))

static void first_objects(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_get(api, "/api/v1/namespaces/kube-system"), 200);
    assert_text(api, "metadata.labels.kubernetes.io/metadata", "");
    assert_text(api, "status.phase", "Active");
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/serviceaccounts/default"), 200);
    assert_int_equal(api_get(api, MAPS "/kube-root-ca.crt"), 200);
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/services/kubernetes"), 200);
    assert_text(api, "spec.clusterIP", "10.96.0.1");
    assert_int_equal(api_get(api, "/readyz"), 200);
    assert_int_equal(api_get(api, "/version/"), 200);
    assert_text(api, "gitVersion", "v1.32.0+capstan");
}

/* SOURCE RFC 9562: version 7 and variant 10, its first 48 bits are milliseconds. */
static void uid_form(const char *uid)
{
    char hex[33] = "";
    size_t n = 0;
    assert_int_equal(strlen(uid), 36);
    for (size_t i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23)
            assert_int_equal(uid[i], '-');
        else
            hex[n++] = uid[i];
    }
    assert_int_equal(strspn(hex, "0123456789abcdef"), 32);
    assert_int_equal(hex[12], '7');
    assert_non_null(strchr("89ab", hex[16]));
    hex[12] = '\0';
    assert_true(strtoull(hex, NULL, 16) / 86400000 == 1767225600000 / 86400000); /* the day on which the clock of the tests starts */
}

static void create_read_update(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, MAPS, "{\"metadata\":{\"name\":\"c1\"},\"data\":{\"a\":\"1\"}}"), 201);
    assert_text(api, "kind", "ConfigMap");
    assert_text(api, "apiVersion", "v1");
    uid_form(api_text(api, "metadata.uid"));
    assert_text(api, "metadata.generation", "");
    char uid[40], rv[24], body[256];
    snprintf(uid, sizeof uid, "%s", api_text(api, "metadata.uid"));
    snprintf(rv, sizeof rv, "%s", api_text(api, "metadata.resourceVersion"));
    assert_int_equal(api_post(api, MAPS, "{\"metadata\":{\"name\":\"c1\"}}"), 409);
    assert_text(api, "reason", "AlreadyExists");
    assert_text(api, "message", "configmaps \"c1\" already exists");
    /* the client cannot change identity; the same content is no write */
    assert_int_equal(
        api_put(api, MAPS "/c1", "{\"metadata\":{\"name\":\"c1\",\"creationTimestamp\":null},\"data\":{\"a\":\"1\"}}"),
        200);
    assert_text(api, "metadata.uid", uid);
    assert_text(api, "metadata.resourceVersion", rv);
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"c1\",\"resourceVersion\":\"%s\"},\"data\":{\"a\":\"2\"}}",
             rv);
    assert_int_equal(api_put(api, MAPS "/c1", body), 200);
    assert_string_not_equal(api_text(api, "metadata.resourceVersion"), rv);
    assert_int_equal(api_put(api, MAPS "/c1", body), 409);
    assert_text(api, "message",
                "Operation cannot be fulfilled on configmaps \"c1\": the object has been modified; please apply your "
                "changes to the latest "
                "version and try again");
    assert_int_equal(api_put(api, MAPS "/c1", "{\"metadata\":{\"name\":\"other\"}}"), 400);
    assert_int_equal(api_put(api, MAPS "/none", "{}"), 404);
    assert_text(api, "message", "configmaps \"none\" not found");
    assert_text(api, "details.name", "none");
    assert_text(api, "details.kind", "configmaps");
}

static void generated_names(void **state)
{
    struct api *api = *state;
    char base[300], body[400];
    memset(base, 'x', 80);
    base[80] = 0;
    snprintf(body, sizeof body, "{\"metadata\":{\"generateName\":\"%s\"}}", base);
    assert_int_equal(api_post(api, MAPS, body), 201);
    assert_int_equal(strlen(api_text(api, "metadata.name")), 63);
    assert_int_equal(api_post(api, MAPS, "{\"metadata\":{}}"), 422);
    assert_text(api, "details.causes.0.field", "metadata.name");
    memset(base, 'y', 260);
    base[260] = 0;
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", base);
    assert_int_equal(api_post(api, MAPS, body), 422);
    assert_text(api, "details.causes.0.reason", "FieldValueTooLong");
}

static void dry_run(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, MAPS "?dryRun=All", "{\"metadata\":{\"name\":\"dry\"}}"), 201);
    assert_text(api, "metadata.resourceVersion", "");
    assert_int_equal(api_get(api, MAPS "/dry"), 404);
    api_post(api, MAPS, "{\"metadata\":{\"name\":\"wet\"}}");
    assert_int_equal(api_delete(api, MAPS "/wet?dryRun=All", NULL), 200);
    assert_int_equal(api_delete(api, MAPS "/wet", "{\"dryRun\":[\"All\"]}"), 200);
    assert_int_equal(api_patch(api, MAPS "/wet?dryRun=All", "merge", "{\"data\":{\"a\":\"1\"}}"), 200);
    assert_text(api, "data.a", "1");
    assert_int_equal(api_get(api, MAPS "/wet"), 200);
    assert_text(api, "data.a", "");
    assert_int_equal(api_post(api, MAPS "?dryRun=Some", "{}"), 422);
    assert_has(api, "message", "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: \"Some\"");
}

static void refusals_by_code(void **state)
{
    struct api *api = *state;
    api_post(api, "/api/v1/namespaces/default/serviceaccounts", "{\"metadata\":{\"name\":\"default\"}}");
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/pods",
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"priorityClassName\":\"gone\","
                              "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                     403);
    assert_text(api, "message", "pods \"p\" is forbidden: no PriorityClass with name gone was found");
    assert_int_equal(api_post(api, "/apis/kueue.x-k8s.io/v1beta1/clusterqueues",
                              "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"cohort\":[]}}"),
                     422);
    assert_has(api, "message", "ClusterQueue.kueue.x-k8s.io \"q\" is invalid: ");
    assert_int_equal(api_post(api, MAPS, "{\"metadata\":{\"name\":\"u\"},\"data\":[]}"), 400);
    assert_int_equal(api_post(api, MAPS, "{\"metadata\":{\"name\":\"u\"}}"), 201);
    assert_int_equal(api_patch(api, MAPS "/u", "merge", "{\"metadata\":{\"uid\":\"other\"}}"), 422);
    assert_has(api, "message", "metadata.uid: Invalid value: \"other\": field is immutable");
}

static void validation_modes(void **state)
{
    struct api *api = *state;
    const char *body = "{\"metadata\":{\"name\":\"v\"},\"datta\":{},\"data\":{\"a\":\"1\",\"a\":\"2\"}}";
    assert_int_equal(api_post(api, MAPS "?fieldValidation=Strict", body), 400);
    assert_has(api, "message", "strict decoding error: ");
    assert_has(api, "message", "unknown field \"datta\"");
    assert_has(api, "message", "duplicate field \"data.a\"");
    assert_int_equal(api_post(api, MAPS, body), 201);
    assert_non_null(strstr(api->warnings, "299 - \"unknown field \\\"datta\\\"\""));
    assert_text(api, "data.a", "2");
    assert_int_equal(api_delete(api, MAPS "/v", NULL), 200);
    assert_int_equal(api_post(api, MAPS "?fieldValidation=Ignore", body), 201);
    assert_string_equal(api->warnings, "");
    assert_int_equal(api_post(api, MAPS "?fieldValidation=Wrong", body), 422);
}

static void bad_bodies(void **state)
{
    struct api *api = *state;
    static const char *const bodies[] = {
        "", "{", "[]", "null", "{\"metadata\":[]}", "{\"metadata\":{\"name\":7}}", "nonsense", NULL};
    for (size_t i = 0; bodies[i]; i++) {
        int status = api_post(api, MAPS, bodies[i]);
        assert_true(status == 400 || status == 422);
        assert_text(api, "kind", "Status");
    }
    assert_int_equal(api_post(api, MAPS, "{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\"}"), 400);
    assert_int_equal(api_post(api, MAPS, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}"), 400);
    assert_int_equal(api_call(api, "POST", MAPS, "text/plain", "{}"), 415);
    assert_int_equal(api_call(api, "POST", MAPS, "application/yaml", "metadata:\n  name: fromyaml\ndata: {a: 'yes'}\n"),
                     201);
    assert_int_equal(api_call(api, "POST", MAPS, "application/yaml", "a: 1\n---\nb: 2\n"), 400);
    static char deep[8000];
    memset(deep, '[', sizeof deep - 1);
    assert_int_equal(api_post(api, MAPS, deep), 413);
    static char large[4 << 20];
    memset(large, ' ', sizeof large - 1);
    assert_int_equal(api_post(api, MAPS, large), 413);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/nothings", "{}"), 404);
    assert_int_equal(api_call(api, "PUT", MAPS, "application/json", "{}"), 405);
    assert_int_equal(api_get(api, "/api/v1/pods/x"), 400);
    assert_int_equal(api_get(api, MAPS "/a/b/c/d/e/f/g/h/i/j"), 404);
    assert_int_equal(api_get(api, MAPS "/x/status"), 404);
}

static void status_half(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, PODS, POD("s1")), 201);
    assert_text(api, "status.phase", "Pending");
    assert_int_equal(api_patch(api, PODS "/s1", "merge", "{\"status\":{\"phase\":\"Failed\"}}"), 200);
    assert_text(api, "status.phase", "Pending");
    assert_int_equal(api_patch(api, PODS "/s1/status", "merge",
                               "{\"status\":{\"phase\":\"Running\"},\"spec\":{\"nodeName\":\"n\"}}"),
                     200);
    assert_text(api, "status.phase", "Running");
    assert_text(api, "spec.nodeName", "");
    assert_int_equal(api_get(api, PODS "/s1/status"), 200);
}

static void generation(void **state)
{
    struct api *api = *state;
    assert_int_equal(
        api_post(api, JOBS,
                 "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
        201);
    assert_text(api, "metadata.generation", "1");
    assert_int_equal(api_patch(api, JOBS "/j", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    assert_text(api, "metadata.generation", "1");
    assert_int_equal(api_patch(api, JOBS "/j", "merge", "{\"spec\":{\"suspend\":true}}"), 200);
    assert_text(api, "metadata.generation", "2");
    assert_int_equal(api_patch(api, JOBS "/j/status", "merge", "{\"status\":{\"active\":1}}"), 200);
    assert_text(api, "metadata.generation", "2");
}

static void deletion(void **state)
{
    struct api *api = *state;
    api_post(api, MAPS, "{\"metadata\":{\"name\":\"d1\",\"finalizers\":[\"a.example/b\"]}}");
    assert_int_equal(api_delete(api, MAPS "/d1", "{\"preconditions\":{\"uid\":\"wrong\"}}"), 409);
    assert_int_equal(api_delete(api, MAPS "/d1", NULL), 200);
    assert_text(api, "kind", "ConfigMap");
    assert_true(*api_text(api, "metadata.deletionTimestamp") != 0);
    assert_int_equal(
        api_patch(api, MAPS "/d1", "merge", "{\"metadata\":{\"finalizers\":[\"a.example/b\",\"a.example/c\"]}}"), 422);
    assert_int_equal(api_patch(api, MAPS "/d1", "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(api_get(api, MAPS "/d1"), 404);
    api_post(api, MAPS, "{\"metadata\":{\"name\":\"d2\"}}");
    assert_int_equal(api_delete(api, MAPS "/d2?propagationPolicy=Sideways", NULL), 422);
    assert_int_equal(api_delete(api, MAPS "/d2", NULL), 200);
    assert_text(api, "kind", "Status");
    assert_text(api, "status", "Success");
    assert_text(api, "details.kind", "configmaps");
    assert_int_equal(api_delete(api, MAPS "/d2", NULL), 404);
}

static void graceful_pods(void **state)
{
    struct api *api = *state;
    api_post(api, PODS, POD("unbound"));
    assert_int_equal(api_delete(api, PODS "/unbound", NULL), 200);
    assert_text(api, "kind", "Status");
    assert_int_equal(api_post(api, PODS,
                              "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                              "\"c\",\"image\":\"i\"}]}}"),
                     201);
    assert_int_equal(api_delete(api, PODS "/g", NULL), 200);
    assert_text(api, "metadata.deletionGracePeriodSeconds", "30");
    assert_text(api, "metadata.generation", "2"); /* SOURCE Kubernetes: the deletion is a change that controllers see, too */
    assert_int_equal(api_delete(api, PODS "/g?gracePeriodSeconds=60", NULL), 200);
    assert_text(api, "metadata.deletionGracePeriodSeconds", "30");
    assert_int_equal(api_delete(api, PODS "/g?gracePeriodSeconds=5", NULL), 200);
    assert_text(api, "metadata.deletionGracePeriodSeconds", "5");
    assert_text(api, "metadata.generation", "2");
    assert_int_equal(api_delete(api, PODS "/g", "{\"gracePeriodSeconds\":0}"), 200);
    assert_int_equal(api_get(api, PODS "/g"), 404);
}

/* More seconds than the time has are as many as it can have, whoever asks for them. */
static void endless_grace(void **state)
{
    struct api *api = *state;
    static const char *const ways[][2] = {{"", "9223372036854775807"}, {"?gracePeriodSeconds=9223372036854775807", "30"}};
    for (size_t i = 0; i < 2; i++) {
        const char *body = "{\"metadata\":{\"name\":\"g%zu\"},\"spec\":{\"nodeName\":\"n1\",\"terminationGracePeriodSeconds\":%s,"
                           "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
        assert_int_equal(api_post(api, PODS, arena_printf(api->arena, body, i, ways[i][1])), 201);
        assert_int_equal(api_delete(api, arena_printf(api->arena, PODS "/g%zu%s", i, ways[i][0]), NULL), 200);
        assert_text(api, "metadata.deletionGracePeriodSeconds", "2147483647");
        assert_text(api, "metadata.deletionTimestamp", "2094-01-19T03:14:07Z");
    }
}

static void make_maps(struct api *api, int n)
{
    char body[100];
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"pages\"}}"), 201);
    for (int i = 0; i < n; i++) {
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%02d\",\"labels\":{\"odd\":\"%d\"}}}", i, i % 2);
        assert_int_equal(api_post(api, "/api/v1/namespaces/pages/configmaps", body), 201);
    }
}

static void pages(void **state)
{
    struct api *api = *state;
    char target[300], rv[24];
    make_maps(api, 9); /* and kube-root-ca.crt before them */
    assert_int_equal(api_get(api, "/api/v1/namespaces/pages/configmaps?limit=4"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 4);
    assert_text(api, "metadata.remainingItemCount", "6");
    snprintf(rv, sizeof rv, "%s", api_text(api, "metadata.resourceVersion"));
    snprintf(target, sizeof target, "/api/v1/namespaces/pages/configmaps?limit=4&continue=%s",
             api_text(api, "metadata.continue"));
    /* changes between the pages do not show */
    api_delete(api, "/api/v1/namespaces/pages/configmaps/m04", NULL);
    api_post(api, "/api/v1/namespaces/pages/configmaps", "{\"metadata\":{\"name\":\"m041\"}}");
    assert_int_equal(api_get(api, target), 200);
    assert_text(api, "metadata.resourceVersion", rv);
    assert_text(api, "items.1.metadata.name", "m04");
    assert_text(api, "items.2.metadata.name", "m05");
    snprintf(target, sizeof target, "/api/v1/namespaces/pages/configmaps?limit=4&continue=%s",
             api_text(api, "metadata.continue"));
    assert_int_equal(api_get(api, target), 200);
    assert_int_equal(json_get(api->body, "items")->n, 2);
    assert_text(api, "metadata.continue", "");
    assert_int_equal(api_get(api, "/api/v1/configmaps?continue=garbage"), 400);
    assert_int_equal(api_get(api, "/api/v1/namespaces/pages/configmaps?labelSelector=odd=1&limit=2"), 200);
    assert_text(api, "items.1.metadata.name", "m03");
    assert_text(api, "metadata.remainingItemCount", "");
    assert_int_equal(api_get(api, "/api/v1/configmaps?resourceVersion=999999"), 504);
    assert_text(api, "details.causes.0.reason", "ResourceVersionTooLarge");
    assert_int_equal(api_get(api, "/api/v1/configmaps?resourceVersion=abc"), 400);
    assert_int_equal(api_get(api, "/api/v1/configmaps?resourceVersionMatch=Exact"), 422);
    snprintf(target, sizeof target, "/api/v1/namespaces/pages/configmaps?resourceVersion=%s&resourceVersionMatch=Exact",
             rv);
    assert_int_equal(api_get(api, target), 200);
    assert_int_equal(json_get(api->body, "items")->n, 10);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/pages/configmaps?labelSelector=odd=1", NULL), 200);
    assert_int_equal(api_get(api, "/api/v1/namespaces/pages/configmaps"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 6);
}

static void field_selectors(void **state)
{
    struct api *api = *state;
    api_post(api, PODS, POD("f1"));
    assert_int_equal(api_get(api, PODS "?fieldSelector=spec.nodeName=,status.phase!=Failed"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 1);
    assert_int_equal(api_get(api, PODS "?fieldSelector=metadata.name=f1"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 1);
    assert_int_equal(api_get(api, PODS "?fieldSelector=spec.foo=1"), 400);
    assert_text(api, "message", "field label not supported: spec.foo");
}

static void namespaces(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/api/v1/namespaces/nope/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 404);
    assert_text(api, "message", "namespaces \"nope\" not found");
    api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n1\"}}");
    api_post(api, "/api/v1/namespaces/n1/configmaps",
             "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"a.example/b\"]}}");
    assert_int_equal(api_delete(api, "/api/v1/namespaces/n1", NULL), 200);
    assert_text(api, "status.phase", "Terminating");
    assert_int_equal(api_post(api, "/api/v1/namespaces/n1/configmaps", "{\"metadata\":{\"name\":\"late\"}}"), 403);
    api_run(api, 5000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n1"), 200);
    assert_int_equal(
        api_patch(api, "/api/v1/namespaces/n1/configmaps/held", "merge", "{\"metadata\":{\"finalizers\":[]}}"), 200);
    api_run(api, 5000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n1"), 404);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n1/configmaps"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 0);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/default", NULL), 403);
}

/* The answer says what was refused, and the others go. */
static void collection_with_one_that_stays(void **state)
{
    struct api *api = *state;
    api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"before\",\"labels\":{\"all\":\"1\"}}}");
    api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"zz\",\"labels\":{\"all\":\"1\"}}}");
    assert_int_equal(
        api_patch(api, "/api/v1/namespaces/default", "merge", "{\"metadata\":{\"labels\":{\"all\":\"1\"}}}"), 200);
    assert_int_equal(api_delete(api, "/api/v1/namespaces?labelSelector=all=1", NULL), 403);
    assert_text(api, "reason", "Forbidden");
    assert_text(api, "details.name", "default");
    assert_text(api, "message", "namespaces \"default\" is forbidden: this namespace may not be deleted");
    api_run(api, 5000);
    assert_int_equal(api_get(api, "/api/v1/namespaces?labelSelector=all=1"), 200);
    assert_text(api, "items.0.metadata.name", "default");
    assert_int_equal(json_get(api->body, "items")->n, 1);
}

static void service_addresses(void **state)
{
    struct api *api = *state;
    const char *services = "/api/v1/namespaces/default/services";
    assert_int_equal(api_post(api, services, "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}"),
                     201);
    char address[32], body[200];
    snprintf(address, sizeof address, "%s", api_text(api, "spec.clusterIP"));
    assert_int_equal(strncmp(address, "10.96.", 6), 0);
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"clusterIP\":\"%s\",\"ports\":[{\"port\":80}]}}", address);
    assert_int_equal(api_post(api, services, body), 422);
    assert_int_equal(
        api_post(api, services,
                 "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"clusterIP\":\"None\",\"ports\":[{\"port\":80}]}}"),
        201);
    assert_text(api, "spec.clusterIP", "None");
}

static void versions_of_one_kind(void **state)
{
    struct api *api = *state;
    const char *body = "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"cohort\":\"team\",\"namespaceSelector\":{}}}";
    assert_int_equal(api_post(api, "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", body), 201);
    assert_text(api, "apiVersion", "kueue.x-k8s.io/v1beta1");
    assert_text(api, "spec.cohort", "team");
    assert_int_equal(api_get(api, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"), 200);
    assert_text(api, "apiVersion", "kueue.x-k8s.io/v1beta2");
    assert_text(api, "spec.cohortName", "team");
    assert_int_equal(api_get(api, "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"), 200);
    assert_text(api, "items.0.spec.cohort", "team");
}

/* A client that knows the older version alone writes back what it read: nothing of what the newer one calls otherwise is lost. */
static void written_back_in_the_older_version(void **state)
{
    struct api *api = *state;
    const char *newer = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads",
               *older = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads/w";
    assert_int_equal(api_post(api, newer,
                              "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"queueName\":\"lq\",\"priority\":10,\"priorityClassRef\":{\"group\":"
                              "\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"},\"podSets\":[{\"name\":\"main\",\"count\":1,"
                              "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}}"),
                     201);
    assert_int_equal(api_get(api, older), 200);
    assert_text(api, "spec.priorityClassName", "high");
    assert_text(api, "spec.priorityClassRef.name", "");
    _cleanup_buf_ struct buf body = {0};
    json_set_text(api->arena, json_ensure_object(api->arena, json_get(api->body, "metadata"), "labels"), "touched", "yes");
    json_write(&body, api->body);
    assert_int_equal(api_put(api, older, body.data), 200);
    assert_int_equal(api_get(api, "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/w"), 200);
    assert_text(api, "metadata.labels.touched", "yes");
    assert_text(api, "spec.priorityClassRef.name", "high");
    assert_text(api, "spec.priorityClassRef.kind", "WorkloadPriorityClass");
    assert_text(api, "spec.priority", "10");
}

/* Held from their creation on, where somebody takes it off again; nobody's field, so that who applies them again does not take it off. */
static void queues_and_flavors_are_held(void **state)
{
    (void)state;
    static const char held[] = "kueue.x-k8s.io/resource-in-use";
    static const char *const kinds[][2] = {{"clusterqueues", "ClusterQueue"}, {"resourceflavors", "ResourceFlavor"}};
    for (int n = 0; n < 4; n++) {
        const char *plural = kinds[n / 2][0], *kind = kinds[n / 2][1], *gives = n % 2 ? held : "";
        char list[100], path[100], body[300];
        struct api api;
        api_open_as(&api, &(struct apiserver_config){.runs_queues = n % 2});
        snprintf(list, sizeof list, "/apis/kueue.x-k8s.io/v1beta1/%s", plural);
        snprintf(path, sizeof path, "/apis/kueue.x-k8s.io/v1beta2/%s/x?fieldManager=one", plural);
        for (int again = 0; again < 2; again++) {
            snprintf(body, sizeof body,
                     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"%s\",\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"%d\"}}}", kind, again);
            assert_int_equal(api_patch(&api, path, "apply", body), again ? 200 : 201);
            assert_text(&api, "metadata.labels.a", again ? "1" : "0");
            assert_text(&api, "metadata.finalizers.0", gives);
        }
        assert_int_equal(api_patch(&api, path, "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
        assert_text(&api, "metadata.finalizers.0", ""); /* whoever takes it off means it */
        assert_int_equal(api_delete(&api, path, NULL), 200);
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"a.io/b\",\"%s\"]}}", held);
        assert_int_equal(api_post(&api, list, body), 201);
        assert_int_equal(json_path(api.body, "metadata", "finalizers", NULL)->n, 2); /* not twice */
        api_close(&api);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(refusals_by_code), WITH_API(first_objects), WITH_API(create_read_update), WITH_API(generated_names),
        WITH_API(dry_run), WITH_API(validation_modes), WITH_API(bad_bodies), WITH_API(status_half),
        WITH_API(generation), WITH_API(deletion), WITH_API(graceful_pods), WITH_API(endless_grace), WITH_API(pages),
        WITH_API(field_selectors), WITH_API(namespaces), WITH_API(service_addresses), WITH_API(versions_of_one_kind),
        WITH_API(collection_with_one_that_stays), WITH_API(written_back_in_the_older_version),
        cmocka_unit_test(queues_and_flavors_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
