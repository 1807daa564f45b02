/* Patches that leave parts of the object as text (managedFields, the spec of pods, Volcano Jobs and PodGroups) against the same patches
 * that do not.
 *
 * Two servers get the same requests under the same clock. The second one's patches also name managedFields, to no effect: so it works on
 * whole objects. Answers, warnings and what is stored must be the same to the byte, but for that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "api.h"
#include "base/random.h"

#define PODS "/api/v1/namespaces/default/pods"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define VCJOBS "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
#define GROUPS "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
#define OBJECTS 3
#define ROUNDS 8000
#define WATCHES 6

struct pair {
    struct api apart, whole;
    struct random random;
    struct arena *arena;
    struct api_watch *apart_watches[WATCHES], *whole_watches[WATCHES];
    uint32_t taken_n, refused_n, ending_n, events_n[WATCHES];
};

static const char *pick(struct pair *p, const char *const *of, size_t n)
{
    return of[random_below(&p->random, n)];
}
#define PICK(p, of) pick(p, of, sizeof(of) / sizeof *(of))

static const char *const metadata_parts[] = {
    "\"labels\":{\"a\":\"1\"}",
    "\"labels\":{\"a\":null,\"b\":\"x\"}",
    "\"labels\":null",
    "\"labels\":{\"bad key\":\"1\"}",
    "\"annotations\":{\"note\":\"\\u00e9\\n\\\"\"}",
    "\"annotations\":{}",
    "\"finalizers\":[\"example.com/hold\"]",
    "\"finalizers\":null",
    "\"uid\":\"other\"",
    "\"resourceVersion\":\"1\"",
    "\"name\":\"other\"",
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"u\"}]",
    "\"unknown\":1",
    "\"$patch\":\"replace\"",
    "\"generation\":7",
};
static const char *const status_parts[] = {
    "\"phase\":\"Running\"",
    "\"phase\":\"Failed\",\"reason\":\"Evicted\"",
    "\"phase\":3",
    "\"phase\":null",
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]",
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":\"Initialized\",\"status\":\"True\"}]",
    "\"conditions\":[{\"type\":\"Ready\",\"$patch\":\"delete\"}]",
    "\"conditions\":[]",
    "\"podIP\":\"10.0.0.1\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}]",
    "\"podIPs\":[{\"ip\":\"10.0.0.2\"},{\"ip\":\"fd00::1\"}],\"hostIP\":\"10.64.0.1\"",
    "\"startTime\":\"2026-01-01T00:00:00Z\"",
    "\"containerStatuses\":[{\"name\":\"m\",\"image\":\"i\",\"imageID\":\"\",\"restartCount\":1,\"ready\":true,\"state\":{\"running\":{}}}]",
    "\"active\":1,\"ready\":0",
    "\"succeeded\":2",
    "\"state\":{\"phase\":\"Running\"},\"running\":1",
    "\"phase\":\"Inqueue\",\"running\":\"one\"",
    "\"phase\":\"Inqueue\",\"running\":1",
    "\"unknown\":{\"deep\":[1,2,{\"x\":null}]}",
    "\"qosClass\":\"BestEffort\"",
};
static const char *const spec_parts[] = {
    "\"activeDeadlineSeconds\":50",
    "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]",
    "\"containers\":[{\"name\":\"m\",\"image\":\"new\"}]",
    "\"containers\":[{\"name\":\"m\",\"$patch\":\"delete\"}]",
    "\"suspend\":true",
    "\"parallelism\":2",
    "\"unknown\":1",
    "\"nodeName\":\"n2\"",
    "\"minAvailable\":0,\"minMember\":2",
    "\"minAvailable\":-1,\"minMember\":-1",
    "\"queue\":\"missing\"",
};
static const char *const others[] = {
    "\"data\":{\"a\":\"2\"}",
    "\"data\":{\"a\":null,\"b\":\"3\"}",
    "\"status\":null",
    "\"spec\":null",
    "\"spec\":{}",
    "\"unknown\":true",
    "\"metadata\":null",
    "\"$retainKeys\":[\"kind\",\"apiVersion\",\"metadata\",\"status\"]",
    "\"kind\":\"Pod\"",
    "\"kind\":\"Job\"",
};

static const char *patch_random(struct pair *p)
{
    const char *metadata = random_below(&p->random, 3) ? "" : PICK(p, metadata_parts);
    const char *more = random_below(&p->random, 8) ? "" : PICK(p, others);
    const char *status = random_below(&p->random, 4) ? PICK(p, status_parts) : "";
    const char *spec = random_below(&p->random, 4) ? "" : PICK(p, spec_parts);
    const char *again = *status && random_below(&p->random, 2) ? PICK(p, status_parts) : "";
    _cleanup_buf_ struct buf out = {0};
    const char *parts[][3] = {{"metadata", metadata, ""}, {"status", status, again}, {"spec", spec, ""}};
    buf_char(&out, '{');
    for (size_t i = 0; i < 3; i++)
        if (*parts[i][1])
            buf_printf(&out, "%s\"%s\":{%s%s%s}", out.n > 1 ? "," : "", parts[i][0], parts[i][1], *parts[i][2] ? "," : "", parts[i][2]);
    if (*more)
        buf_printf(&out, "%s%s", out.n > 1 ? "," : "", more);
    buf_char(&out, '}');
    return arena_text(p->arena, out.data);
}

/* The same, and whoever owns which field is to be forgotten: which the server does not do. */
static const char *patch_whole(struct pair *p, const char *patch)
{
    static const char opening[] = "\"metadata\":{";
    const char *metadata = strstr(patch, opening);
    if (metadata)
        return arena_printf(p->arena, "%.*s%s\"managedFields\":null,%s", (int)(metadata - patch), patch, opening,
                            metadata + strlen(opening));
    return arena_printf(p->arena, "{%s\"managedFields\":null}%s%s", opening, patch[1] == '}' ? "" : ",", patch + 1);
}

static const char *answer(struct pair *p, const struct api *api)
{
    _cleanup_buf_ struct buf out = {0};
    buf_printf(&out, "%d %s", api->status, api->warnings);
    if (api->body)
        json_write(&out, api->body);
    return arena_text(p->arena, out.data);
}

static void same(struct pair *p, const char *what, const char *target, const char *body)
{
    const char *x = answer(p, &p->apart), *y = answer(p, &p->whole);
    size_t at = 0;
    while (x[at] && x[at] == y[at])
        at++;
    if (x[at] || y[at])
        fail_msg("%s %s %s: from byte %zu on\napart: %.300s\nwhole: %.300s", what, target, body ? body : "", at, x + at, y + at);
}

static void both(struct pair *p, const char *method, const char *target, const char *body)
{
    (void)api_call(&p->apart, method, target, "application/json", body);
    (void)api_call(&p->whole, method, target, "application/json", body);
    same(p, method, target, body);
}

/* Selectors that read the spec, something else, both; what they say of the state before a change counts as well. */
static void watches_open(struct pair *p)
{
    static const char *const selectors[WATCHES] = {
        "fieldSelector=spec.nodeName!=", "fieldSelector=status.phase=Running", "fieldSelector=status.phase!=Running,spec.nodeName=n",
        "labelSelector=a",               "labelSelector=b,!a",                "labelSelector=a&fieldSelector=spec.nodeName=",
    };
    for (int i = 0; i < WATCHES; i++) {
        const char *target = arena_printf(p->arena, PODS "?watch=true&%s", selectors[i]);
        p->apart_watches[i] = api_watch_open(&p->apart, target);
        p->whole_watches[i] = api_watch_open(&p->whole, target);
    }
}

static void watches_same(struct pair *p, const char *what)
{
    for (int i = 0; i < WATCHES; i++)
        for (const char *x = "-"; *x; p->events_n[i] += *x != 0) {
            x = api_watch_next(p->apart_watches[i]);
            const char *y = api_watch_next(p->whole_watches[i]);
            if (strcmp(x, y) != 0)
                fail_msg("watch %d after %s: apart \"%s\", whole \"%s\"", i, what, x, y);
            if (*x)
                assert_true(json_equal(api_watch_object(p->apart_watches[i]), api_watch_object(p->whole_watches[i])));
        }
}

static void objects_make(struct pair *p)
{
    for (int i = 0; i < OBJECTS; i++) {
        const char *more = i ? ",\"labels\":{\"a\":\"0\"},\"finalizers\":[\"example.com/hold\"]" : "";
        const char *meta = arena_printf(p->arena, "\"metadata\":{\"name\":\"o%d\"%s}", i, more);
        const char *containers = "\"containers\":[{\"name\":\"m\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]";
        both(p, "POST", PODS, arena_printf(p->arena, "{%s,\"spec\":{%s}}", meta, containers));
        both(p, "POST", MAPS, arena_printf(p->arena, "{%s,\"data\":{\"a\":\"1\"}}", meta));
        both(p, "POST", JOBS,
             arena_printf(p->arena, "{%s,\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",%s}}}}", meta, containers));
        both(p, "POST", VCJOBS,
             arena_printf(p->arena, "{%s,\"spec\":{\"tasks\":[{\"name\":\"t\",\"replicas\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",%s}}}]}}",
                          meta, containers));
        both(p, "POST", GROUPS, arena_printf(p->arena, "{%s,\"spec\":{\"minMember\":1},\"status\":{\"phase\":\"Pending\"}}", meta));
    }
}

static void step(struct pair *p)
{
    static const char *const kinds[] = {PODS, PODS, PODS, PODS, MAPS, JOBS, VCJOBS, GROUPS};
    static const char *const queries[] = {"", "", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?dryRun=All", "?fieldManager=second"};
    const char *kind = PICK(p, kinds);
    const char *name = arena_printf(p->arena, "%s/o%u", kind, (unsigned)random_below(&p->random, OBJECTS));
    const char *sub = strcmp(kind, MAPS) == 0 || !random_below(&p->random, 3) ? ""
                      : random_below(&p->random, 12)                          ? "/status"
                                                                              : "/ephemeralcontainers";
    const char *target = arena_printf(p->arena, "%s%s%s", name, sub, PICK(p, queries));
    const char *type = random_below(&p->random, 2) ? "merge" : "strategic", *patch = patch_random(p);
    switch (random_below(&p->random, 40)) {
    case 0:
        both(p, "DELETE", name, NULL);
        break;
    case 1:
        objects_make(p);
        break;
    case 2:
        both(p, "POST", arena_printf(p->arena, "%s/binding", name), "{\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
        break;
    default:
        (void)api_patch(&p->apart, target, type, patch);
        (void)api_patch(&p->whole, target, type, patch_whole(p, patch));
        same(p, type, target, patch);
        p->taken_n += p->apart.status == 200;
        p->refused_n += p->apart.status >= 400 && p->apart.status != 404;
        p->ending_n += p->apart.status == 200 && *api_text(&p->apart, "metadata.deletionTimestamp");
    }
    both(p, "GET", name, NULL);
    watches_same(p, target);
}

static void patches(void **state)
{
    struct pair p = {.random = {.state = 7}, .arena = arena_new()};
    struct apiserver_config config = {0};
    (void)state;
    api_open_as(&p.apart, &config);
    api_open_as(&p.whole, &config);
    watches_open(&p);
    objects_make(&p);
    for (int i = 0; i < ROUNDS; i++) {
        step(&p);
        if (i % 16 == 0) {
            api_run(&p.apart, 700);
            api_run(&p.whole, 700);
        }
        arena_reset(p.arena);
    }
    assert_true(p.taken_n > ROUNDS / 4 && p.refused_n > ROUNDS / 16 && p.ending_n > 50);
    for (int i = 0; i < WATCHES; i++) {
        assert_true(p.events_n[i] > 20);
        api_watch_close(p.apart_watches[i]);
        api_watch_close(p.whole_watches[i]);
    }
    api_close(&p.apart);
    api_close(&p.whole);
    arena_free(p.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
