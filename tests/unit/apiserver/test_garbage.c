#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "api.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void make_owner(struct api *api, char uid[40], const char *name)
{
    char body[100];
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", name);
    assert_int_equal(api_post(api, MAPS, body), 201);
    snprintf(uid, 40, "%s", api_text(api, "metadata.uid"));
}

static void make_dependent(struct api *api, const char *name, const char *owner, const char *uid, const char *more)
{
    char body[500];
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
             "\"name\":\"%s\",\"uid\":\"%s\","
             "\"blockOwnerDeletion\":true}]%s}}",
             name, owner, uid, more);
    assert_int_equal(api_post(api, MAPS, body), 201);
}

static void background(void **state)
{
    struct api *api = *state;
    char uid[40], middle[40];
    make_owner(api, uid, "o");
    make_dependent(api, "d1", "o", uid, "");
    snprintf(middle, sizeof middle, "%s", api_text(api, "metadata.uid"));
    make_dependent(api, "d2", "d1", middle, "");
    assert_int_equal(api_delete(api, MAPS "/o", NULL), 200);
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d1"), 404);
    assert_int_equal(api_get(api, MAPS "/d2"), 404);
}

static void owner_add(struct api *api, const char *name, const char *owner, const char *uid)
{
    api_patch(api, arena_printf(api->arena, MAPS "/%s", name), "json",
              arena_printf(api->arena,
                           "[{\"op\":\"add\",\"path\":\"/metadata/ownerReferences%s\",\"value\":%s{\"apiVersion\":\"v1\",\"kind\":"
                           "\"ConfigMap\",\"name\":\"%s\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}%s}]",
                           strcmp(name, "a") == 0 ? "" : "/-", strcmp(name, "a") == 0 ? "[" : "", owner, uid,
                           strcmp(name, "a") == 0 ? "]" : ""));
    assert_int_equal(api->status, 200);
}

/* SOURCE Kubernetes conformance: "should not delete dependents that have both valid owner and owner that's waiting for dependents to be
 * deleted", "should not be blocked by dependency circle" */
static void foreground_with_a_second_owner(void **state)
{
    struct api *api = *state;
    char uid[40], stays[40];
    make_owner(api, uid, "o");
    make_owner(api, stays, "stays");
    make_dependent(api, "d", "o", uid, "");
    owner_add(api, "d", "stays", stays);
    assert_int_equal(api_delete(api, MAPS "/o", "{\"propagationPolicy\":\"Foreground\"}"), 200);
    api_run(api, 200);
    assert_int_equal(api_get(api, MAPS "/o"), 404);
    assert_int_equal(api_get(api, MAPS "/d"), 200);
    assert_int_equal(json_path(api->body, "metadata", "ownerReferences", NULL)->n, 1);
    assert_string_equal(api_text(api, "metadata.ownerReferences.0.name"), "stays");
}

static void foreground_in_a_circle(void **state)
{
    struct api *api = *state;
    char a[40], b[40], c[40];
    make_owner(api, a, "a");
    make_dependent(api, "b", "a", a, "");
    snprintf(b, sizeof b, "%s", api_text(api, "metadata.uid"));
    make_dependent(api, "c", "b", b, "");
    snprintf(c, sizeof c, "%s", api_text(api, "metadata.uid"));
    owner_add(api, "a", "c", c);
    assert_int_equal(api_delete(api, MAPS "/a", "{\"propagationPolicy\":\"Foreground\"}"), 200);
    api_run(api, 500);
    assert_int_equal(api_get(api, MAPS "/a"), 404);
    assert_int_equal(api_get(api, MAPS "/b"), 404);
    assert_int_equal(api_get(api, MAPS "/c"), 404);
}

static void foreground(void **state)
{
    struct api *api = *state;
    char uid[40];
    make_owner(api, uid, "o");
    make_dependent(api, "d", "o", uid, ",\"finalizers\":[\"a.example/b\"]");
    assert_int_equal(api_delete(api, MAPS "/o", "{\"propagationPolicy\":\"Foreground\"}"), 200);
    assert_string_equal(api_text(api, "metadata.finalizers.0"), "foregroundDeletion");
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/o"), 200); /* waits for its dependent */
    assert_int_equal(api_get(api, MAPS "/d"), 200);
    assert_string_not_equal(api_text(api, "metadata.deletionTimestamp"), "");
    api_patch(api, MAPS "/d", "merge", "{\"metadata\":{\"finalizers\":null}}");
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d"), 404);
    assert_int_equal(api_get(api, MAPS "/o"), 404);
}

static void orphan(void **state)
{
    struct api *api = *state;
    char uid[40];
    make_owner(api, uid, "o");
    make_dependent(api, "d", "o", uid, "");
    assert_int_equal(api_delete(api, MAPS "/o?propagationPolicy=Orphan", NULL), 200);
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d"), 200);
    assert_null(json_path(api->body, "metadata", "ownerReferences", NULL));
}

static void absent_owner(void **state)
{
    struct api *api = *state;
    char uid[40];
    make_owner(api, uid, "o");
    make_dependent(api, "d", "o", "00000000-0000-4000-8000-000000000000", "");
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d"), 404);
    /* a kind that the server does not know is not judged */
    assert_int_equal(api_post(api, MAPS,
                              "{\"metadata\":{\"name\":\"k\",\"ownerReferences\":[{\"apiVersion\":\"no.such/"
                              "v1\",\"kind\":\"Thing\",\"name\":\"t\","
                              "\"uid\":\"u\"}]}}"),
                     201);
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/k"), 200);
}

static void one_of_two_owners(void **state)
{
    struct api *api = *state;
    char one[40], two[40], body[600];
    make_owner(api, one, "o1");
    make_owner(api, two, "o2");
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"d\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
             "\"name\":\"o1\",\"uid\":\"%s\"},"
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o2\",\"uid\":\"%s\"}]}}",
             one, two);
    assert_int_equal(api_post(api, MAPS, body), 201);
    api_delete(api, MAPS "/o1", NULL);
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d"), 200);
    assert_int_equal(json_path(api->body, "metadata", "ownerReferences", NULL)->n, 1);
    api_delete(api, MAPS "/o2", NULL);
    api_run(api, 100);
    assert_int_equal(api_get(api, MAPS "/d"), 404);
}

/* Its owners are looked at when they change, not with each write; a finalizer that comes later still holds it. */
static void links_that_change_later(void **state)
{
    struct api *api = *state;
    char uid[40], other[40];
    make_owner(api, uid, "owner");
    make_owner(api, other, "other");
    make_dependent(api, "d", "owner", uid, "");
    for (int i = 0; i < 3; i++) {
        char body[80];
        snprintf(body, sizeof body, "{\"data\":{\"n\":\"%d\"}}", i);
        assert_int_equal(api_patch(api, MAPS "/d", "merge", body), 200);
    }
    owner_add(api, "d", "other", other);
    assert_int_equal(api_patch(api, MAPS "/d", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    assert_int_equal(api_delete(api, MAPS "/owner", NULL), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, MAPS "/d"), 200);
    assert_int_equal(json_path(api->body, "metadata", "ownerReferences", NULL)->n, 1);
    assert_int_equal(api_delete(api, MAPS "/other", NULL), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, MAPS "/d"), 404);
}

static void old_events(void **state)
{
    struct api *api = *state;
    const char *events = "/api/v1/namespaces/default/events";
    assert_int_equal(api_post(api, events,
                              "{\"metadata\":{\"name\":\"e1\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\","
                              "\"namespace\":\"default\"},"
                              "\"reason\":\"R\",\"message\":\"m\",\"type\":\"Normal\"}"),
                     201);
    api_run(api, 3500 * 1000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/events/e1"), 200);
    api_run(api, 200 * 1000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/events/e1"), 404);
}

static void large_namespace(void **state)
{
    struct api *api = *state;
    char body[100];
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"large\"}}"), 201);
    for (int i = 0; i < 2500; i++) { /* more than one pass deletes */
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%d\"}}", i);
        assert_int_equal(api_post(api, "/api/v1/namespaces/large/configmaps", body), 201);
    }
    assert_int_equal(api_delete(api, "/api/v1/namespaces/large", NULL), 200);
    api_run(api, 3000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/large"), 404);
    assert_int_equal(api_get(api, "/api/v1/namespaces/large/configmaps"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 0);
}

/* kubectl delete -f: the namespace first, then what is in it. */
static void namespace_is_emptied_after_a_grace(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(api_post(api, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"m\"}}"), 201);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/n", NULL), 200);
    api_run(api, 1500);
    assert_int_equal(api_post(api, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"late\"}}"), 403);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/n/configmaps/m", NULL), 200);
    api_run(api, 2000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n"), 404);
}

/* The grace of a namespace is its own, not that of one which had its name before and was finalized by hand. */
static void namespace_made_anew_has_its_own_grace(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/n", NULL), 200);
    assert_int_equal(api_put(api, "/api/v1/namespaces/n/finalize", "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}"), 200);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n"), 404);
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(api_post(api, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"m\"}}"), 201);
    api_run(api, 5000);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/n", NULL), 200);
    api_run(api, 1500);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n/configmaps/m"), 200);
    api_run(api, 2000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n"), 404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(background), WITH_API(foreground), WITH_API(foreground_with_a_second_owner),
        WITH_API(foreground_in_a_circle), WITH_API(orphan), WITH_API(absent_owner), WITH_API(one_of_two_owners),
        WITH_API(old_events), WITH_API(large_namespace), WITH_API(namespace_is_emptied_after_a_grace),
        WITH_API(namespace_made_anew_has_its_own_grace), WITH_API(links_that_change_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
