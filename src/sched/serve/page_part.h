/* page_part.h - inside the page of a scheduler: what its files write with */
#ifndef SCHED_SERVE_PAGE_PART_H
#define SCHED_SERVE_PAGE_PART_H
#include "sched/scheduler.h"

struct page_writing {
    const struct scheduler *s;
    struct arena *a;
    struct prometheus_page *page;
    const char *role;
};
/* page_sample.c */
/* One sample of the family that is open; labels end with NULL. */
void page_sample(const struct page_writing *w, double value, ...);
/* In cores, bytes or pieces. */
double page_amount(const char *resource, int64_t amount);

/* page_cohorts.c: Cohorts, and shares of ClusterQueues (name, cohort). */
void page_cohorts(const struct page_writing *w);
struct page_queue {
    const char *name, *cohort;
};
void page_shares(const struct page_writing *w, const struct page_queue *queues, uint32_t n);
/* page_workloads.c: what is counted Workload by Workload: for LocalQueues, and what waits and is over of ClusterQueues. */
void page_workloads(const struct page_writing *w, const struct page_queue *queues, uint32_t n);
/* page_volcano.c: queues of Volcano. */
void page_volcano(const struct page_writing *w);

#endif
