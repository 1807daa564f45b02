/* collect_history.c - what one sample does not tell: since when, how often lately, how much in all */
#include "base/memory.h"
#include "exporter/collect/collect_parts.h"

/* WHY they stand for hardware and driver; at 0 from the start, so that rates see the first one. */
static const uint32_t usual_xids[] = {48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 143, 149, 154};

/* ---- windows ---- */

static void window_turn(struct window *w, int64_t window_ms, int64_t now_ms)
{
    int64_t step = now_ms / ((window_ms + WINDOW_STEPS - 1) / WINDOW_STEPS);
    for (int i = 0; i < WINDOW_STEPS && w->step < step; i++)
        w->counts[++w->step % WINDOW_STEPS] = 0;
    w->step = step > w->step ? step : w->step;
}

void window_add(struct window *w, int64_t window_ms, int64_t now_ms)
{
    window_turn(w, window_ms, now_ms);
    w->counts[w->step % WINDOW_STEPS]++;
}

uint32_t window_sum(struct window *w, int64_t window_ms, int64_t now_ms)
{
    uint32_t sum = 0;
    window_turn(w, window_ms, now_ms);
    for (int i = 0; i < WINDOW_STEPS; i++)
        sum += w->counts[i];
    return sum;
}

/* ---- by UUID ---- */

void history_init(struct history *h)
{
    h->units = map_new(sizeof(struct unit_history));
    h->boards = map_new(sizeof(struct board_history));
    h->processes = map_new(sizeof(struct process_history));
}

void history_free(struct history *h)
{
    map_free(h->units);
    map_free(h->boards);
    map_free(h->processes);
    free(h->xids);
}

struct unit_history *history_unit(struct history *h, const char *uuid)
{
    return map_put(h->units, bytes_of(uuid), NULL);
}

struct board_history *history_board(struct history *h, const char *uuid)
{
    return map_put(h->boards, bytes_of(uuid), NULL);
}

/* A later process of the same number has another start time: another history. */
struct process_history *history_process(struct history *h, const char *uuid, uint32_t pid, uint64_t start_ticks)
{
    struct {
        uint64_t start_ticks;
        uint32_t pid;
        char uuid[52];
    } key = {.start_ticks = start_ticks, .pid = pid};
    size_t n = strnlen(uuid, sizeof key.uuid);
    memcpy(key.uuid, uuid, n);
    return map_put(h->processes, (struct bytes){(const char *)&key, offsetof(__typeof__(key), uuid) + n}, NULL);
}

void history_forget(struct history *h, uint64_t sample)
{
    size_t at = 0;
    struct bytes key;
    for (struct unit_history *u; (u = map_next(h->units, &at, &key));)
        if (u->sample < sample)
            (void)map_remove(h->units, key);
    at = 0;
    for (struct board_history *b; (b = map_next(h->boards, &at, &key));)
        if (b->sample < sample)
            (void)map_remove(h->boards, key);
    at = 0;
    for (struct process_history *p; (p = map_next(h->processes, &at, &key));)
        if (p->sample < sample)
            (void)map_remove(h->processes, key);
}

/* ---- the wall clock ---- */

static void time_move(double *time_s, double by_s)
{
    if (*time_s > 0)
        *time_s += by_s;
}

void history_clock_set(struct history *h, double by_s)
{
    size_t at = 0;
    struct bytes key;
    for (struct unit_history *u; (u = map_next(h->units, &at, &key));)
        time_move(&u->last_active_s, by_s);
    at = 0;
    for (struct process_history *p; (p = map_next(h->processes, &at, &key));)
        time_move(&p->last_active_s, by_s);
    for (uint32_t i = 0; i < h->xids_n; i++)
        time_move(&h->xids[i].last_s, by_s);
}

/* ---- XIDs: by (GPU, number) in the order of both ---- */

static struct xid_history *xid_put(struct history *h, const struct driver_gpu *g, uint32_t xid)
{
    struct xid_history entry = {.xid = xid};
    memcpy(entry.uuid, g->uuid, sizeof entry.uuid);
    for (uint32_t i = 0; i < h->xids_n; i++) {
        if (h->xids[i].xid != xid || !text_equal(h->xids[i].uuid, g->uuid))
            continue;
        if (h->xids[i].gpu == g->index)
            return &h->xids[i];
        entry = h->xids[i]; /* the GPU has another index by now */
        memmove(&h->xids[i], &h->xids[i + 1], (--h->xids_n - i) * sizeof h->xids[0]);
        break;
    }
    if (h->xids_n == HISTORY_XIDS_MAX)
        return NULL;
    entry.gpu = g->index;
    uint32_t at = 0;
    while (at < h->xids_n && (h->xids[at].gpu < g->index || (h->xids[at].gpu == g->index && h->xids[at].xid < xid)))
        at++;
    MEM_RESERVE(h->xids, h->xids_cap, h->xids_n + 1);
    memmove(&h->xids[at + 1], &h->xids[at], (h->xids_n++ - at) * sizeof h->xids[0]);
    h->xids[at] = entry;
    return &h->xids[at];
}

void history_gpu(struct history *h, const struct driver_gpu *g)
{
    for (size_t i = 0; i < sizeof usual_xids / sizeof *usual_xids; i++)
        (void)xid_put(h, g, usual_xids[i]);
}

void history_xid(struct history *h, const struct driver_gpu *g, uint32_t xid, double wall_s, int64_t now_ms)
{
    struct xid_history *x = xid_put(h, g, xid);
    if (!x) {
        h->xids_dropped_n++;
        return;
    }
    x->n++;
    x->last_s = wall_s;
    window_add(&x->window, h->xid_window_ms, now_ms);
}
