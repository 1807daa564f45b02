/* configuration_charge.c - what a configuration says of the resources that quota counts */
#include "codec/configuration/configuration_part.h"

static const struct charge_output *outputs_of(struct arena *a, const struct json *map, uint32_t *ret_n)
{
    struct charge_output *all = arena_zero(a, (json_is(map, JSON_OBJECT) ? map->n : 0) + 1u, sizeof *all);
    uint32_t n = 0;
    JSON_EACH (one, map) {
        all[n].resource = one->key;
        if (quantity_parse(json_bytes(one), &all[n].factor, NULL) == 0) /* else it was told */
            n++;
    }
    *ret_n = n;
    return all;
}

void configuration_read_charge(struct configuration_reader *r, const struct json *root, struct charge_policy *p)
{
    const struct json *v = json_get(root, "resources"), *list = json_get(v, "transformations");
    struct charge_rule *rules = arena_zero(r->a, (json_is(list, JSON_ARRAY) ? list->n : 0) + 1u, sizeof *rules);
    *p = (struct charge_policy){.rules = rules};
    p->ignores_undeclared = text_equal(json_get_text(v, "quotaCheckStrategy", ""), "IgnoreUndeclared") &&
                            json_get_bool(json_get(root, "featureGates"), "QuotaCheckStrategy", true);
    p->counts_reclaimable = !json_get_bool(json_get(root, "featureGates"), "ReclaimablePods", true);
    p->excluded = configuration_texts(r->a, json_get(v, "excludeResourcePrefixes"), &p->excluded_n);
    JSON_EACH (one, list) {
        struct charge_rule *rule = &rules[p->rules_n++];
        const char *by = json_get_text(one, "multiplyBy", "");
        rule->input = json_get_text(one, "input", "");
        rule->times = *by ? by : NULL;
        rule->replaces = text_equal(json_get_text(one, "strategy", ""), "Replace");
        rule->outputs = outputs_of(r->a, json_get(one, "outputs"), &rule->outputs_n);
    }
}
