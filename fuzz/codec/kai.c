/* kai.c - any {"queues": {NAME: SPEC}, "pod": POD, "owner": OBJECT} of KAI's: what queues deserve stays within their limits, and the group
 * of a pod within its bounds */
#include "base/limits.h"
#include "codec/groups/kai_grouping.h"
#include "codec/queues/kai_queues.h"
#include "../fuzz.h"

static int64_t amount_of(const struct amount *all, uint32_t n, name_id resource, int64_t otherwise)
{
    for (uint32_t i = 0; i < n; i++)
        if (all[i].resource == resource)
            return all[i].value;
    return otherwise;
}

static void queues(struct arena *a, const struct json *specs)
{
    struct decoder d = {.names = intern_new(), .arena = a};
    struct kai_queue *all = arena_zero(a, (json_is(specs, JSON_OBJECT) ? specs->n : 0) + 1, sizeof *all);
    uint32_t n = 0;
    JSON_EACH (spec, json_is(specs, JSON_OBJECT) ? specs : NULL)
        all[n++] = (struct kai_queue){.name = spec->key, .spec = spec};
    kai_queues_read(&d, all, n, &(struct kai_totals){.gpus = 48, .cpu_milli = 96000, .memory_bytes = (int64_t)1 << 40});
    for (uint32_t i = 0; i < n; i++) {
        const struct queue_shares *x = all[i].record.shares;
        MUST_HOLD(x->deserved_n == KAI_PARTS_N && x->capability_n <= 2 * KAI_PARTS_N); /* and what is non-preemptible of each */
        for (uint32_t k = 0; k < x->counts_n; k++)
            MUST_HOLD(x->counts[k].times >= 1 && x->counts[k].per >= 1);
        for (uint32_t k = 0; k < x->deserved_n; k++) {
            int64_t most = amount_of(x->capability, x->capability_n, x->deserved[k].resource, NO_END);
            MUST_HOLD(x->deserved[k].value >= 0 && x->deserved[k].value <= most && most >= 0);
        }
        MUST_HOLD(all[i].record.closed || !all[i].below_n);
    }
    intern_free(d.names);
}

static void group(struct arena *a, const struct json *pod, const struct json *owner)
{
    struct kai_grouping g;
    enum kai_owner_id kind = KAI_OWNERS_N;
    const char *name = "";
    bool owned = kai_owner_of(pod, &kind, &name);
    MUST_HOLD(!owned || (kind < KAI_OWNERS_N && *name));
    kai_grouping_make(a, pod, kind, owned && owner ? owner : NULL, &g);
    bool is_part = !*g.part;
    for (uint32_t i = 0; i < g.parts_n; i++) {
        MUST_HOLD(*g.parts[i].name && g.parts[i].min_member >= 1 && g.parts[i].min_member <= LIMIT_GANG_MEMBERS);
        is_part |= strcmp(g.parts[i].name, g.part) == 0;
    }
    MUST_HOLD(is_part && g.min_member >= 1 && g.min_member <= LIMIT_GANG_MEMBERS && g.parts_n <= KAI_GROUPING_PARTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 16384)
        return 0;
    struct arena *a = arena_new();
    const struct json *input = json_parse(a, (struct bytes){(const char *)data, n}, NULL, NULL);
    queues(a, json_get(input, "queues"));
    group(a, json_get(input, "pod"), json_get(input, "owner"));
    arena_free(a);
    return 0;
}
