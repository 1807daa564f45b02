/* mig_search.c - branch and bound over what stays, then packing, then places
 *
 *     for each existing GPU instance: keep it with some of its compute instances, or destroy it      visit()
 *     what is missing goes into kept GPU instances, and into as few new ones as possible             pack()
 *     the new ones get free memory slices                                                            place()
 *
 * WHY    exact: at most 7 GPU instances, most of them with one compute instance: some hundred leaves, cut by the best one so far. The
 *        number of new GPU instances of one profile does not depend on the other profiles, and fewer are easier to place, so packing and
 *        placing are separate.
 */
#include "gpu/mig_search.h"
#include <assert.h>
#include <string.h>

struct item { /* a compute instance that has to be made */
    uint8_t slices;
};
struct search {
    const struct gpu_model *m;
    const struct mig_state *now;
    const struct mig_kind *kinds;
    uint32_t kinds_n;
    uint8_t order[MIG_GI_MAX]; /* used instances by start */
    uint32_t order_n;
    struct mig_engines all;
    uint8_t need[MIG_KINDS_MAX];
    uint32_t least_busy_n, least_destroyed_n, least_created_n; /* no plan is better */
    struct mig_found at, best;
    bool has_best, done;
    struct item items[MIG_GI_MAX];
    uint32_t items_n;
};

static int kind_of(const struct search *x, uint8_t profile_id, uint8_t slices)
{
    for (uint32_t k = 0; k < x->kinds_n; k++)
        if (x->kinds[k].profile->id == profile_id && x->kinds[k].slices == slices)
            return (int)k;
    return -1;
}

static bool is_better(const struct search *x)
{
    const struct mig_found *a = &x->at, *b = &x->best;
    if (!x->has_best || a->busy_n != b->busy_n)
        return !x->has_best || a->busy_n < b->busy_n;
    if (a->destroyed_n != b->destroyed_n)
        return a->destroyed_n < b->destroyed_n;
    return a->created_n < b->created_n;
}

/* ---- compute instances into rooms ---- */

/* Every kept room has something in it: an empty one would have to be destroyed, and that is another branch. */
static bool rooms_used(const struct search *x, uint32_t first)
{
    for (uint32_t r = first; r < x->at.rooms_n; r++)
        if (!x->at.rooms[r].used)
            return false;
    return true;
}

/* Items are sorted by width, widest first; equal ones take (room, start) in rising order. `from`: where this one may begin. */
static bool pack_items(struct search *x, uint32_t item, uint32_t first, uint32_t from)
{
    if (item == x->items_n)
        return rooms_used(x, first);
    uint8_t slices = x->items[item].slices;
    for (uint32_t at = from; at < x->at.rooms_n * 8; at++) {
        struct mig_room *room = &x->at.rooms[at / 8];
        uint8_t start = (uint8_t)(at % 8), mask = (uint8_t)(((1u << slices) - 1) << start);
        if (!(mig_compute_starts(room->profile->slices, slices) & 1u << start) || (room->used & mask))
            continue;
        room->used |= mask;
        x->at.places[x->at.places_n++] = (struct mig_place){(uint8_t)(at / 8), slices, start};
        bool equal = item + 1 < x->items_n && x->items[item + 1].slices == slices;
        if (pack_items(x, item + 1, first, equal ? at + 1 : first * 8))
            return true;
        x->at.places_n--;
        room->used &= (uint8_t)~mask;
    }
    return false;
}

/* All kinds of one profile: kinds[k..end). Adds the rooms of kept instances, then new ones, as few as do. */
static bool pack_profile(struct search *x, uint32_t k, uint32_t end)
{
    const struct mig_profile *p = x->kinds[k].profile;
    uint32_t first = x->at.rooms_n, kept_n = 0;
    x->items_n = 0;
    for (; k < end; k++)
        for (uint8_t i = 0; i < x->need[k]; i++)
            x->items[x->items_n++] = (struct item){x->kinds[k].slices};
    for (uint32_t o = 0; o < x->order_n; o++) {
        const struct mig_instance *gi = &x->now->instances[x->order[o]];
        if (!x->at.instance_kept[x->order[o]] || gi->profile_id != p->id)
            continue;
        struct mig_room *room = &x->at.rooms[x->at.rooms_n++];
        *room = (struct mig_room){.profile = p, .instance = x->order[o], .start = gi->start};
        for (uint32_t c = 0; c < MIG_CI_MAX; c++)
            if (x->at.kept[x->order[o]] & 1u << c)
                room->used |= (uint8_t)(((1u << gi->computes[c].slices) - 1) << gi->computes[c].start);
        kept_n++;
    }
    for (uint32_t made_n = 0; made_n + kept_n <= p->max_n && made_n <= x->items_n; made_n++) {
        if (pack_items(x, 0, first, first * 8)) {
            x->at.created_n += made_n + x->items_n;
            return true;
        }
        x->at.rooms[x->at.rooms_n++] = (struct mig_room){.profile = p, .instance = 0xff};
    }
    return false;
}

static bool pack(struct search *x)
{
    x->at.rooms_n = x->at.places_n = x->at.created_n = 0;
    for (uint32_t k = 0, end; k < x->kinds_n; k = end) {
        for (end = k + 1; end < x->kinds_n && x->kinds[end].profile == x->kinds[k].profile; end++)
            ;
        if (!pack_profile(x, k, end))
            return false;
    }
    return true;
}

/* ---- rooms onto memory slices ---- */

static uint16_t mask_of(uint8_t start, uint8_t units)
{
    return (uint16_t)(((1u << units) - 1) << start);
}

/* `barred`: starts that an equal room before this one has tried already. */
static bool place(struct search *x, uint32_t r, uint16_t used, uint16_t barred)
{
    while (r < x->at.rooms_n && x->at.rooms[r].instance != 0xff)
        r++, barred = 0;
    if (r == x->at.rooms_n)
        return true;
    struct mig_room *room = &x->at.rooms[r];
    uint16_t open = room->profile->starts & (uint16_t)~barred;
    while (open) {
        uint8_t start = (uint8_t)mig_choose_start(x->m, open);
        open &= (uint16_t)~(1u << start);
        barred |= (uint16_t)(1u << start);
        if (used & mask_of(start, room->profile->units))
            continue;
        room->start = start;
        bool equal = r + 1 < x->at.rooms_n && room[1].profile == room->profile;
        if (place(x, r + 1, used | mask_of(start, room->profile->units), equal ? barred : 0))
            return true;
    }
    return false;
}

static bool engines_fit(const struct search *x)
{
    struct mig_engines sum = {0};
    for (uint32_t r = 0; r < x->at.rooms_n; r++)
        sum = mig_engines_sum(sum, mig_profile_engines(x->at.rooms[r].profile));
    return mig_engines_fit(sum, (struct mig_engines){0}, x->all);
}

static void leaf(struct search *x)
{
    uint16_t used = 0;
    if (!pack(x) || !is_better(x) || !engines_fit(x))
        return;
    for (uint32_t r = 0; r < x->at.rooms_n; r++)
        if (x->at.rooms[r].instance != 0xff)
            used |= mask_of(x->at.rooms[r].start, x->at.rooms[r].profile->units);
    if (!place(x, 0, used, 0))
        return;
    x->best = x->at;
    x->has_best = true;
    x->done = x->best.busy_n == x->least_busy_n && x->best.destroyed_n == x->least_destroyed_n &&
              x->best.created_n == x->least_created_n;
}

/* ---- what stays ---- */

static void visit(struct search *x, uint32_t o);

/* To drop the only compute instance of a full GPU instance and keep that helps only when narrower ones are to go in. Narrow ones may be
 * dropped singly: there are too many of them, or they stand in the way. */
static bool may_drop(const struct search *x, const struct mig_instance *gi)
{
    bool is_full = false, narrow_needed = false;
    for (uint32_t k = 0; k < x->kinds_n; k++)
        if (x->kinds[k].profile->id == gi->profile_id)
            narrow_needed |= x->need[k] && x->kinds[k].slices < x->kinds[k].profile->slices;
    for (uint32_t c = 0; c < MIG_CI_MAX; c++) {
        const struct mig_profile *p = gi->computes[c].used ? mig_profile_by_id(x->m, gi->profile_id) : NULL;
        is_full |= p && gi->computes[c].slices == p->slices;
    }
    return !is_full || narrow_needed;
}

static bool take_computes(struct search *x, const struct mig_instance *gi, uint8_t keep)
{
    for (uint32_t c = 0; c < MIG_CI_MAX; c++) {
        if (!(keep & 1u << c))
            continue;
        int k = kind_of(x, gi->profile_id, gi->computes[c].slices);
        if (k < 0 || !x->need[k])
            return false;
        x->need[k]--;
    }
    return true;
}

static void visit_keep(struct search *x, uint32_t o, uint8_t have, uint8_t keep)
{
    const struct mig_instance *gi = &x->now->instances[x->order[o]];
    struct mig_found before = {.busy_n = x->at.busy_n, .destroyed_n = x->at.destroyed_n};
    uint8_t need[MIG_KINDS_MAX];
    memcpy(need, x->need, sizeof need);
    bool ok = take_computes(x, gi, keep);
    if (ok && keep != have)
        ok = may_drop(x, gi);
    if (ok) {
        for (uint32_t c = 0; c < MIG_CI_MAX; c++)
            if ((have & ~keep) & 1u << c) {
                x->at.destroyed_n++;
                x->at.busy_n += gi->computes[c].busy_n > 0;
            }
        x->at.instance_kept[x->order[o]] = true;
        x->at.kept[x->order[o]] = keep;
        visit(x, o + 1);
        x->at.instance_kept[x->order[o]] = false;
        x->at.kept[x->order[o]] = 0;
        x->at.busy_n = before.busy_n;
        x->at.destroyed_n = before.destroyed_n;
    }
    memcpy(x->need, need, sizeof need);
}

static void visit_destroy(struct search *x, uint32_t o)
{
    const struct mig_instance *gi = &x->now->instances[x->order[o]];
    uint32_t busy_n = x->at.busy_n, destroyed_n = x->at.destroyed_n;
    x->at.destroyed_n++;
    for (uint32_t c = 0; c < MIG_CI_MAX; c++)
        if (gi->computes[c].used) {
            x->at.destroyed_n++;
            x->at.busy_n += gi->computes[c].busy_n > 0;
        }
    visit(x, o + 1);
    x->at.busy_n = busy_n;
    x->at.destroyed_n = destroyed_n;
}

static void visit(struct search *x, uint32_t o)
{
    x->at.created_n = x->least_created_n;
    if (x->done || !is_better(x))
        return;
    if (o == x->order_n) {
        leaf(x);
        return;
    }
    const struct mig_instance *gi = &x->now->instances[x->order[o]];
    bool wanted = false;
    for (uint32_t k = 0; k < x->kinds_n; k++)
        wanted |= x->kinds[k].profile->id == gi->profile_id;
    uint8_t have = 0;
    for (uint32_t c = 0; c < MIG_CI_MAX; c++)
        if (gi->computes[c].used)
            have |= (uint8_t)(1u << c);
    for (int keep = have; wanted && keep >= 0 && !x->done; keep = keep ? (keep - 1) & have : -1)
        visit_keep(x, o, have, (uint8_t)keep);
    visit_destroy(x, o);
}

/* ---- bounds ---- */

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* Of one kind: whatever is there beyond the wish goes, whatever is missing is made. */
static void bound_kinds(struct search *x)
{
    uint32_t have[MIG_KINDS_MAX] = {0}, busy[MIG_KINDS_MAX] = {0};
    for (uint32_t o = 0; o < x->order_n; o++) {
        const struct mig_instance *gi = &x->now->instances[x->order[o]];
        for (uint32_t c = 0; c < MIG_CI_MAX; c++) {
            if (!gi->computes[c].used)
                continue;
            int k = kind_of(x, gi->profile_id, gi->computes[c].slices);
            bool is_busy = gi->computes[c].busy_n > 0;
            if (k < 0) {
                x->least_destroyed_n++;
                x->least_busy_n += is_busy;
                continue;
            }
            have[k]++;
            busy[k] += is_busy;
        }
    }
    for (uint32_t k = 0; k < x->kinds_n; k++) {
        x->least_busy_n += above(busy[k], x->kinds[k].n);
        x->least_destroyed_n += above(have[k], x->kinds[k].n);
        x->least_created_n += above(x->kinds[k].n, have[k]);
    }
}

/* GPU instances: each that stays holds at least one wanted compute instance, and a full one needs its own. */
static void bound_instances(struct search *x)
{
    for (uint32_t i = 0; i < x->m->profiles_n; i++) {
        const struct mig_profile *p = &x->m->profiles[i];
        uint32_t have = 0, most = 0, full = 0;
        for (uint32_t o = 0; o < x->order_n; o++)
            have += x->now->instances[x->order[o]].profile_id == p->id;
        for (uint32_t k = 0; k < x->kinds_n; k++)
            if (x->kinds[k].profile == p) {
                most += x->kinds[k].n;
                full += x->kinds[k].slices == p->slices ? x->kinds[k].n : 0;
            }
        x->least_destroyed_n += above(have, most);
        x->least_created_n += above(full, have);
    }
}

static bool fits_at_all(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n)
{
    uint32_t slices = 0, most = 0;
    for (uint32_t i = 0; i < m->profiles_n; i++)
        most = m->profiles[i].slices > most ? m->profiles[i].slices : most;
    for (uint32_t k = 0; k < kinds_n; k++)
        slices += (uint32_t)kinds[k].n * kinds[k].slices;
    return slices <= most && most <= MIG_GI_MAX;
}

bool mig_search(const struct gpu_model *m, const struct mig_state *now, const struct mig_kind *kinds, uint32_t kinds_n,
                struct mig_found *ret_found)
{
    assert(kinds_n <= MIG_KINDS_MAX);
    struct search x = {.m = m, .now = now, .kinds = kinds, .kinds_n = kinds_n, .all = mig_model_engines(m)};
    if (!fits_at_all(m, kinds, kinds_n))
        return false;
    for (uint32_t k = 0; k < kinds_n; k++)
        x.need[k] = kinds[k].n;
    for (int start = 0; start < MIG_UNITS_MAX; start++)
        for (uint8_t i = 0; i < MIG_GI_MAX; i++)
            if (now->instances[i].used && now->instances[i].start == start)
                x.order[x.order_n++] = i;
    bound_kinds(&x);
    bound_instances(&x);
    visit(&x, 0);
    if (x.has_best)
        *ret_found = x.best;
    return x.has_best;
}
