/* page_volcano.c - Volcano's queues as Prometheus reads them: what each deserves, by name or by weight, and what is allocated to it
 *
 * UNIT   thousandths of cores, bytes, and of everything else thousandths.
 * SOURCE names and units: Volcano's scheduler. WHY no queues with queues below them: what they deserve is what those do.
 */
#include "codec/decode/decode.h"
#include "sched/serve/page_part.h"

struct volcano_queue {
    const char *name;
    struct queue_usage *rows;
    uint32_t rows_n;
};

static bool has_below(const struct page_writing *w, const char *name)
{
    struct bytes key, raw;
    size_t at = 0;
    return kube_cache_next_of(w->s->sources[SOURCE_VOLCANO_QUEUES].cache, name, &at, &key, &raw);
}

static uint32_t read_all(const struct page_writing *w, struct volcano_queue **ret_all)
{
    const struct kube_cache *cache = w->s->sources[SOURCE_VOLCANO_QUEUES].cache;
    struct bytes key, raw;
    uint32_t n = 0;
    struct volcano_queue *all = arena_zero(w->a, kube_cache_count(cache) + 1, sizeof *all);
    for (size_t at = 0; kube_cache_next(cache, &at, &key, &raw);) {
        const char *name = object_meta(json_parse(w->a, raw, NULL, NULL), "name");
        name_id id = intern_find(w->s->names, bytes_of(arena_printf(w->a, DECODE_VOLCANO_QUEUE_PREFIX "%s", name)));
        if (!id || has_below(w, name))
            continue;
        all[n].name = name;
        all[n].rows_n = state_queue_usage(w->s->state, id, w->a, &all[n].rows);
        n++;
    }
    *ret_all = all;
    return n;
}

enum unit { CPU, MEMORY, SCALAR, UNITS_N };

static enum unit unit_of(const char *resource)
{
    return strcmp(resource, "cpu") == 0 ? CPU : strcmp(resource, "memory") == 0 ? MEMORY : SCALAR;
}

static void amounts_write(const struct page_writing *w, const struct volcano_queue *q, enum unit unit, bool deserved)
{
    for (uint32_t i = 0; i < q->rows_n; i++) {
        const char *resource = intern_name(w->s->names, q->rows[i].resource);
        int64_t amount = deserved ? q->rows[i].nominal : q->rows[i].reserved;
        if (unit_of(resource) != unit || amount >= NO_END) /* nothing bounds it: no figure */
            continue;
        if (unit == SCALAR)
            page_sample(w, 1000.0 * (double)amount, "queue_name", q->name, "resource", resource, NULL);
        else
            page_sample(w, (double)amount, "queue_name", q->name, NULL);
    }
}

void page_volcano(const struct page_writing *w)
{
    static const struct {
        const char *name, *help;
        bool deserved;
    } families[] = {
        {"volcano_queue_deserved_milli_cpu", "What the queue deserves, in thousandths of cores", true},
        {"volcano_queue_deserved_memory_bytes", "What the queue deserves", true},
        {"volcano_queue_deserved_scalar_resources", "What the queue deserves of other resources, in thousandths", true},
        {"volcano_queue_allocated_milli_cpu", "What pods of the queue have, in thousandths of cores", false},
        {"volcano_queue_allocated_memory_bytes", "What pods of the queue have", false},
        {"volcano_queue_allocated_scalar_resources", "What pods of the queue have of other resources, in thousandths", false},
    };
    struct volcano_queue *all;
    uint32_t n = read_all(w, &all);
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        prometheus_family(w->page, families[f].name, PROMETHEUS_GAUGE, families[f].help);
        for (uint32_t i = 0; i < n; i++)
            amounts_write(w, &all[i], (enum unit)(f % UNITS_N), families[f].deserved);
    }
}
