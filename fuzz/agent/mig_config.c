/* mig_config.c - any file: refused with a message, or layouts that every model takes or refuses in words, and whose plans end where they
 * say
 *
 * A text that begins with "from:" is read as an intent of the journal instead.
 */
#include "../fuzz.h"
#include <string.h>
#include "agent/mig/mig_config.h"
#include "agent/mig/mig_intent.h"
#include "base/bytes.h"

static void check_plan(const struct gpu_model *m, struct mig_state s, bool on, const struct mig_wish *wishes, uint32_t n)
{
    struct mig_plan plan;
    struct err e = {0};
    uint8_t last = 0xff;
    int r = mig_plan_make(m, &s, on, wishes, n, &plan, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    for (uint32_t i = 0; r == 0 && i < plan.steps_n; i++) {
        MUST_HOLD(mig_step_do(&s, m, &plan.steps[i], false, 1, &last) == MIG_OK);
        if (s.mode != s.mode_pending)
            mig_reset(&s, m);
    }
    MUST_HOLD(r < 0 || mig_plan_matches(m, &s, on, wishes, n));
}

static void check_layout(const struct mig_layout *l, const struct gpu_model *m, uint16_t index)
{
    struct driver_gpu gpu = {.index = index,
                             .pci_device_id = m->pci_device_id,
                             .pci_subsystem_id = m->pci_subsystem_id,
                             .mig_capable = m->mig_slices > 0,
                             .geometry = m->mig_slices ? m : NULL};
    struct mig_wish wishes[16];
    struct err e = {0};
    uint32_t n = 0;
    bool on = false;
    int r = mig_layout_for(l, &gpu, &on, wishes, 16, &n, &e);
    MUST_HOLD(r <= 1 && (r >= 0 || e.text[0]));
    if (r == 1)
        check_plan(m, (struct mig_state){0}, on, wishes, n);
}

static void check_config(struct bytes text)
{
    struct arena *a = arena_new();
    struct mig_config c;
    struct err e = {0};
    int r = mig_config_parse(a, text, &c, &e);
    MUST_HOLD(r == 0 ? c.layouts_n > 0 : e.code == -r && e.text[0]);
    for (uint32_t i = 0; r == 0 && i < c.layouts_n; i++) {
        MUST_HOLD(c.layouts[i].entries_n > 0 && mig_config_find(&c, c.layouts[i].name));
        for (uint32_t m = 0; m < gpu_models_n; m++)
            check_layout(&c.layouts[i], &gpu_models[m], (uint16_t)(m % 3));
    }
    arena_free(a);
}

static void check_intent(const char *text)
{
    struct mig_state from, again;
    struct mig_target to, target;
    struct buf written = {0};
    for (uint32_t m = 0; m < gpu_models_n; m++) {
        if (mig_intent_read(&gpu_models[m], text, &from, &to, NULL) < 0)
            continue;
        buf_clear(&written);
        mig_intent_write(&from, &to, &written);
        MUST_HOLD(mig_intent_read(&gpu_models[m], written.data, &again, &target, NULL) == 0);
        MUST_HOLD(memcmp(&from, &again, sizeof from) == 0 && to.wishes_n == target.wishes_n && to.mode_on == target.mode_on);
    }
    buf_free(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_text_n((const char *)data, size);
    if (text_starts(text, "from:"))
        check_intent(text);
    else
        check_config((struct bytes){text, size});
    free(text);
    return 0;
}
