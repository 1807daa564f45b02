/* page_parts.h - inside the exporter: the layers of a page, each a file */
#ifndef EXPORTER_PAGE_PARTS_H
#define EXPORTER_PAGE_PARTS_H
#include "exporter/page.h"

struct page {
    const struct page_config *config;
    struct page_cache *cache;
    const struct sample *sample;
    const struct account *account;
    const struct collect_state *state;
    struct prometheus_page out;
    struct arena *arena; /* of this rendering */
};
void page_dcgm(struct page *p);
void page_sessions(struct page *p);
void page_truth(struct page *p);
void page_agent(struct page *p);

/* The memory label of a process, sticky by page_config.session_memory_label: "1024MiB". */
const char *page_memory_label(struct page *p, const struct sample_process *process);
/* "00000000:07:00.0" from "0000:07:00.0". */
const char *page_bus_id(struct arena *a, const char *sysfs_bus_id);

#endif
