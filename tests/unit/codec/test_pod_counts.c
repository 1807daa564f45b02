/* A pod is counted in two places: by the scheduler in interned names and whole units (pod_requests.h), by quotas and limit ranges as exact
 * quantities (pod_amounts.h). Random pods are the same in both, and in a third count that is made here, step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/random.h"
#include "codec/decode/decode.h"
#include "codec/decode/pod_amounts.h"

#define ROUNDS 3000

static const char *const resources[] = {"cpu", "memory", "nvidia.com/gpu"};
#define RESOURCES_N 3

static struct random source = {7};

static uint32_t pick(uint32_t n)
{
    return (uint32_t)random_below(&source, n);
}

struct counted {
    int64_t containers[RESOURCES_N], sidecars[RESOURCES_N], init_most[RESOURCES_N], overhead[RESOURCES_N], level[RESOURCES_N];
};

/* Some resources with small whole amounts ("cpu" in thousandths); what each is stands in ret_n, -1 where it is not named. */
static struct json *random_amounts(struct arena *a, int64_t ret_n[RESOURCES_N])
{
    struct json *v = json_new(a, JSON_OBJECT);
    for (int r = 0; r < RESOURCES_N; r++) {
        ret_n[r] = pick(2) ? (int64_t)pick(5) : -1;
        if (ret_n[r] >= 0)
            json_set_text(a, v, resources[r], arena_printf(a, "%lld%s", (long long)ret_n[r], r == 0 ? "m" : ""));
    }
    return v;
}

static void add_container(struct arena *a, struct json *list, int64_t ret_n[RESOURCES_N], bool sidecar)
{
    struct json *c = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "name", arena_printf(a, "c%u", list->n));
    json_set_text(a, c, "image", "i");
    json_set(a, json_ensure_object(a, c, "resources"), "requests", random_amounts(a, ret_n));
    if (sidecar)
        json_set_text(a, c, "restartPolicy", "Always");
    json_append(list, c);
}

static struct json *random_spec(struct arena *a, struct counted *x)
{
    struct json *spec = json_new(a, JSON_OBJECT), *containers = json_ensure_array(a, spec, "containers");
    int64_t n[RESOURCES_N];
    *x = (struct counted){.level = {-1, -1, -1}};
    for (uint32_t i = 1 + pick(3); i-- > 0;) {
        add_container(a, containers, n, false);
        for (int r = 0; r < RESOURCES_N; r++)
            x->containers[r] += n[r] > 0 ? n[r] : 0;
    }
    for (uint32_t i = pick(4); i-- > 0;) {
        bool sidecar = pick(2);
        add_container(a, json_ensure_array(a, spec, "initContainers"), n, sidecar);
        for (int r = 0; r < RESOURCES_N; r++) {
            int64_t here = x->sidecars[r] + (n[r] > 0 ? n[r] : 0);
            x->init_most[r] = here > x->init_most[r] ? here : x->init_most[r];
            x->sidecars[r] = sidecar ? here : x->sidecars[r];
        }
    }
    if (pick(3) == 0) {
        json_set(a, spec, "overhead", random_amounts(a, n));
        for (int r = 0; r < RESOURCES_N; r++)
            x->overhead[r] = n[r] > 0 ? n[r] : 0;
    }
    if (pick(3) == 0)
        json_set(a, json_ensure_object(a, spec, "resources"), "requests", random_amounts(a, x->level));
    return spec;
}

static int64_t by_hand(const struct counted *x, int r)
{
    int64_t all = x->containers[r] + x->sidecars[r];
    all = x->init_most[r] > all ? x->init_most[r] : all;
    return (x->level[r] >= 0 ? x->level[r] : all) + x->overhead[r];
}

static int64_t by_scheduler(const struct decoder *d, const struct shape *shape, int r)
{
    for (uint32_t i = 0; i < shape->requests_n; i++)
        if (shape->requests[i].resource == intern_text_id(d->names, resources[r]))
            return shape->requests[i].value;
    return 0;
}

static void test_both_counts_agree(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    for (int round = 0; round < ROUNDS; round++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct decoder d = {.names = names, .arena = a};
        struct counted x;
        struct json *template = json_new(a, JSON_OBJECT), *spec = random_spec(a, &x);
        struct shape shape;
        struct err e = {0};
        json_set(a, template, "spec", spec);
        if (decode_template(&d, template, intern_text_id(names, "default"), "template", &shape, &e) < 0)
            fail_msg("%s", e.text);
        struct amounts amounts;
        amounts_init(&amounts, a);
        pod_amounts(&amounts, spec, "requests");
        for (int r = 0; r < RESOURCES_N; r++) {
            const struct quantity *q = amounts_find(&amounts, resources[r]);
            int64_t exact = !q ? 0 : r == 0 ? quantity_milli(*q) : quantity_whole(*q);
            _cleanup_buf_ struct buf text = {0};
            json_write(&text, spec);
            if (exact != by_hand(&x, r) || by_scheduler(&d, &shape, r) != by_hand(&x, r))
                fail_msg("round %d, %s: quotas %lld, scheduler %lld, by hand %lld of %s", round, resources[r], (long long)exact,
                         (long long)by_scheduler(&d, &shape, r), (long long)by_hand(&x, r), text.data);
        }
    }
    intern_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_counts_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
