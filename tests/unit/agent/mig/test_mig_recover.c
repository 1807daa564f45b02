#include "mig_world.h"

/* ---- faults at every step ---- */

static void places(struct world *w, struct buf *out)
{
    buf_clear(out);
    mig_intent_write(look(w)->gpus[0].mig, &(struct mig_target){0}, out);
}

/* From SEVEN with one instance in use to PARTS, or from off to PARTS; the n-th changing call goes wrong. Returns false when n is beyond. */
static bool fail_at(const char *model, const char *before, enum fault fault, uint32_t n)
{
    struct world w = world_new(model, 1, true);
    struct buf first = {0}, last = {0};
    apply(&w, before, (struct mig_apply_config){0});
    expect(&w, 0, w.result.changed_n, w.result.unchanged_n, 0);
    if (look(&w)->gpus[0].migs_n)
        use_last(&w);
    places(&w, &first);
    w.fault = fault;
    w.fault_at = n;
    apply(&w, PARTS, (struct mig_apply_config){0});
    bool hit = w.calls_n >= n;
    if (hit) {
        expect(&w, -E_IO, 0, 0, 1);
        expect_text(&w, "made to fail; the layout before is back");
        places(&w, &last);
        assert_string_equal(last.data, first.data);
    } else {
        expect(&w, 0, 1, 0, 0);
    }
    assert_null(inventory_intent(w.inventory, "mig/none"));
    w.fault = FAULT_NONE;
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, 0, hit, !hit, 0);
    assert_int_equal(check(&w, PARTS, false, NULL), 0);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
    return hit;
}

static void fail_at_all(const char *model, const char *before, enum fault fault, uint32_t least_n)
{
    uint32_t n = 1;
    while (fail_at(model, before, fault, n))
        n++;
    assert_true(n > least_n);
}

static void test_failures(void **state)
{
    fail_at_all("h100-80gb", SEVEN, FAULT_REFUSED, 9);
    fail_at_all("h100-80gb", SEVEN, FAULT_DONE_BUT_ERROR, 9);
    fail_at_all("h100-80gb", DISABLED, FAULT_REFUSED, 10);
    fail_at_all("h100-80gb", DISABLED, FAULT_DONE_BUT_ERROR, 10);
    fail_at_all("a100-80gb", DISABLED, FAULT_REFUSED, 11);
    fail_at_all("a100-80gb", DISABLED, FAULT_DONE_BUT_ERROR, 11);
}

static void restart(struct world *w)
{
    struct err e;
    mig_apply_cancel(w->apply);
    inventory_close(w->inventory);
    if (inventory_open(w->loop, w->journal, &w->inventory, &e) < 0)
        fail_msg("%s", e.text);
    w->fault = FAULT_NONE;
    w->results_n = 0;
    w->holds_n = w->releases_n = w->calls_n = 0;
    w->apply = mig_apply_recover(w->loop, &w->outer, w->inventory, &(struct mig_apply_config){.hold = on_hold, .ctx = w}, on_result, w);
    assert_int_equal(loop_run(w->loop, NULL), 0);
    assert_int_equal(w->results_n, 1);
    assert_int_equal(w->holds_n, w->releases_n);
    assert_true(w->holds_n || !w->calls_n); /* nobody new while something changes */
}

/* The process ends while the n-th changing call is on its way, which is carried out or not. */
static bool kill_at(const char *model, const char *before, uint32_t n)
{
    struct world w = world_new(model, 1, true);
    struct buf first = {0}, last = {0};
    char key[64];
    apply(&w, before, (struct mig_apply_config){0});
    if (look(&w)->gpus[0].migs_n)
        use_last(&w);
    places(&w, &first);
    w.fault = FAULT_SILENT;
    w.fault_at = n;
    w.outer.self = &w;
    w.results_n = 1; /* a run that ends before the n-th call answers */
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c;
    assert_int_equal(mig_config_parse(a, bytes_of("version: v1\nmig-configs:\n  x:\n" PARTS), &c, NULL), 0);
    w.calls_n = 0;
    w.apply = mig_apply_start(w.loop, &w.outer, w.inventory, &c.layouts[0], &(struct mig_apply_config){0}, on_result, &w);
    assert_int_equal(loop_run(w.loop, NULL), 0);
    bool hit = w.calls_n >= n;
    snprintf(key, sizeof key, "mig/%s", w.reading->gpus[0].uuid);
    assert_int_equal(inventory_intent(w.inventory, key) != NULL, hit);
    restart(&w);
    expect(&w, 0, w.result.changed_n, w.result.unchanged_n, 0);
    places(&w, &last);
    assert_true(text_equal(last.data, first.data) || check(&w, PARTS, false, NULL) == 0);
    assert_int_equal(text_equal(last.data, first.data), hit);
    assert_null(inventory_intent(w.inventory, key));
    restart(&w); /* nothing left to do */
    expect(&w, 0, 0, 0, 0);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
    return hit;
}

static void test_killed(void **state)
{
    const char *const before[] = {SEVEN, DISABLED, BALANCED};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        uint32_t n = 1;
        while (kill_at("h100-80gb", before[i], n))
            n++;
        assert_true(n > 5);
        for (n = 1; kill_at("a100-80gb", before[i], n);)
            n++;
    }
}

/* Recovery with something in use: on when back would end it, neither when both would. */
static void recover_with(struct world *w, const char *text)
{
    char key[64];
    struct err e;
    snprintf(key, sizeof key, "mig/%s", look(w)->gpus[0].uuid);
    if (inventory_intent_set(w->inventory, key, text, &e) < 0)
        fail_msg("%s", e.text);
    w->outer.self = w;
    restart(w);
}

static void test_recover_busy(void **state)
{
    struct world w = world_new("h100-80gb", 1, true);
    apply(&w, "    - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 1}}\n", (struct mig_apply_config){0});
    use_last(&w);
    recover_with(&w, "from:1;0@0:7@0|to:1;19/1x2"); /* back: 7g, over the one in use; on: one more */
    expect(&w, 0, 1, 0, 0);
    assert_int_equal(look(&w)->gpus[0].migs_n, 2);
    recover_with(&w, "from:1;0@0:7@0|to:1;9/3x2"); /* both ways over it */
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "can be neither finished nor taken back");
    driver_model_set_processes(w.inner, NULL, 0);
    restart(&w); /* the intent was kept */
    expect(&w, 0, 1, 0, 0);
    assert_string_equal(look(&w)->gpus[0].migs[0].profile, "7g.80gb");
    recover_with(&w, "nonsense");
    expect(&w, -E_INVALID, 0, 0, 1);
    expect_text(&w, "the journal's MIG intent 'nonsense' is not understood");
    restart(&w);
    expect(&w, 0, 0, 0, 0);
    world_free(&w);
}

/* A restart between the change of mode and its reset: linked GPUs count on the way back, too, where that needs a reset. */
static void test_recover_linked(void **state)
{
    struct world w = world_new("a100-80gb", 2, true);
    struct driver_process process = {.pid = 7, .gi = 0xffffffff, .ci = 0xffffffff, .gpu = 1};
    apply(&w, "    - {devices: [0], mig-enabled: true, mig-devices: {}}\n", (struct mig_apply_config){0});
    w.resets_linked = true;
    driver_model_set_processes(w.inner, &process, 1);
    recover_with(&w, "from:0|to:1;19/1x2"); /* back: the mode off, and a reset */
    expect(&w, -E_CONFLICT, 0, 0, 1);
    assert_int_equal(w.calls_n, 0);
    driver_model_set_processes(w.inner, NULL, 0);
    restart(&w);
    expect(&w, 0, 1, 0, 0);
    assert_false(look(&w)->gpus[0].mig_on);
    assert_int_equal(w.holds_n, 2);
    const struct mig_step on = {.kind = MIG_STEP_MODE_ON};
    driver_mig_step(w.inner, look(&w)->gpus[0].uuid, &on, ignore, NULL);
    assert_int_equal(loop_run(w.loop, NULL), 0);
    assert_true(look(&w)->gpus[0].mig_pending);
    driver_model_set_processes(w.inner, &process, 1);
    recover_with(&w, "from:0|to:1;19/1x2"); /* back: what is pending is taken back, without a reset */
    expect(&w, 0, 1, 0, 0);
    assert_false(look(&w)->gpus[0].mig_pending);
    world_free(&w);
}

/* The driver stays away during the way back: the intent is kept, the next start finishes it. */
static void test_back_fails(void **state)
{
    struct world w = world_new("h100-80gb", 1, true);
    struct buf first = {0}, last = {0};
    apply(&w, SEVEN, (struct mig_apply_config){0});
    places(&w, &first);
    w.fault = FAULT_REFUSED;
    w.fault_at = 6;
    w.outer.self = &w;
    driver_model_refuse(w.inner, -E_IO, 0);
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, -E_IO, 0, 0, 1);
    expect_text(&w, "is back");
    w.fault = FAULT_NONE;
    struct loop_timer *t = loop_timer_new(w.loop, free_processes, &w);
    driver_model_refuse(w.inner, -E_AGAIN, 6); /* forward once, back five times */
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, -E_AGAIN, 0, 0, 1);
    loop_timer_free(t);
    driver_model_refuse(w.inner, 0, 0);
    restart(&w);
    places(&w, &last);
    assert_string_equal(last.data, first.data);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
}

static void test_intent_text(void **state)
{
    const struct gpu_model *m = gpu_model_find("a100-40gb");
    struct mig_state from = {.mode = 1, .mode_pending = 1}, back;
    struct mig_target to = {.mode_on = true}, target;
    struct buf text = {0}, again = {0};
    uint8_t id, ci;
    assert_int_equal(mig_create_instance(&from, m, 9, 0, &id), MIG_OK);
    assert_int_equal(mig_create_compute(&from, m, id, 1, 1, 0, &ci), MIG_OK);
    assert_int_equal(mig_create_compute(&from, m, id, 1, 2, 0, &ci), MIG_OK);
    assert_int_equal(mig_create_instance(&from, m, 19, 6, &id), MIG_OK);
    assert_int_equal(mig_wish_parse(m, "1c.3g.20gb", &to.wishes[to.wishes_n], NULL), 0);
    to.wishes[to.wishes_n++].n = 2;
    mig_intent_write(&from, &to, &text);
    assert_string_equal(text.data, "from:1;9@0:1@1,1@2;19@6|to:1;9/1x2");
    assert_int_equal(mig_intent_read(m, text.data, &back, &target, NULL), 0);
    mig_intent_write(&back, &target, &again);
    assert_string_equal(again.data, text.data);
    static const char *const bad[] = {"", "from:", "from:1", "from:2|to:1", "from:0;9@0|to:1", "from:1;9@1|to:0", "from:1;9@0;9@0|to:0",
                                      "from:1;9@0:1@0,1@0|to:0", "from:1;9@0:3@|to:0", "from:1;77@0|to:0", "from:1|to:1;9/4x1",
                                      "from:1|to:1;9/1x99999", "from:1|to:1;9/1x1 ", "from:1;9@0:|to:1", "from:99999999999|to:1",
                                      "from:1|to:1;0/0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mig_intent_read(m, bad[i], &back, &target, NULL) != -E_INVALID)
            fail_msg("'%s' was read", bad[i]);
    buf_free(&text);
    buf_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_recover_busy), cmocka_unit_test(test_recover_linked), cmocka_unit_test(test_back_fails),
        cmocka_unit_test(test_intent_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
