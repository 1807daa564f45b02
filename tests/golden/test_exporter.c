/* test_exporter.c - pages of made-up nodes, compared byte for byte with exporter/<name>.txt
 *
 *     golden_exporter DIRECTORY             compare
 *     golden_exporter --update DIRECTORY    write the files again; read the difference before it is committed
 *
 * Labels and their order were checked by hand against what dcgm-exporter prints. The version of this program is masked.
 */
#include <errno.h>
#include <stdio.h>
#include "made.h"

#define START_S 1700000000.0

struct golden {
    const char *name, *node;
    double after_s;
    struct page_config config; /* without counters: the default ones */
    const char *counters;      /* a counters file; NULL: the default */
    bool openmetrics, sessions_only, stalled;
    bool jobs; /* those of jobs/ */
};
static const struct page_push pushes[] = {
    {"influx", {.sent_n = 7, .retried_n = 3, .dropped_n = 2, .refused_n = 1, .queued_n = 4, .last_error = "not shown"}},
    {"remote_write", {.sent_n = 9}}};
static const struct textfile_counts textfile = {.written_n = 11, .failed_n = 2};
#define ALL .sessions = true, .processes = true, .dcgm = true
static const struct golden goldens[] = {
    {.name = "a100", .node = "a100", .after_s = 11, .config = {ALL}},
    {.name = "a100-later", .node = "a100", .after_s = 12, .config = {ALL, .session_memory_label = PAGE_MEMORY_LIVE}},
    {.name = "a100-openmetrics", .node = "a100", .after_s = 11, .config = {ALL}, .openmetrics = true},
    {.name = "a100-sessions",
     .node = "a100",
     .after_s = 5,
     .config = {ALL, .session_memory_label = PAGE_MEMORY_OFF},
     .sessions_only = true},
    {.name = "a100-repeated",
     .node = "a100",
     .after_s = 5,
     .config = {.dcgm = true,
                .repeat_boards = true,
                .hostname_lower = true,
                .old_namespace = true,
                .replace_blanks = true,
                .pod_uid = true}},
    {.name = "a100-stalled", .node = "a100", .after_s = 60, .config = {ALL}, .stalled = true},
    {.name = "shared", .node = "shared", .after_s = 5, .config = {ALL}},
    {.name = "shared-virtual",
     .node = "shared",
     .after_s = 5,
     .config = {.dcgm = true, .virtual_gpus = true, .gpu_id_device_name = true}},
    {.name = "h100",
     .node = "h100",
     .after_s = 5,
     .config = {ALL, .pod_uid = true, .pushes = pushes, .pushes_n = 2, .textfile = &textfile}},
    {.name = "h100-chosen",
     .node = "h100",
     .after_s = 20,
     .config = {.dcgm = true, .no_hostname = true},
     .counters =
         "# blanks and order are the writer's\nDCGM_EXP_XID_ERRORS_COUNT, gauge, XID errors of the last window.\n"
         "DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, Clock events of the last window.\nDCGM_EXP_GPU_HEALTH_STATUS, gauge, "
         "Health.\n"
         "DCGM_FI_DEV_GPU_TEMP ,gauge, \"Temperature, in C.\"\nDCGM_FI_DEV_SERIAL, label, Serial\nDCGM_FI_DEV_NAME, "
         "label, Name\n"},
    /* names of other releases; what a CSV writer makes of help texts; a number as a label; Windows' line ends */
    {.name = "h100-renamed",
     .node = "h100",
     .after_s = 5,
     .config = {.dcgm = true, .hostname_lower = true},
     .counters = "\xef\xbb\xbf# Format\r\n\r\ndcgm_gpu_temp, gauge, \"Temperature, \"\"in C\"\".\"\r\n"
                 "\"DCGM_FI_DEV_BOARD_POWER_WATTS\",\"gauge\",\"Power\"\r\n"
                 "DCGM_FI_DEV_XID_ERROR, gauge, Last XID\r\nDCGM_FI_SYSTEM_DRIVER_VERSION, label, Driver\r\n"
                 "DCGM_FI_DEV_FB_TOTAL, label, Size\r\nDCGM_EXP_XID_ERRORS_COUNT, counter,\r\n"},
    /* what boards are: of the devices, of measurements; no profiling on these, no fabric */
    {.name = "a100-boards",
     .node = "a100",
     .after_s = 5,
     .config = {.dcgm = true, .no_hostname = true},
     .counters = "DCGM_FI_DEV_COUNT, gauge, n\nDCGM_FI_CUDA_DRIVER_VERSION, gauge, c\nDCGM_FI_DEV_NVML_INDEX, gauge, i\n"
                 "DCGM_FI_DEV_MINOR_NUMBER, gauge, m\nDCGM_FI_DEV_PCI_BUSID, label, b\n"
                 "DCGM_FI_DEV_CUDA_COMPUTE_CAPABILITY, gauge, c\nDCGM_FI_DEV_MIG_MODE, gauge, m\n"
                 "DCGM_FI_DEV_MIG_MAX_SLICES, gauge, s\nDCGM_FI_DEV_BAR1_TOTAL, gauge, b\n"
                 "DCGM_FI_DEV_POWER_MGMT_LIMIT, gauge, p\nDCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS, gauge, p\n"
                 "DCGM_FI_DEV_FABRIC_MANAGER_STATUS, gauge, f\nDCGM_FI_DEV_FABRIC_CLIQUE_ID, gauge, f\n"
                 "DCGM_FI_DEV_FABRIC_CLUSTER_UUID, label, f\nDCGM_FI_DEV_PCIE_LINK_GEN, gauge, g\n"
                 "DCGM_FI_DEV_PCIE_MAX_LINK_GEN, gauge, g\nDCGM_FI_DEV_PCIE_LINK_WIDTH, label, w\n"
                 "DCGM_FI_DEV_ECC_CURRENT, gauge, e\nDCGM_FI_DEV_PERSISTENCE_MODE, gauge, not told\n"
                 "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE, gauge, t\nDCGM_FI_PROF_NVDEC0_ACTIVE, gauge, d\n"},
    {.name = "a100-jobs",
     .node = "a100",
     .after_s = 5,
     .config = {.dcgm = true},
     .jobs = true,
     .counters = "DCGM_FI_DEV_POWER_USAGE, gauge, Power\nDCGM_FI_DEV_FB_USED, gauge, Memory\n"},
    {.name = "hostile", .node = "hostile", .after_s = 5, .config = {ALL}},
    {.name = "hostile-openmetrics", .node = "hostile", .after_s = 5, .config = {ALL}, .openmetrics = true},
};

static void render(const struct golden *g, const char *directory, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct page_config config = g->config;
    if (g->jobs)
        config.jobs_directory = arena_printf(a, "%s/jobs", directory);
    struct page_counter *counters;
    struct err e = {0};
    if (!g->counters)
        page_counters_default(a, &counters, &config.counters_n);
    else if (page_counters_parse(a, bytes_of(g->counters), true, &counters, &config.counters_n, NULL, &e) < 0)
        buf_printf(out, "%s\n", e.text);
    config.counters = counters;
    const struct made *m = made_find(g->node);
    const struct sample *s = made_sample(m, START_S, START_S + g->after_s);
    struct account *books = made_account(m, START_S, START_S + g->after_s);
    uint64_t collections_n = (uint64_t)g->after_s + 1;
    struct collect_state state = made_state(START_S + (g->stalled ? 5 : g->after_s), collections_n, g->stalled);
    state.processes_dropped_n = s->processes_left_out_n * collections_n;
    struct page_cache *cache = page_cache_new();
    if (g->sessions_only)
        page_render_sessions(&config, cache, s, out);
    else
        page_render(&config, cache, s, books, &state, g->openmetrics, out);
    page_cache_free(cache);
    account_close(books);
    sample_unref(s);
}

static void mask_version(const struct buf *in, struct buf *out)
{
    static const char version[] = "{version=\"" CAPSTAN_VERSION "\"}";
    const char *at = memmem(in->data, in->n, version, sizeof version - 1);
    buf_add(out, in->data, at ? (size_t)(at - in->data) : in->n);
    if (!at)
        return;
    buf_text(out, "{version=\"...\"}");
    at += sizeof version - 1;
    buf_add(out, at, (size_t)(in->data + in->n - at));
}

static int write_file(const char *path, struct bytes text)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text.data, 1, text.n, f) == text.n;
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok)
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok ? 0 : -1;
}

static bool compare(const char *path, struct bytes text)
{
    FILE *f = fopen(path, "r");
    size_t line = 1;
    bool same = f;
    for (size_t i = 0; same && i <= text.n; i++) {
        int c = fgetc(f);
        same = c == (i < text.n ? (unsigned char)text.data[i] : EOF);
        line += same && c == '\n';
    }
    if (f)
        (void)fclose(f);
    if (!same)
        (void)fprintf(stderr, "# %s:%zu differs: golden_exporter --update, then `git diff`\n", path, line);
    return same;
}

int main(int argc, char **argv)
{
    bool update = argc == 3 && text_equal(argv[1], "--update"), failed = false;
    const char *directory = argv[argc - 1];
    if (argc != 2 && !update) {
        (void)fprintf(stderr, "usage: golden_exporter [--update] DIRECTORY\n");
        return 2;
    }
    size_t n = sizeof goldens / sizeof *goldens;
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        _cleanup_buf_ struct buf page = {0}, masked = {0};
        char path[512];
        snprintf(path, sizeof path, "%s/%s.txt", directory, goldens[i].name);
        render(&goldens[i], directory, &page);
        mask_version(&page, &masked);
        bool ok = update ? write_file(path, buf_view(&masked)) == 0 : compare(path, buf_view(&masked));
        printf("%s %zu page %s\n", ok ? "ok" : "not ok", i + 1, goldens[i].name);
        failed |= !ok;
    }
    return failed;
}
