/* test_mig_plans.c - plans for every model with MIG, and the GPU instances that they end in, against tests/golden/mig/MODEL.txt
 *
 *   test_mig_plans FOLDER            compare
 *   test_mig_plans FOLDER --write    write the files anew; then read them against NVIDIA's MIG user guide before they are committed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "gpu/mig_plan.h"

static const char *folder;

struct scene {
    const struct gpu_model *m;
    struct mig_state s;
    struct buf out;
};

static void print_instances(struct scene *x)
{
    for (int id = 0; id < 16; id++) {
        const struct mig_instance *gi = mig_find_instance(&x->s, (uint8_t)id);
        if (!gi)
            continue;
        buf_printf(&x->out, "= GPU instance %d: %s, memory slices %u-%u\n", id, mig_profile_by_id(x->m, gi->profile_id)->name, gi->start,
                   gi->start + gi->units - 1);
    }
}

static void plan(struct scene *x, const char *title, bool mode_on, const struct mig_wish *wishes, uint32_t n)
{
    struct mig_plan p;
    struct err e;
    char text[96], name[32];
    uint8_t last = 0xff;
    buf_printf(&x->out, "\n# %s:", title);
    for (uint32_t i = 0; i < n; i++) {
        mig_compute_name(wishes[i].profile, wishes[i].compute_slices, name);
        buf_printf(&x->out, "%s %s x %u", i ? " +" : "", name, wishes[i].n);
    }
    buf_text(&x->out, mode_on ? "\n" : " mode off\n");
    if (mig_plan_make(x->m, &x->s, mode_on, wishes, n, &p, &e) < 0) {
        buf_printf(&x->out, "! %s\n", e.text);
        return;
    }
    for (uint32_t i = 0; i < p.steps_n; i++) {
        mig_step_text(x->m, &p.steps[i], text);
        buf_printf(&x->out, "%s\n", text);
        struct mig_compute *ci = mig_find_compute(&x->s, p.steps[i].instance_id, p.steps[i].compute_id);
        if (p.steps[i].kind == MIG_STEP_DESTROY_CI && ci)
            ci->busy_n = 0;
        assert_int_equal(mig_step_do(&x->s, x->m, &p.steps[i], false, 1, &last), MIG_OK);
        if (x->s.mode != x->s.mode_pending) {
            buf_text(&x->out, "(reset)\n");
            mig_reset(&x->s, x->m);
        }
    }
    print_instances(x);
}

static struct mig_wish wish(const struct gpu_model *m, uint32_t nvml_index, uint8_t slices, uint32_t n)
{
    const struct mig_profile *p = mig_profile_by_nvml_index(m, nvml_index);
    assert_non_null(p);
    return (struct mig_wish){p, slices ? slices : p->slices, n};
}

/* Each profile alone, as often as it fits. */
static void scenes_alone(struct scene *x)
{
    for (uint32_t i = 0; i < x->m->profiles_n; i++) {
        const struct mig_profile *p = &x->m->profiles[i];
        memset(&x->s, 0, sizeof x->s);
        plan(x, "from mode off", true, &(struct mig_wish){p, p->slices, p->max_n}, 1);
    }
}

static void use(struct scene *x, uint8_t start)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        if (x->s.instances[i].used && x->s.instances[i].start == start) {
            x->s.instances[i].computes[0].busy_n = 1;
            buf_printf(&x->out, "(in use: GPU instance %u)\n", x->s.instances[i].id);
        }
}

static void scenes_seven(struct scene *x)
{
    const struct gpu_model *m = x->m;
    struct mig_wish balanced[] = {wish(m, 0, 0, 2), wish(m, 1, 0, 1), wish(m, 2, 0, 1)}, small = wish(m, 0, 0, 7);
    struct mig_wish half[] = {wish(m, 2, 0, 1), wish(m, 0, 0, 3)}, parts[] = {wish(m, 2, 1, 2), wish(m, 3, 2, 2)};
    struct mig_wish media[] = {wish(m, 7, 0, 1), wish(m, 9, 0, 3)}, guide[] = {wish(m, 2, 0, 2), wish(m, 0, 0, 1)};
    struct mig_wish documented[] = {wish(m, 0, 0, 1), wish(m, 1, 0, 1), wish(m, 3, 0, 1)};
    memset(&x->s, 0, sizeof x->s);
    plan(x, "from mode off", true, documented, 3);
    plan(x, "after it", true, balanced, 3);
    plan(x, "after it", true, &small, 1);
    use(x, 5);
    plan(x, "after it", true, half, 2);
    use(x, 2);
    plan(x, "after it", true, half, 2);
    plan(x, "after it", true, parts, 2);
    plan(x, "after it", true, media, 2);
    plan(x, "after it", true, guide, 2);
    plan(x, "after it", false, NULL, 0);
}

static void scenes_four(struct scene *x)
{
    const struct gpu_model *m = x->m;
    struct mig_wish balanced[] = {wish(m, 0, 0, 2), wish(m, 1, 0, 1)}, small = wish(m, 0, 0, 4), parts = wish(m, 3, 1, 3);
    struct mig_wish media[] = {wish(m, 7, 0, 1), wish(m, 0, 0, 2)}, much[] = {wish(m, 1, 0, 2), wish(m, 0, 0, 1)};
    memset(&x->s, 0, sizeof x->s);
    plan(x, "from mode off", true, balanced, 2);
    plan(x, "after it", true, &small, 1);
    use(x, (uint8_t)(m->mig_units / 4));
    plan(x, "after it", true, balanced, 2);
    plan(x, "after it", true, media, 2);
    plan(x, "after it", true, &parts, 1);
    plan(x, "after it", true, much, 2);
    plan(x, "after it", false, NULL, 0);
}

static int compare(const struct scene *x, const char *path)
{
    struct buf file = {0};
    FILE *f = fopen(path, "re");
    if (!f)
        fail_msg("%s cannot be read", path);
    for (size_t n; (n = fread(buf_reserve(&file, 4096), 1, 4096, f)) > 0;)
        file.n += n;
    fclose(f);
    size_t i = 0, line = 1, begin = 0;
    for (; i < file.n && i < x->out.n && file.data[i] == x->out.data[i]; i++)
        if (file.data[i] == '\n') {
            line++;
            begin = i + 1;
        }
    if (i < file.n || i < x->out.n)
        fail_msg("%s:%zu: the plan has '%.*s' here", path, line, (int)strcspn(x->out.data + begin, "\n"), x->out.data + begin);
    buf_free(&file);
    return 0;
}

static void model_scenes(struct scene *x, const struct gpu_model *m)
{
    *x = (struct scene){.m = m};
    buf_printf(&x->out, "%s\n", m->name);
    scenes_alone(x);
    if (m->mig_slices == 7)
        scenes_seven(x);
    else
        scenes_four(x);
}

/* fn: with the scenes of a model and the path of its file; not 0 ends it. */
static int each_model(int (*fn)(const struct scene *x, const char *path))
{
    int code = 0;
    for (uint32_t i = 0; i < gpu_models_n && code == 0; i++) {
        struct scene x;
        char path[512];
        if (!gpu_models[i].mig_slices)
            continue;
        model_scenes(&x, &gpu_models[i]);
        snprintf(path, sizeof path, "%s/%s.txt", folder, gpu_models[i].key);
        code = fn(&x, path);
        buf_free(&x.out);
    }
    return code;
}

static void test_plans(void **state)
{
    assert_int_equal(each_model(compare), 0);
}

static int write_one(const struct scene *x, const char *path)
{
    FILE *f = fopen(path, "we");
    return !f || fwrite(x->out.data, 1, x->out.n, f) != x->out.n || fclose(f) != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    if (argc < 2)
        return 2;
    folder = argv[1];
    if (argc > 2 && text_equal(argv[2], "--write"))
        return each_model(write_one);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
