/* exporter.c - see exporter.h */
#include "exporter/exporter.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "exporter/account/usage.h"
#include "exporter/file_text.h"
#include "exporter/pages/textfile.h"
#include "exporter/collect/network.h"
#include "exporter/push/feedback.h"
#include "wire/json.h"

#define BOOKS_MS 60000          /* books are saved, usage goes to its store */
#define FAREWELL_MS 1000        /* for what waits to be pushed, at the end */
#define CHANGE_MS 1000          /* so soon after a pod has come or gone a collection counts it */
#define LOOK_MS 5000            /* the counters file may have changed */
#define PRUNE_MS (24 * 3600 * 1000)
#define USAGE_KEEP_S (400.0 * 24 * 3600)
#define LIMIT_COUNTERS_BYTES (256u << 10)

struct counters {
    struct arena *arena;
    struct page_counter *list;
    uint32_t n;
};
/* A failure that is said when it begins, changes and ends. */
struct trouble {
    char text[ERR_TEXT_MAX];
};
struct exporter {
    struct loop *loop;
    struct kube_client *kube;
    struct inventory *inventory;
    uint64_t owners;                /* who has what, as a number */
    struct exporter_options o;
    struct pods *pods;
    struct account *account;
    struct collect *collect;
    struct serve *serve;
    struct page_cache *cache;
    struct textfile *textfile;
    struct textfile_counts textfile_counts;
    struct influx *influx;
    struct remote_write *remote_write;
    struct page_push pushes[2];
    uint32_t pushes_n;
    bool stopping; /* nothing more is sent */
    struct feedback *feedback;
    struct network_count network; /* at network_ms of the loop; 0: not known */
    int64_t network_ms;
    struct usage_store *usage;
    struct counters counters, next; /* next: measured from now on, shown with the first sample that has it */
    uint64_t next_from;             /* that sample's number */
    struct stat counters_seen;
    struct loop_timer *change_timer, *books_timer, *look_timer, *push_timer;
    int64_t prune_ms;
    char *node_path, *textfile_path;
    bool annotating;
    struct buf page;                /* of the textfile */
    struct buf annotation, sessions;
    struct trouble textfile_trouble, influx_trouble, remote_trouble, counters_trouble, usage_trouble, books_trouble,
        node_trouble;
};

/* `text` "" means that it works. */
static void say(struct trouble *t, const char *what, const char *text)
{
    if (text_equal(t->text, text))
        return;
    if (*text)
        log_warning("%s error=\"%s\"", what, text);
    else
        log_info("%s works again", what);
    (void)snprintf(t->text, sizeof t->text, "%s", text);
}

/* ---- counters ---- */

static int counters_read(struct exporter *x, struct counters *ret, struct err *e)
{
    _cleanup_buf_ struct buf csv = {0};
    _cleanup_buf_ struct buf warnings = {0};
    struct counters c = {.arena = arena_new()};
    int r = 0;
    if (x->o.counters_file)
        r = file_text_read(x->o.counters_file, LIMIT_COUNTERS_BYTES, &csv, e);
    if (r == 0 && x->o.counters_file)
        r = page_counters_parse(c.arena, buf_view(&csv), x->o.counters_strict, &c.list, &c.n, &warnings, e);
    else if (r == 0)
        page_counters_default(c.arena, &c.list, &c.n);
    if (r < 0) {
        arena_free(c.arena);
        return r;
    }
    char *save = NULL;
    for (char *line = warnings.n ? strtok_r(warnings.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        log_warning("counters file=%s %s", x->o.counters_file, line);
    *ret = c;
    return 0;
}

static bool counters_moved(struct exporter *x)
{
    struct stat now;
    if (!x->o.counters_file || stat(x->o.counters_file, &now) < 0)
        return false; /* being replaced: the next look sees it */
    bool moved = now.st_ino != x->counters_seen.st_ino || now.st_size != x->counters_seen.st_size ||
                 now.st_mtim.tv_sec != x->counters_seen.st_mtim.tv_sec ||
                 now.st_mtim.tv_nsec != x->counters_seen.st_mtim.tv_nsec;
    x->counters_seen = now;
    return moved;
}

static struct page_config page_of(const struct exporter *x, const struct counters *c)
{
    struct page_config page = x->o.page;
    page.counters = c->list;
    page.counters_n = c->n;
    page.pushes = x->pushes;
    page.pushes_n = x->pushes_n;
    page.textfile = x->o.textfile ? &x->textfile_counts : NULL;
    return page;
}

/* WHY  in two steps: what is new has to be measured before it can be shown, and what is shown must not pause meanwhile. */
static void counters_reload(struct exporter *x)
{
    struct counters c;
    struct err e = {0};
    int r = counters_read(x, &c, &e);
    say(&x->counters_trouble, "counters file not usable, the list before stays:", r < 0 ? e.text : "");
    if (r < 0)
        return;
    arena_free(x->next.arena);
    x->next = c;
    uint64_t wanted[(MEASURE_N + 63) / 64];
    struct page_config page = page_of(x, &c);
    const struct sample *last = collect_last(x->collect);
    page_wanted(&page, wanted);
    collect_want(x->collect, wanted);
    /* One measurement may be under way that was asked for before. */
    x->next_from = last ? last->number + 2 : 0;
    collect_now(x->collect);
    log_info("counters read file=%s fields=%u", x->o.counters_file, c.n);
}

static void counters_show(struct exporter *x, const struct sample *s)
{
    if (!x->next.arena || s->number < x->next_from)
        return;
    struct page_config page = page_of(x, &x->next);
    serve_set_page(x->serve, &page);
    arena_free(x->counters.arena);
    x->counters = x->next;
    x->next = (struct counters){0};
}

static void on_look(void *arg)
{
    struct exporter *x = arg;
    if (counters_moved(x))
        counters_reload(x);
}

void exporter_reload(struct exporter *x)
{
    if (x->o.counters_file) {
        (void)counters_moved(x);
        counters_reload(x);
    }
    serve_reload(x->serve);
}

/* ---- ways out ---- */

static void write_textfile(struct exporter *x, const struct sample *s)
{
    struct err e = {0};
    bool other = false;
    struct page_config page = page_of(x, &x->counters);
    buf_clear(&x->page);
    page_render_sessions(&page, x->cache, s, &x->page);
    int r = textfile_write(x->textfile, buf_view(&x->page), &other, &e);
    x->textfile_counts = textfile_counts(x->textfile);
    say(&x->textfile_trouble, "textfile not written", r < 0 ? e.text : "");
    if (other)
        log_warning("textfile: somebody else writes it too, stop one of the two file=%s", x->o.textfile);
}

static void on_annotated(void *arg, const struct kube_answer *answer)
{
    struct exporter *x = arg;
    x->annotating = false;
    say(&x->node_trouble, "feedback not written to the node", answer->code == 0 ? "" : answer->error.text);
}

/* WHY not where the counters have gone back: a driver was loaded anew. */
static void measure_network(struct exporter *x)
{
    struct network_count now = {0};
    int64_t now_ms = loop_now_ms(x->loop), span_ms = now_ms - x->network_ms;
    bool known = network_read(x->o.root, &now), comparable = known && x->network_ms && span_ms > 0 && now.bytes >= x->network.bytes;
    if (x->network_ms && span_ms < x->o.period_ms / 2)
        return;
    feedback_network(x->feedback, comparable ? (double)(now.bytes - x->network.bytes) * 1000 / (double)span_ms : -1, now.rdma);
    x->network = now;
    x->network_ms = known ? now_ms : 0;
}

static void write_feedback(struct exporter *x, const struct sample *s)
{
    measure_network(x);
    if (x->annotating || !feedback_update(x->feedback, s, loop_now_ms(x->loop), &x->annotation, &x->sessions))
        return;
    _cleanup_buf_ struct buf body = {0};
    feedback_patch(buf_view(&x->annotation), buf_view(&x->sessions), &body);
    x->annotating = true;
    kube_patch(x->kube, KUBE_PATCH_MERGE, x->node_path, buf_view(&body), on_annotated, x);
}

static void pushes_count(struct exporter *x)
{
    uint32_t n = 0;
    if (x->o.influx.url)
        x->pushes[n++] = (struct page_push){"influx", influx_counts(x->influx)};
    if (x->o.remote_write.url)
        x->pushes[n++] = (struct page_push){"remote_write", remote_write_counts(x->remote_write)};
}

static void push_page(struct exporter *x)
{
    remote_write_send(x->remote_write, serve_page(x->serve, false), loop_wall_ms(x->loop));
    say(&x->remote_trouble, "remote-write", remote_write_counts(x->remote_write).last_error);
}

static void on_sample(void *arg, const struct sample *s)
{
    struct exporter *x = arg;
    if (x->stopping)
        return;
    counters_show(x, s);
    pushes_count(x);
    if (x->textfile)
        write_textfile(x, s);
    if (x->influx) {
        influx_send(x->influx, s);
        say(&x->influx_trouble, "InfluxDB", influx_counts(x->influx).last_error);
    }
    if (x->remote_write)
        push_page(x);
    if (x->feedback)
        write_feedback(x, s);
    serve_sampled(x->serve);
}

/* While the driver hangs there are no samples; receivers of pushes are to see that, too. */
static void on_push(void *arg)
{
    struct exporter *x = arg;
    struct collect_state state = {0};
    collect_state(x->collect, &state);
    pushes_count(x);
    if (state.stalled)
        push_page(x);
}

/* ---- books ---- */

struct drain {
    struct arena *arena;
    struct usage_record *records;
    uint32_t n, cap;
    double now_s;
};

static void on_drained(void *arg, const struct account_pod *p)
{
    struct drain *d = arg;
    MEM_RESERVE(d->records, d->cap, d->n + 1);
    /* Without an API server pods have no uid; a name stands for one pod at a time. */
    const char *uid = *p->uid ? p->uid : arena_printf(d->arena, "%s/%s", p->ns, p->pod);
    double tail_s = p->last_active_s > 0 ? p->last_s - p->last_active_s : p->last_s - p->first_s;
    d->records[d->n++] = (struct usage_record){.uid = uid,
                                               .ns = p->ns,
                                               .pod = p->pod,
                                               .job = p->job,
                                               .queue = p->queue,
                                               .user = p->user,
                                               .node = p->node,
                                               .device_kind = p->device_kind,
                                               .start_s = p->began_s,
                                               .end_s = p->live ? 0 : p->last_s,
                                               .queue_wait_s = -1,
                                               .allocated_s = p->allocated_s,
                                               .active_s = p->active_s,
                                               .memory_high_bytes = p->memory_high_bytes,
                                               .memory_granted_bytes = p->memory_granted_bytes,
                                               .energy_j = p->energy_j,
                                               .no_process_s = p->no_process_s,
                                               .idle_s = p->idle_s,
                                               .low_s = p->low_s,
                                               .throttled_s = p->throttled_s,
                                               .idle_tail_s = tail_s > 0 ? tail_s : 0};
}

static int store_capacity(struct exporter *x, struct arena *a, double now_s, struct err *e)
{
    const struct account_gpu *const *gpus;
    uint32_t n = account_gpus(x->account, &gpus);
    struct usage_capacity *more = arena_zero(a, n + 1, sizeof *more);
    for (uint32_t i = 0; i < n; i++)
        more[i] = (struct usage_capacity){x->o.node_name, gpus[i]->model, gpus[i]->capacity_s - gpus[i]->capacity_stored_s};
    int r = usage_put_capacity(x->usage, more, n, now_s, e);
    if (r == 0)
        account_capacity_stored(x->account);
    return r;
}

static void store_usage(struct exporter *x)
{
    struct drain d = {.arena = arena_new(), .now_s = (double)loop_wall_ms(x->loop) / 1000};
    struct err e = {0};
    account_drain(x->account, on_drained, &d);
    /* Drained in any case: the books keep a pod until its end has been seen. */
    int r = x->usage ? usage_put(x->usage, d.records, d.n, d.now_s, &e) : 0;
    if (x->usage && r == 0)
        r = store_capacity(x, d.arena, d.now_s, &e);
    if (x->usage && r == 0 && loop_now_ms(x->loop) >= x->prune_ms) {
        r = usage_prune(x->usage, d.now_s - USAGE_KEEP_S, &e);
        x->prune_ms = loop_now_ms(x->loop) + PRUNE_MS;
    }
    say(&x->usage_trouble, "usage not stored", r < 0 ? e.text : "");
    free(d.records);
    arena_free(d.arena);
}

static void on_books(void *arg)
{
    struct exporter *x = arg;
    struct err e = {0};
    say(&x->books_trouble, "books not saved", account_save(x->account, &e) < 0 ? e.text : "");
    store_usage(x);
}

static void open_books(struct exporter *x)
{
    _cleanup_buf_ struct buf path = {0};
    struct err e = {0};
    if (!x->o.state_dir) {
        x->account = account_open(NULL, x->o.node_name);
        return;
    }
    buf_printf(&path, "%s/account", x->o.state_dir);
    x->account = account_open(path.data, x->o.node_name);
    buf_clear(&path);
    buf_printf(&path, "%s/usage.db", x->o.state_dir);
    if (usage_open(path.data, &x->usage, &e) < 0)
        log_error("usage is not stored error=\"%s\"", e.text);
}

/* ---- pods that come and go ---- */

/* WHY  a pod may be shorter than a period. */
static void on_inventory(void *arg, const struct inventory_snapshot *s)
{
    struct exporter *x = arg;
    uint64_t owners = s->owners_n;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        const char *const texts[] = {o->slot, o->ns, o->pod};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            owners = hash_bytes(texts[k], strlen(texts[k]), owners);
    }
    if (owners != x->owners && !loop_timer_running(x->change_timer))
        loop_timer_start(x->change_timer, CHANGE_MS, 0);
    x->owners = owners;
}

static void on_change(void *arg)
{
    struct exporter *x = arg;
    collect_now(x->collect);
}

/* ---- life ---- */

static void start_collect(struct exporter *x, struct driver *d, struct inventory *i)
{
    struct pods_config pods = {.root = x->o.root ? x->o.root : "",
                               .client = x->kube,
                               .node_name = x->o.node_name,
                               .label_allow = x->o.pod_label_allow};
    struct page_config page = page_of(x, &x->counters);
    struct collect_config c = {.period_ms = x->o.period_ms,
                               .root = pods.root,
                               .hostname = x->o.node_name,
                               .processes_max = x->o.processes_max,
                               .xid_window_ms = x->o.xid_window_ms,
                               .clock_window_ms = x->o.clock_window_ms,
                               .session_label_index = x->o.session_label_index};
    page_wanted(&page, c.wanted);
    x->pods = pods_new(x->loop, &pods);
    x->collect = collect_new(x->loop, d, i, x->pods, x->account, &c);
    collect_listen(x->collect, on_sample, x);
}

static int start_ways_out(struct exporter *x, struct err *e)
{
    struct serve_config s = {.listen = x->o.listen,
                             .web_config = x->o.web_config,
                             .page = page_of(x, &x->counters),
                             .cache = x->cache,
                             .period_ms = x->o.period_ms};
    int r = serve_new(x->loop, x->collect, x->account, &s, &x->serve, e);
    if (r == 0 && x->o.influx.url)
        r = influx_new(x->loop, &x->o.influx, &x->influx, e);
    if (r == 0 && x->o.remote_write.url)
        r = remote_write_new(x->loop, &x->o.remote_write, &x->remote_write, e);
    if (r == 0 && x->o.textfile)
        x->textfile = textfile_new(x->textfile_path, x->o.textfile_keep);
    if (r == 0 && x->kube && x->o.feedback)
        x->feedback = feedback_new(x->o.period_ms);
    return r;
}

static struct loop_timer *every(struct exporter *x, loop_fn fn, int64_t period_ms)
{
    struct loop_timer *t = loop_timer_new(x->loop, fn, x);
    loop_timer_start(t, period_ms, period_ms);
    return t;
}

int exporter_new(struct loop *l, struct driver *d, struct inventory *i, struct kube_client *k,
                 const struct exporter_options *o, struct exporter **ret_x, struct err *e)
{
    struct exporter *x = mem_zero(1, sizeof *x);
    struct err counters_error = {0};
    x->loop = l;
    x->kube = k;
    x->inventory = i;
    x->o = *o;
    if (o->influx.url)
        x->pushes[x->pushes_n++].target = "influx";
    if (o->remote_write.url)
        x->pushes[x->pushes_n++].target = "remote_write";
    x->cache = page_cache_new();
    _cleanup_arena_ struct arena *a = arena_new();
    x->node_path = mem_text(kube_path(a, "", "v1", "nodes", NULL, o->node_name, NULL));
    /* A folder stands for the file that the guide names. */
    if (o->textfile)
        x->textfile_path = mem_text(text_ends(o->textfile, ".prom") ? o->textfile : arena_printf(a, "%s/gpu_sessions.prom", o->textfile));
    (void)counters_moved(x);
    if (counters_read(x, &x->counters, &counters_error) < 0) {
        say(&x->counters_trouble, "counters file not usable, the built-in list is used:", counters_error.text);
        x->counters.arena = arena_new();
        page_counters_default(x->counters.arena, &x->counters.list, &x->counters.n);
    }
    open_books(x);
    start_collect(x, d, i);
    int r = start_ways_out(x, e);
    if (r < 0) {
        exporter_free(x);
        return r;
    }
    x->change_timer = loop_timer_new(l, on_change, x);
    inventory_listen(i, on_inventory, x);
    x->books_timer = every(x, on_books, BOOKS_MS);
    if (o->counters_file)
        x->look_timer = every(x, on_look, LOOK_MS);
    if (x->remote_write)
        x->push_timer = every(x, on_push, o->period_ms);
    *ret_x = x;
    return 0;
}

static uint32_t unsent_n(const struct exporter *x)
{
    uint32_t n = x->influx ? influx_counts(x->influx).queued_n : 0;
    return n + (x->remote_write ? remote_write_counts(x->remote_write).queued_n : 0);
}

void exporter_stop(struct exporter *x)
{
    if (!x || x->stopping)
        return;
    x->stopping = true;
    loop_timer_free(x->push_timer);
    x->push_timer = NULL;
    if (x->remote_write)
        remote_write_send(x->remote_write, BYTES(""), loop_wall_ms(x->loop));
    for (int ms = 0; ms < FAREWELL_MS && unsent_n(x); ms += 10)
        (void)loop_run_for(x->loop, 10, NULL);
}

void exporter_free(struct exporter *x)
{
    if (!x)
        return;
    if (x->change_timer)
        inventory_unlisten(x->inventory, on_inventory, x);
    loop_timer_free(x->change_timer);
    loop_timer_free(x->books_timer);
    loop_timer_free(x->look_timer);
    loop_timer_free(x->push_timer);
    if (x->kube)
        kube_client_forget(x->kube, on_annotated, x);
    serve_free(x->serve);
    collect_free(x->collect);
    if (x->usage)
        store_usage(x);
    account_close(x->account);
    usage_close(x->usage);
    pods_free(x->pods);
    textfile_free(x->textfile);
    influx_free(x->influx);
    remote_write_free(x->remote_write);
    feedback_free(x->feedback);
    page_cache_free(x->cache);
    arena_free(x->counters.arena);
    arena_free(x->next.arena);
    buf_free(&x->page);
    buf_free(&x->annotation);
    buf_free(&x->sessions);
    free(x->node_path);
    free(x->textfile_path);
    free(x);
}

void exporter_resources(struct exporter *x, const struct resource_table *t)
{
    collect_resources(x->collect, t);
}

void exporter_event(struct exporter *x, const struct driver_event *event)
{
    if (event->kind == DRIVER_EVENT_XID)
        collect_xid(x->collect, event);
}
