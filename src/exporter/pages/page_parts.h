/* page_parts.h - inside the exporter: the layers of a page, each a file */
#ifndef EXPORTER_PAGE_PARTS_H
#define EXPORTER_PAGE_PARTS_H
#include "exporter/pages/page.h"

struct page_jobs { const char **ids; uint32_t n; };
struct page {
    const struct page_config *config;
    struct page_cache *cache;
    const struct sample *sample;
    const struct account *account;
    const struct collect_state *state;
    struct prometheus_page out;
    struct arena *arena; /* of this rendering */
    struct page_jobs *board_jobs, *unit_jobs; /* as the sample's boards and units; NULL: no jobs are wanted */
};
void page_dcgm(struct page *p);
void page_sessions(struct page *p);
void page_truth(struct page *p);
void page_agent(struct page *p);
void page_jobs_read(struct page *p); /* when a directory is configured */
struct page_jobs page_jobs_of(const struct page *p, const struct sample_unit *u);

/* "00000000:07:00.0" from "0000:07:00.0". */
const char *page_bus_id(struct arena *a, const char *sysfs_bus_id);

#endif
