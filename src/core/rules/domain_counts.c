#include "core/rules/domain_counts.h"
#include "base/memory.h"

int64_t *domain_count_slot(struct domain_counts *d, name_id value)
{
    uint32_t at = id_map_get(&d->by_value, value + 1);
    if (!at) {
        MEM_RESERVE(d->counts, d->cap, d->n + 1);
        d->counts[d->n++] = 0;
        at = d->n;
        id_map_put(&d->by_value, value + 1, at);
    }
    return &d->counts[at - 1];
}

int64_t domain_count(const struct domain_counts *d, name_id value)
{
    uint32_t at = id_map_get(&d->by_value, value + 1);
    return at ? d->counts[at - 1] : 0;
}

void domain_counts_free(struct domain_counts *d)
{
    id_map_fini(&d->by_value);
    free(d->counts);
}

void domain_count_add(const struct state *s, struct domain_counts *d, uint32_t node, int64_t amount)
{
    const struct label *domain = domain_label(s, node, d->key);
    if (domain)
        *domain_count_slot(d, domain->value) += amount;
}

bool domain_term_selects(const struct state *s, const struct pod_affinity *a, name_id own_ns, const struct label_set *pod)
{
    bool in_namespace = a->all_namespaces || (!a->namespaces_n && pod->ns == own_ns);
    for (uint32_t i = 0; i < a->namespaces_n && !in_namespace; i++)
        in_namespace = a->namespaces[i] == pod->ns;
    return in_namespace && selector_matches(&a->pods, pod->labels, 0, s->names);
}
