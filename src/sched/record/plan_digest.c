#include "sched/record/plan_digest.h"
#include "base/collections/map.h"
#include "core/explain/reason.h"
#include "sched/record/change_io.h"

static void add_name(struct buf *out, const struct intern *names, name_id id)
{
    buf_text(out, intern_name(names, id));
    buf_char(out, '\0');
}

static void add_reason(struct buf *out, const struct intern *names, const struct reason *r)
{
    for (; r; r = r->next) {
        const name_id ids[] = {r->name, r->queue, r->flavor, r->resource, r->pod_set};
        varint_put(out, (uint64_t)r->queue_kind << 16 | (uint64_t)r->code);
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            add_name(out, names, ids[k]);
        varint_put(out, (uint64_t)r->have);
        varint_put(out, (uint64_t)r->need);
        varint_put(out, (uint64_t)r->taken);
        varint_put(out, r->nodes_n);
        add_reason(out, names, r->child);
        buf_char(out, '\1');
        add_reason(out, names, r->remedies);
        buf_char(out, '\2');
    }
}

uint64_t plan_digest(const struct plan *plan, const struct intern *names, struct buf *out)
{
    buf_clear(out);
    varint_put(out, (uint64_t)plan->wake_ms);
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *e = &plan->entries[i];
        const name_id ids[] = {e->gang, e->pod, e->pod_uid, e->node, e->queue};
        varint_put(out, (uint64_t)e->effect << 8 | (uint64_t)e->source);
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            add_name(out, names, ids[k]);
        buf_text(out, e->devices ? e->devices : "");
        varint_put(out, e->choices_n);
        for (uint32_t k = 0; k < e->choices_n; k++) {
            varint_put(out, e->choices[k].pod_set);
            add_name(out, names, e->choices[k].resource);
            add_name(out, names, e->choices[k].flavor);
        }
        varint_put(out, e->counts_n);
        for (uint32_t k = 0; k < e->counts_n; k++)
            varint_put(out, (uint64_t)e->counts[k]);
        add_reason(out, names, e->reason);
    }
    return hash_bytes(out->data, out->n, 1);
}
