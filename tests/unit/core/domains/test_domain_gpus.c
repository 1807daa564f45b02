/* test_domain_gpus.c - pod sets that stand in domains and ask for parts of GPUs, or for whole ones, of nodes that give them in parts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/model.h"
#include "domain_words.h"

#define WHOLE "nvidia.com/gpu"

/* As domain_gang has it. requests: of each set beside its CPUs, which is not counted by quota. */
struct gpu_case {
    const char *what, *nodes, *ask, *requests[4], *expected;
};

static const struct gpu_case cases[] = {
    {"parts of one GPU", "x1:9:1 x2:9:2", "2 required=H", {GPU_SHARE_MILLI "=500"}, "x1=2"},
    {"no part is of two GPUs", "x1:9:2 x2:9:3", "3 required=H", {GPU_SHARE_MILLI "=600"}, "x2=3"},
    {"who was placed before takes the first", "x1:9:2", "a 1 required=H; b 1 required=H",
     {GPU_SHARE_MILLI "=400", WHOLE "=1"}, "x1=1; x1=1"},
    /* a leader and workers */
    {"the leader's part is of a GPU that others share", "x1:9:2", "a 1 required=H; l 1 required=H group=g; w 1 required=H group=g",
     {GPU_SHARE_MILLI "=500", GPU_SHARE_MILLI "=300", WHOLE "=1"}, "x1=1; x1=1; x1=1"},
    {"the leader's GPU is whole, and the CPUs hold no more workers than the others", "x1:3:3",
     "l 1 required=H group=g; w 2 required=H group=g", {WHOLE "=1", GPU_SHARE_MILLI "=900"}, "x1=1; x1=2"},
    {"the leader's GPU is whole, and held one of the workers", "x1:9:3", "l 1 required=H group=g; w 2 required=H group=g",
     {WHOLE "=1", GPU_SHARE_MILLI "=900"}, "x1=1; x1=2"},
    {"the leader's part takes none from a worker's", "x1:9:1 x2:9:2", "l 1 required=H group=g; w 2 required=H group=g",
     {GPU_SHARE_MILLI "=200", GPU_SHARE_MILLI "=400"}, "x1=1; x1=2"},
    {"the leader's part is of a GPU of its own", "x1:9:1 x2:9:2", "l 1 required=H group=g; w 2 required=H group=g",
     {GPU_SHARE_MILLI "=201", GPU_SHARE_MILLI "=400"}, "x2=1; x2=2"},
    {"the leader has the only GPU", "x1:9:1 x2:9:2", "l 1 required=H group=g; w 1 required=H group=g",
     {GPU_SHARE_MILLI "=1", WHOLE "=1"}, "x2=1; x2=1"},
};

/* "x1:9:2": of 9 CPUs and 2 GPUs, each as a device that is given whole, and as one that is given in parts. */
static void node_with_gpus(struct world *w, char *text)
{
    char *cpus = strchr(text, ':'), *gpus = strchr(cpus + 1, ':');
    *cpus++ = *gpus++ = 0;
    int n = whole(gpus);
    struct device *all = arena_zero(w->records, 2 * (size_t)n, sizeof *all);
    const char *amounts = arena_printf(w->records, "cpu=%d000,pods=110," WHOLE "=%d," GPU_SHARE_MILLI "=%d", whole(cpus), n, 1000 * n);
    struct node_record r = a_node(w, text, amounts, arena_printf(w->records, "tas=yes,kubernetes.io/hostname=%s", text));
    for (int i = 0; i < n; i++) {
        all[2 * i] = (struct device){.resource = id(w, WHOLE), .id = id(w, arena_printf(w->records, "%d", i)), .gpu = (uint16_t)i,
                                     .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(w, GPU_SHARE_MILLI);
        all[2 * i + 1].parts = 1000;
    }
    r.devices = all;
    r.devices_n = 2 * (uint32_t)n;
    node_record(w, r);
}

static const char *domains_of_case(struct world *w, const struct gpu_case *c)
{
    char *copy = arena_text(w->records, c->nodes), *save = NULL;
    domain_cluster(w, "H", "");
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
        node_with_gpus(w, one);
    struct gang_record r = domain_gang(w, "a", c->ask);
    struct pod_set *sets = (struct pod_set *)r.pod_sets;
    for (uint32_t i = 0; i < r.pod_sets_n; i++) {
        sets[i].charged = sets[i].shape.requests;
        sets[i].charged_n = sets[i].shape.requests_n;
        sets[i].is_charged = true;
        sets[i].shape = shape_of(w, arena_printf(w->records, "cpu=1000,%s", c->requests[i]), "");
    }
    gang_record(w, r);
    step(w);
    const char *domains = domains_of(w, "a");
    return *domains ? domains : why(w, "a");
}

static void every_case(void **state)
{
    int wrong_n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = *state;
        const char *got = domains_of_case(w, &cases[i]);
        if (strcmp(got, cases[i].expected) != 0)
            print_error("%s (%s), case %d\n  expected %s\n  got      %s\n", cases[i].what, cases[i].ask, ++wrong_n, cases[i].expected, got);
        world_free(w);
        *w = world_new();
    }
    assert_int_equal(wrong_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_a_world(every_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
