/* agent_config.c - any file: refused with a message, or a config under which a node with GPUs and MIG devices has a sound table */
#include "../fuzz.h"
#include "../../tests/unit/agent/reading.h"
#include "agent/node/labels.h"
#include "agent/plugin/allocate.h"
#include "base/limits.h"
#include "wire/json.h"

static void check_entries(const struct sharing *s, uint32_t least)
{
    MUST_HOLD(s->present == (s->resources_n > 0));
    for (uint32_t i = 0; i < s->resources_n; i++) {
        const struct sharing_resource *r = &s->resources[i];
        MUST_HOLD(text_starts(r->name, "nvidia.com/") && strlen(r->name) <= 63);
        MUST_HOLD(r->replicas >= least && r->replicas <= LIMIT_DEVICES_PER_NODE);
        MUST_HOLD(r->devices_all + (r->devices_count > 0) + (r->devices_n > 0) == 1);
    }
}

/* No slot twice, each found by its id, all told to the scheduler within its limit. */
static void check_table(struct test_node *n)
{
    struct buf text = {0};
    uint32_t slots_n = 0;
    for (uint32_t i = 0; i < n->table.resources_n; i++) {
        const struct resource *r = &n->table.resources[i];
        MUST_HOLD(i == 0 || strcmp(n->table.resources[i - 1].name, r->name) < 0);
        for (uint32_t k = 0; k < r->slots_n; k++)
            MUST_HOLD(resource_find_slot(r, r->slots[k].id) == &r->slots[k]);
        slots_n += r->slots_n;
    }
    resource_table_devices_text(&n->table, &n->snapshot, &text);
    const struct json *list = json_parse(n->arena, buf_view(&text), NULL, NULL);
    MUST_HOLD(list && list->n <= LIMIT_DEVICES_PER_NODE && list->n <= slots_n);
    MUST_HOLD(slots_n > LIMIT_DEVICES_PER_NODE || list->n == slots_n);
    buf_free(&text);
}

static void check_answers(struct test_node *n)
{
    struct machine machine = {.dev_root = "/"};
    struct label_facts facts = {0};
    struct label_pair *labels;
    uint32_t labels_n;
    labels_make(n->arena, &n->snapshot, &n->config, &n->table, &facts, &labels, &labels_n, NULL);
    for (uint32_t i = 0; i < n->table.resources_n; i++) {
        const struct resource *r = &n->table.resources[i];
        const char **preferred, *one = r->slots[0].id;
        uint32_t preferred_n;
        struct allocate_answer answer;
        struct err e = {0};
        int failed = allocate_answer_make(n->arena, &n->snapshot, &n->config, &machine, r, &one, 1, NULL, &answer, &e);
        MUST_HOLD(failed == 0 || (failed == -e.code && e.text[0]));
        failed = preferred_choose(n->arena, &n->snapshot, &n->config, r, &one, 1, NULL, 0, 1, &preferred, &preferred_n, &e);
        MUST_HOLD(failed == 0 && preferred_n == 1 && text_equal(preferred[0], one));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384)
        return 0;
    struct test_node *n = node_new("a100-40gb", 3);
    struct buf warnings = {0};
    struct err e = {0};
    int r = agent_config_parse(n->arena, (struct bytes){(const char *)data, size}, NULL, 0, &n->config, &warnings, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    if (r == 0) {
        check_entries(&n->config.time_slicing, 2);
        check_entries(&n->config.mps, 1);
        node_mig(n, 1, "3g.20gb", 0, 1);
        node_mig(n, 1, "1g.5gb", 0, 2);
        r = node_table(n, &warnings, &e);
        MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
        if (r < 0)
            n->table = (struct resource_table){0};
        check_table(n);
        check_answers(n);
    }
    buf_free(&warnings);
    node_free(n);
    return 0;
}
