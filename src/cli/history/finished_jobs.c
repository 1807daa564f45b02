/* finished_jobs.c - see finished_jobs.h */
#include "cli/history/finished_jobs.h"
#include <stdlib.h>
#include "base/collections/map.h"

#define HOUR_S 3600.0

struct entry {
    struct finished_job job;
    bool runs;
};

static const char *known(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

static void add(struct arena *a, struct map *jobs, const struct usage_record *r)
{
    bool is_pod = !*known(r->job, ""), is_new;
    const char *name = is_pod ? r->pod : r->job;
    struct entry *x = map_put(jobs, bytes_of(arena_printf(a, "%s/%s/%s", is_pod ? "pod" : "job", r->ns, name)), &is_new);
    if (is_new)
        *x = (struct entry){.job = {.ns = r->ns,
                                    .name = name,
                                    .queue = "",
                                    .user = "",
                                    .is_pod = is_pod,
                                    .start_s = r->start_s,
                                    .wait_s = -1,
                                    .nodes = json_new(a, JSON_OBJECT)}};
    struct finished_job *j = &x->job;
    x->runs |= r->end_s <= 0;
    j->pods_n++;
    j->queue = known(r->queue, j->queue);
    j->user = known(r->user, j->user);
    j->start_s = r->start_s < j->start_s ? r->start_s : j->start_s;
    j->end_s = r->end_s > j->end_s ? r->end_s : j->end_s;
    j->wait_s = r->queue_wait_s > j->wait_s ? r->queue_wait_s : j->wait_s;
    j->allocated_h += r->allocated_s / HOUR_S;
    j->active_h += r->active_s / HOUR_S;
    if (*known(r->node, ""))
        json_set_bool(a, j->nodes, r->node, true);
}

/* ORDER the last end first, then by namespace and name. */
static int compare(const void *left, const void *right)
{
    const struct finished_job *a = left, *b = right;
    if (a->end_s != b->end_s)
        return a->end_s > b->end_s ? -1 : 1;
    int order = strcmp(a->ns, b->ns);
    return order ? order : strcmp(a->name, b->name);
}

uint32_t finished_jobs(struct arena *a, const struct usage_record *records, uint32_t n, double since_s, double until_s,
                       struct finished_job **ret_jobs)
{
    struct map *jobs = map_new(sizeof(struct entry));
    for (uint32_t i = 0; i < n; i++)
        add(a, jobs, &records[i]);
    struct finished_job *all = arena_alloc(a, (map_count(jobs) + 1) * sizeof *all);
    uint32_t all_n = 0;
    size_t at = 0;
    struct bytes key;
    for (struct entry *x; (x = map_next(jobs, &at, &key));)
        if (!x->runs && x->job.end_s >= since_s && x->job.end_s < until_s)
            all[all_n++] = x->job;
    map_free(jobs);
    qsort(all, all_n, sizeof *all, compare);
    *ret_jobs = all;
    return all_n;
}
