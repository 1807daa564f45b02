/* sessions.c - capstan sessions: who is on which GPU of this machine, from one collection of the driver */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/driver/driver_nvml.h"
#include "agent/inventory/pod_resources.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "exporter/collect/collect.h"
#include "exporter/pages/page.h"
#include "exporter/pages/textfile.h"

#define TIMEOUT_MS 30000
#define KUBELET_MS 2000 /* podresources is asked for so long; sessions are shown without it too */
#define WATCH_MS 2000
#define MIB 1048576.0

static const struct output_column columns[] = {
    {"gpu", "GPU", false, false},         {"uuid", "UUID", false, true},           {"profile", "PROFILE", false, true},
    {"pid", "PID", true, false},          {"command", "COMMAND", false, false},    {"namespace", "NAMESPACE", false, false},
    {"pod", "POD", false, false},         {"container", "CONTAINER", false, true}, {"memoryMiB", "MEMORY(MiB)", true, false},
    {"memoryPercent", "MEM%", true, false}, {"smPercent", "SM%", true, false},     {"age", "AGE", false, false},
    {"status", "STATUS", false, false},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct sessions {
    const char *nvml_path, *root, *kubelet_socket, *textfile;
    bool watch;
    int64_t period_ms;
    struct collect_config collect_config;
    struct page_config page;
    enum output_format format;
    struct page_cache *cache; /* with a textfile */
    struct textfile *out;
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory;
    struct pod_resources *kubelet;
    struct pods *pods;
    struct account *account;
    struct collect *collect;
    struct loop_timer *timer;
    int code;
    bool kubelet_asked, got_sample;
};

static void end(struct sessions *s, int code)
{
    s->code = code;
    loop_stop(s->loop);
}

static void fail(struct sessions *s, const char *text)
{
    fprintf(stderr, "capstan sessions: %s\n", text);
    end(s, EXIT_FAILED);
}

/* ---- printing ---- */

static double memory_total(const struct sample_unit *u)
{
    double total = 0;
    if (u->values && measure_get(u->values, MEASURE_FB_TOTAL_MIB, &total))
        return total;
    return u->mig ? u->mig->memory_mib : u->gpu->memory_mib;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static void process_row(struct output_table *t, const struct sample *s, const struct sample_process *p)
{
    const struct sample_unit *u = &s->units[p->unit];
    const struct sample_container *c = p->container >= 0 ? &s->containers[p->container] : NULL;
    const struct measure_process *m = p->measured;
    char age[TIME_TEXT_MAX];
    bool memory_known = m->memory_bytes != UINT64_MAX;
    double mib = memory_known ? (double)m->memory_bytes / MIB : 0, total = memory_total(u);
    const char *cells[COLUMNS_N] = {
        u->session_label,
        sample_unit_uuid(u),
        u->mig ? u->mig->profile : NULL,
        arena_printf(t->arena, "%u", m->pid),
        or_null(p->command),
        c ? or_null(c->ns) : NULL,
        c ? or_null(c->pod) : NULL,
        c ? or_null(c->container) : NULL,
        memory_known ? arena_printf(t->arena, "%.0f", floor(mib)) : NULL,
        memory_known && total > 0 ? arena_printf(t->arena, "%.0f", mib / total * 100) : NULL,
        u->mig ? NULL : arena_printf(t->arena, "%u", p->sm_percent),
        p->start_time_s > 0 ? time_age(age, (int64_t)((s->wall_s - p->start_time_s) * 1000)) : NULL,
        "active",
    };
    output_row(t, cells);
}

static void idle_row(struct output_table *t, const struct sample_unit *u)
{
    const char *cells[COLUMNS_N] = {u->session_label,
                                    sample_unit_uuid(u),
                                    u->mig ? u->mig->profile : NULL,
                                    [COLUMNS_N - 1] = "idle"};
    output_row(t, cells);
}

static void print_sample(struct sessions *x, const struct sample *s)
{
    struct output_table t;
    _cleanup_arena_ struct arena *a = arena_new();
    output_init(&t, a, columns, COLUMNS_N);
    for (uint32_t u = 0; u < s->units_n; u++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->processes_n; i++)
            if (s->processes[i].unit == u) {
                process_row(&t, s, &s->processes[i]);
                n++;
            }
        if (n == 0)
            idle_row(&t, &s->units[u]);
    }
    if (x->watch && x->format <= OUTPUT_WIDE && isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    output_print(&t, x->format);
    output_fini(&t);
    if (fflush(stdout) != 0 || ferror(stdout)) { /* a full disk; a reader that has seen enough needs no words */
        if (errno != EPIPE)
            fprintf(stderr, "capstan sessions: write: %s\n", strerror(errno));
        end(x, EXIT_FAILED);
        return;
    }
    if (s->pid_namespace_mismatch)
        fputs("capstan sessions: none of these pids is to be seen here: run it in the host's pid namespace\n", stderr);
    if (s->processes_left_out_n)
        fprintf(stderr, "capstan sessions: %u further processes are not shown\n", s->processes_left_out_n);
}

static void write_textfile(struct sessions *x, const struct sample *s)
{
    struct err e = {0};
    bool other = false;
    _cleanup_buf_ struct buf page = {0};
    page_render_sessions(&x->page, x->cache, s, &page);
    if (textfile_write(x->out, buf_view(&page), &other, &e) < 0)
        fail(x, e.text);
    else if (other)
        fprintf(stderr, "capstan sessions: %s: somebody else writes it too, stop one of the two\n", x->textfile);
}

/* WHY  it stays after a single look, which is to be read until the next one; a watch that ends takes its series with it. */
static void open_textfile(struct sessions *x)
{
    _cleanup_buf_ struct buf path = {0};
    buf_printf(&path, text_ends(x->textfile, ".prom") ? "%s" : "%s/gpu_sessions.prom", x->textfile);
    x->cache = page_cache_new();
    x->out = textfile_new(path.data, !x->watch);
}

static void on_sample(void *arg, const struct sample *s)
{
    struct sessions *x = arg;
    x->got_sample = true;
    if (x->textfile)
        write_textfile(x, s);
    else
        print_sample(x, s);
    if (!x->watch)
        end(x, x->code);
}

/* ---- devices, then owners, then the collection ---- */

static void start_collect(struct sessions *x)
{
    if (x->collect)
        return;
    x->collect = collect_new(x->loop, x->driver, x->inventory, x->pods, x->account, &x->collect_config);
    collect_listen(x->collect, on_sample, x);
    collect_now(x->collect);
}

static void on_owners(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    struct sessions *x = arg;
    if (code == 0)
        inventory_set_owners(x->inventory, owners, n);
    start_collect(x);
}

static void on_timeout(void *arg)
{
    struct sessions *x = arg;
    if (!x->kubelet_asked) {
        x->kubelet_asked = true;
        start_collect(x);
        loop_timer_start(x->timer, TIMEOUT_MS, 0);
    } else if (!x->got_sample) {
        fail(x, "the driver does not answer");
    }
}

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct sessions *x = arg;
    if (code < 0) {
        fail(x, e->text);
        return;
    }
    inventory_set_reading(x->inventory, r);
    x->kubelet_asked = access(x->kubelet_socket, F_OK) != 0;
    if (x->kubelet_asked) {
        start_collect(x);
        return;
    }
    pod_resources_list(x->kubelet, on_owners, x);
    loop_timer_start(x->timer, KUBELET_MS, 0);
}

static void on_stop(void *arg)
{
    end(arg, EXIT_OK);
}

static int run(struct sessions *x)
{
    struct err e = {0};
    char sys_root[512];
    (void)snprintf(sys_root, sizeof sys_root, "%s/sys", x->root ? x->root : "");
    x->loop = loop_new();
    x->driver = driver_nvml_new_with(x->loop, &(struct driver_nvml_options){.nvml_path = x->nvml_path,
                                                                            .sys_root = x->root && *x->root ? sys_root : NULL});
    if (inventory_open(x->loop, NULL, &x->inventory, &e) < 0) {
        fprintf(stderr, "capstan sessions: %s\n", e.text);
        return EXIT_FAILED;
    }
    page_wanted(&x->page, x->collect_config.wanted);
    x->collect_config.root = x->root ? x->root : "";
    x->collect_config.period_ms = x->period_ms;
    x->kubelet = pod_resources_new(x->loop, x->kubelet_socket);
    x->pods = pods_new(x->loop, &(struct pods_config){.root = x->root ? x->root : "", .node_name = ""});
    x->account = account_open(NULL, "");
    if (x->textfile)
        open_textfile(x);
    x->timer = loop_timer_new(x->loop, on_timeout, x);
    struct loop_signal *signals[] = {loop_signal_new(x->loop, SIGINT, on_stop, x), loop_signal_new(x->loop, SIGTERM, on_stop, x)};
    loop_timer_start(x->timer, TIMEOUT_MS, 0);
    x->kubelet_asked = true;
    driver_read(x->driver, on_reading, x);
    if (loop_run(x->loop, &e) < 0)
        fail(x, e.text);
    loop_signal_free(signals[0]);
    loop_signal_free(signals[1]);
    return x->code;
}

static void release(struct sessions *x)
{
    collect_free(x->collect);
    account_close(x->account);
    pods_free(x->pods);
    pod_resources_free(x->kubelet);
    loop_timer_free(x->timer);
    textfile_free(x->out);
    page_cache_free(x->cache);
    driver_free(x->driver);
    inventory_close(x->inventory);
    loop_free(x->loop);
}

static struct sessions taken(const struct options *o)
{
    static const enum page_memory memories[] = {PAGE_MEMORY_STICKY, PAGE_MEMORY_LIVE, PAGE_MEMORY_OFF};
    return (struct sessions){.nvml_path = option_text(o, OPT_SESSIONS_LIBRARY),
                             .root = option_text(o, OPT_SESSIONS_ROOT),
                             .kubelet_socket = option_text(o, OPT_SESSIONS_POD_RESOURCES_SOCKET),
                             .textfile = option_text(o, OPT_SESSIONS_TEXTFILE),
                             .watch = option_flag(o, OPT_SESSIONS_WATCH) && !o->on_line[OPT_SESSIONS_ONCE],
                             .period_ms = option_number(o, OPT_SESSIONS_PERIOD, 0),
                             .collect_config = {.processes_max = LIMIT_MEASURE_PROCESSES,
                                                .hostname = "",
                                                .session_label_index = option_word(o, OPT_SESSIONS_SESSION_MIG_LABEL) == 1},
                             .page = {.sessions = true,
                                      .session_memory_label = memories[option_word(o, OPT_SESSIONS_SESSION_MEMORY_LABEL)]},
                             .format = output_format_of(o)};
}

/* What does not go together; NULL: all does. */
static const char *contradiction(const struct options *o, const struct sessions *x)
{
    if (option_flag(o, OPT_SESSIONS_ONCE) && option_flag(o, OPT_SESSIONS_WATCH))
        return "either --once or --watch";
    if (o->on_line[OPT_SESSIONS_PERIOD] && !x->watch)
        return "--period goes with --watch";
    if (o->on_line[OPT_SESSIONS_OUTPUT] && x->textfile)
        return "--output: nothing is printed with --textfile";
    if (o->on_line[OPT_SESSIONS_SESSION_MEMORY_LABEL] && !x->textfile)
        return "--session-memory-label goes with --textfile";
    return NULL;
}

int sessions_main(const struct options *o)
{
    struct sessions x = taken(o);
    const char *wrong = contradiction(o, &x);
    if (wrong)
        return options_wrong(o, "%s", wrong);
    log_set_level(LOG_WARNING);
    int code = run(&x);
    release(&x);
    return code;
}
