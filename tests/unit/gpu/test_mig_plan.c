#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/bytes.h"
#include "gpu/mig_plan.h"

static const struct gpu_model *a100(void)
{
    return gpu_model_find("a100-40gb");
}

static struct mig_wish wish(const char *name, uint32_t n)
{
    struct mig_wish w = {0};
    struct err e;
    if (mig_wish_parse(a100(), name, &w, &e) < 0)
        fail_msg("%s", e.text);
    w.n = n;
    return w;
}

static void refuse_name(const char *key, const char *name, int code, const char *text)
{
    struct mig_wish w;
    struct err e = {0};
    assert_int_equal(mig_wish_parse(gpu_model_find(key), name, &w, &e), -code);
    if (!strstr(e.text, text))
        fail_msg("'%s' is not in '%s'", text, e.text);
}

static void test_names(void **state)
{
    char name[32];
    struct mig_wish w = wish("1c.3g.20gb", 1);
    assert_int_equal(w.compute_slices, 1);
    mig_compute_name(w.profile, w.compute_slices, name);
    assert_string_equal(name, "1c.3g.20gb");
    w = wish("3c.3g.20gb", 1); /* C = G is the full one */
    mig_compute_name(w.profile, w.compute_slices, name);
    assert_string_equal(name, "3g.20gb");
    assert_string_equal(wish("1g.5gb+me", 1).profile->name, "1g.5gb+me");
    refuse_name("a100-40gb", "1g.10gb+me", E_NOTFOUND, "1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb");
    refuse_name("a100-40gb", "3c.4g.20gb", E_NOTFOUND, "1c.4g.20gb, 2c.4g.20gb, 4g.20gb only");
    refuse_name("t4", "1g.5gb", E_NOTFOUND, "Tesla T4 has no MIG");
    static const char *const bad[] = {"",         "g",          "1g",          "1g.gb",    "1g.5",      "1.5gb",     "1g.5gbx",
                                      "0g.5gb",   "4c.3g.20gb", "1c1g.5gb",    "1g.5gb+",  "1g.5gb+mee", "1g.5gb-me,gfx",
                                      "1g.5gb+x", " 1g.5gb",    "99999g.5gb",  "1c.",      "1g.5gb+me+me", "-1g.5gb",
                                      "1g.5gb-me.all", "1g.5gb                                                          "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_name("a100-40gb", bad[i], E_INVALID, "write one as 1g.10gb");
    refuse_name("a100-40gb", "1g.5gb+me,gfx", E_NOTFOUND, "has no MIG profile");
}

static void refuse_plan(const struct mig_wish *wishes, uint32_t n, const char *text)
{
    struct mig_state s = {.mode = 1, .mode_pending = 1};
    struct mig_plan plan;
    struct err e = {0};
    assert_int_equal(mig_plan_make(a100(), &s, true, wishes, n, &plan, &e), -E_INVALID);
    assert_string_equal(e.text, text);
}

static void test_does_not_fit(void **state)
{
    /* The layout of many tutorials: two 3g fill the memory of an A100. */
    struct mig_wish guide[] = {wish("3g.20gb", 2), wish("1g.5gb", 1)};
    refuse_plan(guide, 2,
                "3g.20gb x 2 + 1g.5gb x 1 does not fit on NVIDIA A100-SXM4-40GB: it takes 9 memory slices, the GPU has 8. "
                "Would fit: 3g.20gb x 1 + 1g.5gb x 1; 3g.20gb x 2; balanced: 3g.20gb x 1 + 2g.10gb x 1 + 1g.5gb x 2");
    struct mig_wish eight = wish("1g.5gb", 8);
    refuse_plan(&eight, 1,
                "1g.5gb x 8 does not fit on NVIDIA A100-SXM4-40GB: it takes 8 compute slices, the GPU has 7. Would fit: 1g.5gb x 7; "
                "balanced: 3g.20gb x 1 + 2g.10gb x 1 + 1g.5gb x 2");
    struct mig_wish media = wish("1g.5gb+me", 2);
    refuse_plan(&media, 1,
                "1g.5gb+me x 2 does not fit on NVIDIA A100-SXM4-40GB: it takes more media engines than the GPU has. Would fit: "
                "1g.5gb+me x 1; balanced: 3g.20gb x 1 + 2g.10gb x 1 + 1g.5gb x 2");
    struct mig_wish places[] = {wish("2g.10gb", 3), wish("1g.10gb", 1), wish("4g.20gb", 0)};
    struct mig_state s = {.mode = 1, .mode_pending = 1};
    struct mig_plan plan;
    assert_int_equal(mig_plan_make(a100(), &s, true, places, 3, &plan, NULL), 0);
    struct mig_wish overlap[] = {wish("4g.20gb", 1), wish("2g.10gb", 1), wish("2c.2g.10gb", 1)};
    assert_int_equal(mig_plan_make(a100(), &s, true, overlap, 3, &plan, NULL), -E_INVALID);
    struct mig_wish huge = wish("1g.5gb", 4000000000u);
    assert_int_equal(mig_plan_make(a100(), &s, true, &huge, 1, &plan, NULL), -E_INVALID);
    assert_int_equal(mig_plan_make(a100(), &s, false, &eight, 1, &plan, NULL), -E_INVALID);
    assert_int_equal(mig_plan_make(gpu_model_find("t4"), &s, true, NULL, 0, &plan, NULL), -E_INVALID);
}

static void test_mode(void **state)
{
    struct mig_state s = {0};
    struct mig_plan plan;
    char text[96];
    struct mig_wish w = wish("7g.40gb", 1);
    assert_int_equal(mig_plan_make(a100(), &s, false, NULL, 0, &plan, NULL), 0);
    assert_int_equal(plan.steps_n, 0);
    assert_true(mig_plan_matches(a100(), &s, false, NULL, 0));
    assert_false(mig_plan_matches(a100(), &s, true, NULL, 0));
    assert_int_equal(mig_plan_make(gpu_model_find("t4"), &s, false, NULL, 0, &plan, NULL), 0);
    assert_int_equal(plan.steps_n, 0);
    assert_int_equal(mig_plan_make(a100(), &s, true, &w, 1, &plan, NULL), 0);
    assert_int_equal(plan.steps_n, 3);
    mig_step_text(a100(), &plan.steps[0], text);
    assert_string_equal(text, "MIG mode on");
    mig_step_text(a100(), &plan.steps[1], text);
    assert_string_equal(text, "create GPU instance 7g.40gb at 0");
    mig_step_text(a100(), &plan.steps[2], text);
    assert_string_equal(text, "create compute instance 7g.40gb at 0 in GPU instance new");
    s = (struct mig_state){.mode_pending = 1}; /* on after the next reset: must not happen any more */
    assert_int_equal(mig_plan_make(a100(), &s, false, NULL, 0, &plan, NULL), 0);
    assert_int_equal(plan.steps_n, 1);
    assert_int_equal(plan.steps[0].kind, MIG_STEP_MODE_OFF);
}

/* An instance that is in use stays where it is, and the others go around it. */
static void test_keeps_busy(void **state)
{
    struct mig_state s = {.mode = 1, .mode_pending = 1};
    struct mig_plan plan;
    uint8_t gi, ci, last = 0xff;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(mig_create_instance(&s, a100(), 19, i, &gi), MIG_OK);
        assert_int_equal(mig_create_compute(&s, a100(), gi, 1, -1, 7, &ci), MIG_OK);
    }
    mig_find_compute(&s, 12, 0)->busy_n = 1; /* at memory slice 5 */
    struct mig_compute before = *mig_find_compute(&s, 12, 0);
    struct mig_wish w[] = {wish("3g.20gb", 1), wish("1g.5gb", 3)};
    assert_int_equal(mig_plan_make(a100(), &s, true, w, 2, &plan, NULL), 0);
    assert_int_equal(plan.busy_n, 0);
    assert_int_equal(plan.kept_n, 3);
    for (uint32_t i = 0; i < plan.steps_n; i++)
        assert_int_equal(mig_step_do(&s, a100(), &plan.steps[i], false, 7, &last), MIG_OK);
    assert_memory_equal(mig_find_compute(&s, 12, 0), &before, sizeof before);
    assert_true(mig_plan_matches(a100(), &s, true, w, 2));
    assert_int_equal(mig_plan_make(a100(), &s, true, w, 2, &plan, NULL), 0);
    assert_int_equal(plan.steps_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_does_not_fit),
        cmocka_unit_test(test_mode),
        cmocka_unit_test(test_keeps_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
