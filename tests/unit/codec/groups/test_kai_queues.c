/* KAI's Queues: what each deserves of a cluster, its limits, who is above whom; amounts that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../decoder_world.h"
#include "codec/queues/kai_queues.h"

static const struct kai_totals cluster = {.gpus = 20, .cpu_milli = 80000, .memory_bytes = 4000000000};

/* "name": spec, ...; by name afterwards */
static struct kai_queue *queues(struct world *w, const char *text, uint32_t *ret_n)
{
    const struct json *all = tree(w, arena_printf(w->arena, "{%s}", text));
    struct kai_queue *list = arena_zero(w->arena, all->n + 1, sizeof *list);
    *ret_n = 0;
    JSON_EACH (one, all)
        list[(*ret_n)++] = (struct kai_queue){.name = one->key, .spec = one};
    kai_queues_read(&w->d, list, *ret_n, &cluster);
    return list;
}

static const struct kai_queue *named(const struct kai_queue *all, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    fail_msg("no queue %s", name);
    return NULL;
}

/* -1: it is not named */
static int64_t amount(struct world *w, const struct amount *all, uint32_t n, const char *resource)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(intern_name(w->names, all[i].resource), resource) == 0)
            return all[i].value;
    return -1;
}

static int64_t deserved(struct world *w, const struct kai_queue *q, const char *resource)
{
    return amount(w, q->record.shares->deserved, q->record.shares->deserved_n, resource);
}

static int64_t most(struct world *w, const struct kai_queue *q, const char *resource)
{
    return amount(w, q->record.shares->capability, q->record.shares->capability_n, resource);
}

/* That it deserves, whole ones. */
static int64_t gpus(struct world *w, const struct kai_queue *q)
{
    int64_t milli = deserved(w, q, "gpu");
    assert_int_equal(milli % 1000, 0);
    return milli / 1000;
}

/* GPUs that each asks for, by name; who is not named asks for nothing. */
static const struct kai_queue *asking(struct world *w, const char *text, const char *asks, uint32_t *ret_n)
{
    const struct json *all = tree(w, arena_printf(w->arena, "{%s}", text)), *asked = tree(w, arena_printf(w->arena, "{%s}", asks));
    struct kai_queue *list = arena_zero(w->arena, all->n + 1, sizeof *list);
    *ret_n = 0;
    JSON_EACH (one, all) {
        int64_t *own = arena_zero(w->arena, KAI_PARTS_N, sizeof *own);
        kai_asked_add(own, GPU_COUNTED, 1000 * json_get_int64(asked, one->key, 0));
        list[(*ret_n)++] = (struct kai_queue){.name = one->key, .spec = one, .asked = own};
    }
    kai_queues_read(&w->d, list, *ret_n, &cluster);
    return list;
}

#define ASKING(name, quota, limit, weight, more) \
    "\"" name "\":{\"resources\":{\"gpu\":{\"quota\":" #quota ",\"limit\":" #limit ",\"overQuotaWeight\":" #weight "}}" more "}"
#define EIGHT ASKING("top", 8, 8, 1, "")
#define BELOW ",\"parentQueue\":\"top\""

/* What quotas leave, and what idle queues do not use of theirs, goes by weight to those that ask for it; to others what is left then. */
static void deals_by_what_is_asked(void **state)
{
    static const struct {
        const char *queues, *asks, *deserved; /* of a, b and c */
    } cases[] = {
        /* KAI's own example: c comes first, and asks for nothing; then for 3 */
        {EIGHT "," ASKING("a", 1, -1, 1, BELOW) "," ASKING("b", 1, -1, 2, BELOW) "," ASKING("c", 0, -1, 1, BELOW ",\"priority\":101"),
         "\"a\":10,\"b\":10", "3 5 0"},
        {EIGHT "," ASKING("a", 1, -1, 1, BELOW) "," ASKING("b", 1, -1, 2, BELOW) "," ASKING("c", 0, -1, 1, BELOW ",\"priority\":101"),
         "\"a\":10,\"b\":10,\"c\":3", "2 3 3"},
        /* a's quota is used by b, and stays a's */
        {EIGHT "," ASKING("a", 4, -1, 1, BELOW) "," ASKING("b", 0, -1, 1, BELOW) "," ASKING("c", 0, -1, 1, BELOW), "\"b\":9", "4 8 0"},
        {EIGHT "," ASKING("a", 4, -1, 1, BELOW) "," ASKING("b", 0, -1, 1, BELOW) "," ASKING("c", 0, -1, 1, BELOW), "\"a\":2,\"b\":9", "4 6 0"},
        /* limits hold; who asks for less leaves the rest to others */
        {EIGHT "," ASKING("a", 0, 2, 1, BELOW) "," ASKING("b", 0, -1, 1, BELOW) "," ASKING("c", 0, -1, 1, BELOW), "\"a\":9,\"b\":3,\"c\":9", "2 3 3"},
        /* nobody asks: as if all did */
        {EIGHT "," ASKING("a", 2, -1, 1, BELOW) "," ASKING("b", 2, -1, 1, BELOW) "," ASKING("c", 0, -1, 2, BELOW), "", "3 3 2"},
        /* what is asked below counts above */
        {ASKING("x", 0, -1, 1, "") "," ASKING("y", 0, -1, 1, "") "," ASKING("a", 0, -1, 1, ",\"parentQueue\":\"x\"") ","
         ASKING("b", 0, -1, 1, ",\"parentQueue\":\"y\"") "," ASKING("c", 0, -1, 1, ",\"parentQueue\":\"y\""), "\"a\":4,\"b\":99", "4 16 0"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t n;
        const struct kai_queue *all = asking(w, cases[i].queues, cases[i].asks, &n);
        const char *text = "";
        for (const char *name = "abc"; *name; name++)
            text = arena_printf(w->arena, "%s%s%lld", text, *text ? " " : "",
                                (long long)gpus(w, named(all, n, arena_printf(w->arena, "%c", *name))));
        if (strcmp(text, cases[i].deserved) != 0)
            fail_msg("case %zu: %s, not %s", i, text, cases[i].deserved);
    }
}

/* As what: "gpu*1000 kept:gpu*1000"; parts with a '|', of which only the largest counts. */
static const char *counted(struct world *w, const struct kai_queue *q, const char *resource)
{
    const char *text = "";
    for (uint32_t i = 0; i < q->record.shares->counts_n; i++) {
        const struct counting *c = &q->record.shares->counts[i];
        if (strcmp(intern_name(w->names, c->resource), resource) != 0)
            continue;
        text = arena_printf(w->arena, "%s%s%s%s*%lld", text, *text ? " " : "", c->how == COUNTS_PART ? "|" : "",
                            intern_name(w->names, c->as), (long long)c->times);
        text = c->per == 1 ? text : arena_printf(w->arena, "%s/%lld", text, (long long)c->per);
        assert_int_equal(c->only_kept, text_starts(intern_name(w->names, c->as), KAI_KEPT_PREFIX));
    }
    return text;
}

static void counts_what_is_asked(void **state)
{
    struct world *w = *state;
    const struct kai_slice slices[] = {{intern_text_id(w->names, "nvidia.com/mig-3g.20gb"), 3}};
    const struct kai_totals totals = {.gpus = 20, .gpu_memory_bytes = (int64_t)40 << 30, .slices = slices, .slices_n = 1};
    const struct queue_shares by = kai_counts(&w->d, &totals);
    const struct queue_record r = {.shares = &by};
    const struct kai_queue q = {.record = r};
    assert_string_equal(counted(w, &q, "nvidia.com/gpu"), "gpu*1000");
    assert_string_equal(counted(w, &q, "nvidia.com/mig-3g.20gb"), "gpu*3000");
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-milli"), "|gpu*1");
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-memory"), "|gpu*1000/42949672960");
    assert_string_equal(counted(w, &q, "cpu"), "");
    int64_t asked[KAI_PARTS_N] = {0};
    kai_asked_add(asked, GPU_COUNTED, 2500);
    kai_asked_add(asked, GPU_COUNTED, 500);
    kai_asked_add(asked, "example.com/other", 7);
    kai_asked_add(asked, "cpu", 1500);
    kai_asked_add(asked, "memory", INT64_MAX);
    kai_asked_add(asked, "memory", INT64_MAX);
    assert_int_equal(asked[0], 3000);
    assert_int_equal(asked[1], 1500);
    assert_true(asked[2] > 0);
}

static void reads_units(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"team\":{\"resources\":{\"gpu\":{\"quota\":2.5,\"limit\":4},\"cpu\":{\"quota\":1500,\"limit\":-1},"
                                          "\"memory\":{\"quota\":3,\"limit\":7}}}", &n);
    assert_string_equal(intern_name(w->names, q->record.name), "kai:team");
    assert_string_equal(intern_name(w->names, q->record.title), "team");
    assert_string_equal(intern_name(w->names, q->record.shares->parent), "kai:");
    assert_true(q->record.unlimited && !q->record.closed);
    assert_int_equal(q->record.within_queue, PREEMPT_LOWER_PRIORITY);
    assert_int_equal(deserved(w, q, "gpu"), 2500);
    assert_int_equal(most(w, q, "gpu"), 4000);
    assert_int_equal(most(w, q, "nvidia.com/gpu"), -1);
    assert_int_equal(deserved(w, q, "cpu"), 1500);
    assert_int_equal(most(w, q, "cpu"), -1);
    assert_int_equal(deserved(w, q, "memory"), 3000000);
    assert_int_equal(most(w, q, "memory"), 7000000);
}

/* What groups that are non-preemptible have together is counted besides, and bounded by the quota. */
static void bounds_what_is_kept_by_quota(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"team\":{\"resources\":{\"gpu\":{\"quota\":2,\"limit\":4},\"cpu\":{\"quota\":-1,\"limit\":-1},"
                                          "\"memory\":{\"limit\":7}}}", &n);
    assert_int_equal(most(w, q, "kept:gpu"), 2000);
    assert_int_equal(most(w, q, "kept:cpu"), -1);
    assert_int_equal(most(w, q, "kept:memory"), 0);
    assert_int_equal(deserved(w, q, "kept:gpu"), -1);
    assert_string_equal(counted(w, q, "nvidia.com/gpu"), "gpu*1000 kept:gpu*1000");
    assert_string_equal(counted(w, q, "cpu"), "kept:cpu*1");
    assert_string_equal(counted(w, q, "memory"), "kept:memory*1");
}

/* All are counted as one: MIG instances as many GPUs as they have slices, memory by the largest GPU. */
static void other_forms_of_gpus(void **state)
{
    struct world *w = *state;
    const struct kai_slice slices[] = {{intern_text_id(w->names, "nvidia.com/mig-1g.5gb"), 1}, {intern_text_id(w->names, "nvidia.com/mig-3g.20gb"), 3}};
    const struct kai_totals totals = {.gpus = 20, .gpu_memory_bytes = (int64_t)40 << 30, .slices = slices, .slices_n = 2};
    struct kai_queue q = {.name = "team", .spec = tree(w, "{\"resources\":{\"gpu\":{\"quota\":4.5,\"limit\":7}}}")};
    kai_queues_read(&w->d, &q, 1, &totals);
    assert_int_equal(deserved(w, &q, "gpu"), 4500);
    assert_int_equal(most(w, &q, "gpu"), 7000);
    assert_int_equal(most(w, &q, "kept:gpu"), 4500);
    assert_string_equal(counted(w, &q, "nvidia.com/mig-1g.5gb"), "gpu*1000 kept:gpu*1000");
    assert_string_equal(counted(w, &q, "nvidia.com/mig-3g.20gb"), "gpu*3000 kept:gpu*3000");
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-milli"), "|gpu*1 |kept:gpu*1");
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-memory-milli"), "|gpu*1 |kept:gpu*1");
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-memory"), "|gpu*1000/42949672960 |kept:gpu*1000/42949672960");
    q.spec = tree(w, "{\"resources\":{\"gpu\":{\"quota\":1e15,\"limit\":-1}}}");
    kai_queues_read(&w->d, &q, 1, &totals);
    assert_int_equal(most(w, &q, "gpu"), -1);
    assert_int_equal(deserved(w, &q, "gpu"), NO_END);
    kai_queues_read(&w->d, &q, 1, &cluster); /* no memory is known: what is said in it is not counted */
    assert_string_equal(counted(w, &q, "capstan.dev/gpu-memory"), "");
}

static void what_is_not_written_is_none(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"team\":{\"resources\":{\"cpu\":{\"quota\":-1}}}", &n);
    assert_int_equal(most(w, q, "gpu"), 0);
    assert_int_equal(gpus(w, q), 0);
    assert_int_equal(deserved(w, q, "cpu"), 0); /* all of it, but no more than its limit */
    q = queues(w, "\"team\":{\"resources\":{\"cpu\":{\"quota\":-1,\"limit\":-1}}}", &n);
    assert_int_equal(deserved(w, q, "cpu"), 80000);
}

#define GPUS(quota, limit, weight) "\"resources\":{\"gpu\":{\"quota\":" #quota ",\"limit\":" #limit ",\"overQuotaWeight\":" #weight "}}"

static void deals_out_the_rest_by_weight(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"a\":{" GPUS(2, -1, 3) "},\"b\":{" GPUS(2, -1, 1) "},\"c\":{" GPUS(0, -1, 0) "}", &n);
    assert_int_equal(gpus(w, named(q, n, "a")), 14); /* 2 + 3/4 of 16 */
    assert_int_equal(gpus(w, named(q, n, "b")), 6);
    assert_int_equal(gpus(w, named(q, n, "c")), 0);
    q = queues(w, "\"a\":{" GPUS(2, 5, 3) "},\"b\":{" GPUS(2, -1, 1) "}", &n); /* whom his limit stops leaves his part */
    assert_int_equal(gpus(w, named(q, n, "a")), 5);
    assert_int_equal(gpus(w, named(q, n, "b")), 15);
    q = queues(w, "\"a\":{" GPUS(0, -1, 1) "},\"b\":{" GPUS(0, -1, 1) "},\"c\":{" GPUS(0, -1, 1) "}", &n); /* whole GPUs, all of them */
    assert_int_equal(gpus(w, named(q, n, "a")) + gpus(w, named(q, n, "b")) +
                         gpus(w, named(q, n, "c")), 20);
    q = queues(w, "\"a\":{" GPUS(15, -1, 1) "},\"b\":{" GPUS(15, -1, 1) "}", &n); /* quotas stay, also where there is less */
    assert_int_equal(gpus(w, named(q, n, "a")), 15);
    assert_int_equal(gpus(w, named(q, n, "b")), 15);
}

static void the_highest_priority_first(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"a\":{\"priority\":200," GPUS(2, 8, 1) "},\"b\":{" GPUS(2, -1, 9) "},"
                                          "\"c\":{\"priority\":50," GPUS(1, -1, 9) "}", &n);
    assert_int_equal(gpus(w, named(q, n, "a")), 8);
    assert_int_equal(gpus(w, named(q, n, "b")), 11);
    assert_int_equal(gpus(w, named(q, n, "c")), 1);
}

static void stands_in_a_tree(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"org\":{" GPUS(10, 12, 1) "},\"x\":{\"parentQueue\":\"org\"," GPUS(2, -1, 1) "},"
                                          "\"y\":{\"parentQueue\":\"org\"," GPUS(2, -1, 3) "}", &n);
    const struct kai_queue *org = named(q, n, "org");
    assert_int_equal(gpus(w, org), 12);
    assert_int_equal(gpus(w, named(q, n, "x")), 4);
    assert_int_equal(gpus(w, named(q, n, "y")), 8);
    assert_string_equal(intern_name(w->names, named(q, n, "x")->record.shares->parent), "kai:org");
    assert_true(org->record.closed);
    assert_non_null(strstr(intern_name(w->names, org->record.closed_text), "x"));
    assert_int_equal(org->below_n, 2);
    assert_string_equal(org->below[1]->name, "y");
    assert_false(named(q, n, "x")->record.closed);
}

/* Who says nothing says what the queue above it does. */
static void times_are_inherited(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"top\":{\"reclaimMinRuntime\":\"5m\",\"preemptMinRuntime\":\"1h\"},"
                                          "\"mid\":{\"parentQueue\":\"top\",\"reclaimMinRuntime\":\"0s\"},"
                                          "\"a\":{\"parentQueue\":\"mid\"},\"b\":{\"parentQueue\":\"mid\",\"preemptMinRuntime\":\"-1s\"},"
                                          "\"c\":{\"preemptMinRuntime\":\"1500000h\",\"reclaimMinRuntime\":\"soon\"}", &n);
    static const struct {
        const char *name;
        int64_t preempt_ms, reclaim_ms;
    } all[] = {{"top", 3600000, 300000}, {"mid", 3600000, 0}, {"a", 3600000, 0}, {"b", 0, 0}, {"c", (int64_t)1 << 42, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(named(q, n, all[i].name)->record.shares->preempt_after_ms, all[i].preempt_ms);
        assert_int_equal(named(q, n, all[i].name)->record.shares->reclaim_after_ms, all[i].reclaim_ms);
    }
}

static void tells_of_parents_that_lead_nowhere(void **state)
{
    struct world *w = *state;
    uint32_t n;
    const struct kai_queue *q = queues(w, "\"a\":{\"parentQueue\":\"gone\"},\"b\":{\"parentQueue\":\"a\"},\"c\":{\"parentQueue\":\"d\"},"
                                          "\"d\":{\"parentQueue\":\"c\"},\"e\":{\"parentQueue\":\"e\"},\"f\":{\"parentQueue\":\"c\"}", &n);
    for (uint32_t i = 0; i < n; i++)
        assert_true(q[i].record.closed && q[i].record.closed_text);
    assert_non_null(strstr(intern_name(w->names, named(q, n, "a")->record.closed_text), "gone does not exist"));
}

static void bears_what_is_hostile(void **state)
{
    static const char *const specs[] = {
        "null", "7", "[]", "{\"resources\":[]}", "{\"resources\":{\"gpu\":7,\"cpu\":[],\"memory\":null}}", "{\"parentQueue\":{},\"priority\":\"x\"}",
        ("{\"priority\":1e99,\"resources\":{\"gpu\":{\"quota\":1e300,\"limit\":9999999999999999999,\"overQuotaWeight\":1e30},"
        "\"memory\":{\"quota\":9e18,\"limit\":1e-30,\"overQuotaWeight\":-4},\"cpu\":{\"quota\":\"7\",\"limit\":true}}}")};
    struct world *w = *state;
    uint32_t n;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const struct kai_queue *q = queues(w, arena_printf(w->arena, "\"a\":%s,\"b\":%s", specs[i], specs[i]), &n);
        for (uint32_t k = 0; k < n; k++)
            assert_true(deserved(w, &q[k], "gpu") >= 0 && deserved(w, &q[k], "memory") >= 0 && deserved(w, &q[k], "cpu") >= 0);
    }
    kai_queues_read(&w->d, NULL, 0, &cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_units, world_open, world_close),
        cmocka_unit_test_setup_teardown(deals_by_what_is_asked, world_open, world_close),
        cmocka_unit_test_setup_teardown(counts_what_is_asked, world_open, world_close),
        cmocka_unit_test_setup_teardown(bounds_what_is_kept_by_quota, world_open, world_close),
        cmocka_unit_test_setup_teardown(other_forms_of_gpus, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_not_written_is_none, world_open, world_close),
        cmocka_unit_test_setup_teardown(deals_out_the_rest_by_weight, world_open, world_close),
        cmocka_unit_test_setup_teardown(the_highest_priority_first, world_open, world_close),
        cmocka_unit_test_setup_teardown(stands_in_a_tree, world_open, world_close),
        cmocka_unit_test_setup_teardown(times_are_inherited, world_open, world_close),
        cmocka_unit_test_setup_teardown(tells_of_parents_that_lead_nowhere, world_open, world_close),
        cmocka_unit_test_setup_teardown(bears_what_is_hostile, world_open, world_close),
    };
    return cmocka_run_group_tests_name("codec/kai_queues", tests, NULL, NULL);
}
