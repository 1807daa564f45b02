/* page_cohorts.c - Cohorts as Prometheus reads them, and shares; SOURCE Kueue, for what is left out */
#include <math.h>
#include "sched/serve/page_part.h"

static const char *name_in(const struct page_writing *w, name_id id)
{
    return id ? intern_name(w->s->names, id) : "";
}

static void amounts_write(const struct page_writing *w, const struct cohort_look *all, uint32_t n, bool reserved)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < all[i].rows_n; r++) {
            const char *resource = name_in(w, all[i].rows[r].resource);
            int64_t amount = reserved ? all[i].rows[r].reserved : all[i].rows[r].nominal;
            if (amount > 0) /* none: no series */
                page_sample(w, page_amount(resource, amount), "cohort", name_in(w, all[i].name), "flavor",
                            name_in(w, all[i].rows[r].flavor), "resource", resource, NULL);
        }
}

/* NaN: whose weight is 0, and who borrows. */
static double share_value(const struct share_parts *share)
{
    if (!share->weight_nano)
        return share->borrowed ? (double)NAN : 0;
    return 1000.0 * (double)share->borrowed / (double)share->lendable / ((double)share->weight_nano / 1e9);
}

static void share_write(const struct page_writing *w, const char *name, const char *cohort, bool is_cohort)
{
    struct share_parts share;
    if (!state_share_parts(w->s->state, intern_find(w->s->names, bytes_of(name)), is_cohort, &share))
        return;
    if (is_cohort)
        page_sample(w, share_value(&share), "cohort", name, NULL);
    else
        page_sample(w, share_value(&share), "cluster_queue", name, "cohort", cohort, NULL);
}

void page_shares(const struct page_writing *w, const struct page_queue *queues, uint32_t n)
{
    if (!w->s->config.policy.fair.on)
        return;
    prometheus_family(w->page, "kueue_cluster_queue_weighted_share", PROMETHEUS_GAUGE,
                      "The ClusterQueue's dominant share of what its Cohort could lend, in thousandths, by its weight");
    for (uint32_t i = 0; i < n; i++)
        share_write(w, queues[i].name, queues[i].cohort, false);
}

struct known {
    const struct page_writing *w;
    const struct cohort_look *all;
    uint32_t n;
};

static bool is_known(const void *arg, struct bytes name)
{
    const struct known *known = arg;
    name_id id = intern_find(known->w->s->names, name);
    for (uint32_t i = 0; i < known->n; i++)
        if (id && known->all[i].name == id)
            return true;
    return false;
}

/* SOURCE Kueue: whose object is deleted has no gauges, though queues name it, until something below it is another one. */
static uint32_t drop_left(struct cohort_look *all, uint32_t n)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!all[i].left)
            all[kept_n++] = all[i];
    return kept_n;
}

void page_cohorts(const struct page_writing *w)
{
    struct cohort_look *all;
    uint32_t n = state_cohorts(w->s->state, w->a, &all);
    metrics_keep_cohorts(w->s->metrics, is_known, &(struct known){w, all, n});
    n = drop_left(all, n);
    prometheus_family(w->page, "kueue_cohort_info", PROMETHEUS_GAUGE, "1; where the Cohort stands");
    for (uint32_t i = 0; i < n; i++)
        page_sample(w, 1, "cohort", name_in(w, all[i].name), "parent_cohort", name_in(w, all[i].parent), "root_cohort",
                    name_in(w, all[i].root), NULL);
    prometheus_family(w->page, "kueue_cohort_subtree_quota", PROMETHEUS_GAUGE, "What the Cohort and all below it have of their own");
    amounts_write(w, all, n, false);
    prometheus_family(w->page, "kueue_cohort_subtree_resource_reservations", PROMETHEUS_GAUGE, "What is reserved below the Cohort");
    amounts_write(w, all, n, true);
    prometheus_family(w->page, "kueue_cohort_subtree_admitted_active_workloads", PROMETHEUS_GAUGE,
                      "Workloads below the Cohort that are admitted and have not finished");
    for (uint32_t i = 0; i < n; i++)
        page_sample(w, all[i].admitted_n, "cohort", name_in(w, all[i].name), NULL);
    if (!w->s->config.policy.fair.on)
        return;
    prometheus_family(w->page, "kueue_cohort_weighted_share", PROMETHEUS_GAUGE,
                      "The Cohort's dominant share of what the one above it could lend, in thousandths, by its weight");
    for (uint32_t i = 0; i < n; i++)
        share_write(w, name_in(w, all[i].name), NULL, true);
}
