/* mig_plan.c - how long the plan takes for a node with 8 GPUs and 56 MIG instances: from one layout of each GPU to another */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/random.h"
#include "gpu/mig_plan.h"

#define GPUS 8
#define ROUNDS 20000

static void fail(const char *what)
{
    fprintf(stderr, "bench mig_plan: %s\n", what);
    exit(1);
}

/* All seven in use but those in `free`: the plan has to look for the ones that may go. */
static void fill(struct mig_state *s, const struct gpu_model *m, unsigned free)
{
    uint8_t gi, ci;
    *s = (struct mig_state){.mode = 1, .mode_pending = 1};
    for (unsigned i = 0; i < 7; i++) {
        if (mig_create_instance(s, m, m->profiles[0].id, (int)i, &gi) != MIG_OK ||
            mig_create_compute(s, m, gi, 1, -1, i, &ci) != MIG_OK)
            fail("no room for seven instances");
        mig_find_compute(s, gi, ci)->busy_n = !(free & 1u << i);
    }
}

static int64_t plan_all(const struct gpu_model *m, const struct mig_state states[GPUS], const struct mig_wish *wishes, uint32_t n)
{
    struct mig_plan plan;
    int64_t start_us = clock_monotonic_us();
    for (int round = 0; round < ROUNDS; round++)
        for (int g = 0; g < GPUS; g++)
            if (mig_plan_make(m, &states[g], true, wishes, n, &plan, NULL) < 0)
                fail("no plan");
    return clock_monotonic_us() - start_us;
}

int main(void)
{
    const struct gpu_model *m = gpu_model_find("h100-80gb");
    struct mig_state states[GPUS];
    struct mig_wish balanced[3] = {{.n = 1}, {.n = 1}, {.n = 2}};
    struct mig_wish sevens = {.n = 7};
    if (!m || mig_wish_parse(m, "3g.40gb", &balanced[0], NULL) < 0 || mig_wish_parse(m, "2g.20gb", &balanced[1], NULL) < 0 ||
        mig_wish_parse(m, "1g.10gb", &balanced[2], NULL) < 0 || mig_wish_parse(m, "1g.10gb", &sevens, NULL) < 0)
        fail("a profile is missing");
    balanced[0].n = balanced[1].n = 1;
    balanced[2].n = 2;
    sevens.n = 7;
    for (unsigned g = 0; g < GPUS; g++)
        fill(&states[g], m, 0x15u << g % 3); /* no free half: something in use has to go, and the least of it is looked for */
    printf("{\"name\":\"mig.plan.56\",\"value\":%.2f,\"unit\":\"us\"}\n", (double)plan_all(m, states, balanced, 3) / ROUNDS);
    for (unsigned g = 0; g < GPUS; g++)
        states[g] = (struct mig_state){.mode = 1, .mode_pending = 1};
    printf("{\"name\":\"mig.plan.56.empty\",\"value\":%.2f,\"unit\":\"us\"}\n", (double)plan_all(m, states, &sevens, 1) / ROUNDS);
    return 0;
}
