/* page_jobs.c - jobs of a batch system on each device: <directory>/<gpu> or <directory>/<gpu>.<gi>, a job's id a line
 *
 * A prolog of Slurm appends to the files, an epilog removes: they are read for each rendering, once a device. What is not there has no
 * jobs.
 * LIMIT  64 jobs of a device, 64 KiB a file; the directory is the node's own, not one that may stand still.
 * SOURCE dcgm-exporter, HPC job mapping
 */
#include "base/file.h"
#include "exporter/pages/page_parts.h"

enum { JOBS_MAX = 64, FILE_BYTES_MAX = 64 * 1024, ID_BYTES_MAX = 253 };

static struct page_jobs jobs_read(struct page *p, const struct sample_unit *u, bool is_instance)
{
    struct page_jobs jobs = {.n = 0};
    _cleanup_buf_ struct buf text = {0}, id = {0};
    const char *path = is_instance && u->mig
                           ? arena_printf(p->arena, "%s/%u.%u", p->config->jobs_directory, u->gpu->index, u->mig->gi)
                           : arena_printf(p->arena, "%s/%u", p->config->jobs_directory, u->gpu->index);
    if (file_read(path, FILE_BYTES_MAX, &text, NULL) < 0)
        return jobs;
    jobs.ids = arena_alloc(p->arena, JOBS_MAX * sizeof *jobs.ids);
    for (char *at = text.data; at && *at && jobs.n < JOBS_MAX;) {
        size_t n = strcspn(at, "\r\n");
        buf_clear(&id);
        prometheus_clean(&id, (struct bytes){at, n}, ID_BYTES_MAX);
        bool is_new = id.n > 0; /* a job that is begun again may be in the file twice */
        for (uint32_t i = 0; is_new && i < jobs.n; i++)
            is_new = !text_equal(jobs.ids[i], id.data);
        if (is_new)
            jobs.ids[jobs.n++] = arena_text_n(p->arena, id.data, id.n);
        at += n + strspn(at + n, "\r\n");
    }
    return jobs;
}

void page_jobs_read(struct page *p)
{
    const struct sample *s = p->sample;
    if (!p->config->jobs_directory)
        return;
    p->board_jobs = arena_zero(p->arena, s->boards_n + 1, sizeof *p->board_jobs);
    p->unit_jobs = arena_zero(p->arena, s->units_n + 1, sizeof *p->unit_jobs);
    for (uint32_t i = 0; i < s->boards_n; i++)
        p->board_jobs[i] = jobs_read(p, &s->boards[i], false);
    for (uint32_t i = 0; i < s->units_n; i++)
        p->unit_jobs[i] = jobs_read(p, &s->units[i], true);
}

struct page_jobs page_jobs_of(const struct page *p, const struct sample_unit *u)
{
    const struct sample *s = p->sample;
    if (!p->board_jobs)
        return (struct page_jobs){.n = 0};
    bool is_unit = u >= s->units && u < s->units + s->units_n;
    return is_unit ? p->unit_jobs[u - s->units] : p->board_jobs[u - s->boards];
}
