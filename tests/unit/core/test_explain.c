#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "world.h"

static void nothing(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    explain_sentence(&b, NULL, NULL);
    explain_tree(&b, NULL, NULL);
    explain_json(&b, NULL, NULL);
    assert_int_equal(b.n, 0);
    assert_string_equal(explain_kueue_reason(NULL), "PendingEvaluation");
    buf_free(&b);
}

static void every_code_has_words(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    for (int code = 0; code < REASON_CODES_N; code++) {
        struct reason r = {.code = (enum reason_code)code, .nodes_n = 2, .have = 1, .need = 3};
        struct buf b;
        buf_init(&b);
        explain_sentence(&b, &r, names);
        assert_true(b.n > 0);
        explain_json(&b, &r, names);
        assert_non_null(reason_code_name(r.code));
        assert_non_null(strstr(b.data, reason_code_name(r.code)));
        buf_free(&b);
    }
    intern_free(names);
}

static void words_that_kueue_has(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    struct buf b;
    buf_init(&b);
    struct reason r = {.code = REASON_QUEUE_STOPPED, .queue = intern_text_id(names, "cq"), .name = intern_text_id(names, "lq"),
                       .queue_kind = QUEUE_LOCAL};
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "LocalQueue lq is stopped");
    assert_string_equal(explain_kueue_reason(&r), "Suspended");
    buf_clear(&b);
    explain_kueue_sentence(&b, &r, names);
    assert_string_equal(b.data, "LocalQueue lq is inactive");
    buf_clear(&b);
    explain_kueue_sentence(&b, &(struct reason){.code = REASON_QUEUE_STOPPED, .queue = r.queue, .queue_kind = QUEUE_CLUSTER}, names);
    assert_string_equal(b.data, "ClusterQueue cq is inactive");
    buf_clear(&b);
    explain_kueue_sentence(&b, &(struct reason){.code = REASON_QUEUE_MISSING, .name = r.name, .queue_kind = QUEUE_LOCAL}, names);
    assert_string_equal(b.data, "LocalQueue lq doesn't exist"); /* as ours */
    buf_clear(&b);
    struct reason nowhere = {.code = REASON_QUEUE_MISSING, .name = intern_text_id(names, "\"\""), .queue_kind = QUEUE_LOCAL};
    explain_kueue_sentence(&b, &nowhere, names);
    assert_string_equal(b.data, "LocalQueue  doesn't exist");
    buf_clear(&b);
    r.code = REASON_STOPPED_QUEUE;
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "The LocalQueue is stopped");
    buf_clear(&b);
    r = (struct reason){.code = REASON_QUEUE_INACTIVE, .queue = intern_text_id(names, "cq")};
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "ClusterQueue cq is inactive");
    assert_string_equal(explain_kueue_reason(&r), "Suspended");
    r = (struct reason){.code = REASON_ON_HOLD};
    assert_string_equal(explain_kueue_reason(&r), "AdmissionGated");
    buf_free(&b);
    intern_free(names);
}

static void units(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    struct buf b;
    buf_init(&b);
    struct reason r = {.code = REASON_QUOTA_SHORT, .resource = intern_text_id(names, "cpu"), .flavor = intern_text_id(names, "f"),
                       .have = 1000, .need = 2500};
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "insufficient unused quota for cpu in flavor f, 1500m more needed");
    buf_clear(&b);
    r.resource = intern_text_id(names, "memory");
    r.have = 0;
    r.need = 3ll << 30;
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "insufficient unused quota for memory in flavor f, 3Gi more needed");
    buf_clear(&b);
    r.resource = intern_text_id(names, "capstan.dev/gpu-memory");
    explain_sentence(&b, &r, names);
    assert_string_equal(b.data, "insufficient unused quota for capstan.dev/gpu-memory in flavor f, 3Gi more needed");
    buf_free(&b);
    intern_free(names);
}

/* A tree larger than the limit loses its deepest children and says how many. */
static void json_limit(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    struct arena *a = arena_new();
    struct reason *root = reason_new(a, (struct reason){.code = REASON_WAITING, .queue = intern_text_id(names, "q\"\n")});
    for (int i = 0; i < 200; i++) {
        char text[32];
        snprintf(text, sizeof text, "flavor-%d", i);
        struct reason *child = reason_new(a, (struct reason){.code = REASON_PLACEMENT_FAILED, .flavor = intern_text_id(names, text)});
        reason_add(child, reason_new(a, (struct reason){.code = REASON_NODE_SELECTOR, .nodes_n = 5}));
        reason_add(root, child);
    }
    struct buf b;
    buf_init(&b);
    explain_json(&b, root, names);
    assert_true(b.n <= LIMIT_REASON_BYTES);
    assert_non_null(strstr(b.data, "\"more\":400"));
    buf_free(&b);
    reason_add_once(root, reason_new(a, *root->child));
    struct reason *copy = reason_copy(root);
    assert_int_equal(reason_hash(copy, names), reason_hash(root, names));
    assert_non_null(reason_find(copy, REASON_NODE_SELECTOR));
    assert_null(reason_find(copy, REASON_REMEDIES));
    free(copy);
    arena_free(a);
    intern_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing), cmocka_unit_test(every_code_has_words),
                                       cmocka_unit_test(words_that_kueue_has), cmocka_unit_test(units), cmocka_unit_test(json_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
