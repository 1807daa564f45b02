/* inventory.c - see inventory.h
 *
 * SHAPE  what is known stands in three arrays: health by (gpu, gi, ci), owners by (resource, slot), intents by key. A snapshot is one
 *        block of memory, made from them and the reading when somebody looks after a change.
 *
 *     journal record (fields with a tab between):   health gpu gi ci state xid since mig    owner resource slot ns pod container
 *                                                   free resource slot                      intent key value
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include "agent/inventory/inventory.h"
#include "agent/inventory/journal.h"

#define ALL 0xffffffffu
#define CLAIM_FRESH_MS 10000
#define FIELDS_MAX 8

struct health {
    char gpu[48], mig[48]; /* mig: identity of the instance that it is about; "" = whole GPU or GPU instance */
    uint32_t gi, ci;
    enum unit_health state;
    uint32_t xid;
    int64_t since_ms;
};
struct owner {
    char *resource, *slot, *ns, *pod, *container; /* one block: `resource` */
    char *before; /* of a claim, "ns/pod/container": whose the slot was; kubelets may list that one on. NULL: nobody's */
    int64_t claimed_ms;                           /* loop time */
    int64_t missing_ms;                           /* whole lists have not named it since; 0: they have */
};
struct intent {
    char *key, *value;
};
struct listener {
    void (*fn)(void *arg, const struct inventory_snapshot *s);
    void *arg;
};
struct inventory {
    struct loop *loop;
    struct journal *journal;
    uint64_t cut_bytes;
    const struct driver_reading *reading;
    struct inventory_snapshot *now;
    bool stale, owners_known, owners_unsure;
    int64_t whole_ms; /* all lists have been whole since */
    uint64_t generation;
    struct health *healths;
    struct owner *owners;
    struct intent *intents;
    struct listener *listeners;
    uint32_t healths_n, owners_n, intents_n, listeners_n;
    uint32_t healths_cap, owners_cap, intents_cap, listeners_cap;
};

const char *unit_health_name(enum unit_health health)
{
    static const char *const names[] = {
#define X(name, text, usable) [UNIT_##name] = text,
        UNIT_HEALTHS(X)
#undef X
    };
    return names[health];
}

bool unit_health_usable(enum unit_health health)
{
    static const bool usables[] = {
#define X(name, text, usable) [UNIT_##name] = usable,
        UNIT_HEALTHS(X)
#undef X
    };
    return usables[health];
}

/* ---- snapshots ---- */

const struct inventory_snapshot *inventory_snapshot_ref(const struct inventory_snapshot *s)
{
    struct inventory_snapshot *counted = (struct inventory_snapshot *)s; /* the count is the only part that changes */
    assert(counted->refs > 0);
    counted->refs++;
    return counted;
}

void inventory_snapshot_unref(const struct inventory_snapshot *s)
{
    struct inventory_snapshot *counted = (struct inventory_snapshot *)s;
    if (!counted)
        return;
    assert(counted->refs > 0);
    if (--counted->refs > 0)
        return;
    driver_reading_unref(counted->reading);
    if (counted->arena)
        arena_free(counted->arena);
    else
        free(counted);
}

const struct unit *inventory_snapshot_unit(const struct inventory_snapshot *s, const char *uuid)
{
    for (uint32_t i = 0; i < s->units_n; i++)
        if (text_equal(s->units[i].uuid, uuid))
            return &s->units[i];
    return NULL;
}

static const struct driver_reading *empty_reading(void)
{
    struct driver_reading *r = mem_zero(1, sizeof *r);
    r->refs = 1;
    return r;
}

/* How bad a state is: the worse of two counts. */
static int badness(enum unit_health h)
{
    static const int order[] = {[UNIT_HEALTHY] = 0, [UNIT_PROBATION] = 1, [UNIT_SUSPECT] = 2, [UNIT_DRAINING] = 3, [UNIT_FAILED] = 4};
    return order[h];
}

static bool health_covers(const struct health *h, const struct unit *u)
{
    if (!text_equal(h->gpu, u->gpu->uuid))
        return false;
    if (h->gi == ALL || !u->mig)
        return h->gi == ALL;
    return h->gi == u->mig->gi && (h->ci == ALL || h->ci == u->mig->ci);
}

static void unit_set_health(const struct inventory *i, struct unit *u)
{
    for (uint32_t n = 0; n < i->healths_n; n++) {
        const struct health *h = &i->healths[n];
        if (!health_covers(h, u))
            continue;
        if (badness(h->state) > badness(u->health) || (badness(h->state) == badness(u->health) && h->since_ms > u->since_ms)) {
            u->health = h->state;
            u->xid = h->xid;
            u->since_ms = h->since_ms;
        }
    }
    if (u->gpu->lost && badness(u->health) < badness(UNIT_SUSPECT))
        u->health = UNIT_SUSPECT;
}

static bool unit_same(const struct unit *a, const struct unit *b)
{
    if (a->health != b->health || a->xid != b->xid || a->gpu->minor != b->gpu->minor || a->gpu->index != b->gpu->index ||
        a->gpu->lost != b->gpu->lost || !text_equal(a->gpu->bus_id, b->gpu->bus_id))
        return false;
    return !a->mig || (a->mig->gi == b->mig->gi && a->mig->ci == b->mig->ci && a->mig->gi_start == b->mig->gi_start);
}

static void unit_set_generation(const struct inventory *i, struct unit *u, uint32_t at)
{
    const struct inventory_snapshot *before = i->now;
    const struct unit *old = NULL;
    if (before && at < before->units_n && text_equal(before->units[at].uuid, u->uuid))
        old = &before->units[at];
    else if (before)
        old = inventory_snapshot_unit(before, u->uuid);
    u->generation = !old ? 1 : unit_same(old, u) && !old->mig == !u->mig ? old->generation : old->generation + 1;
}

static uint32_t count_units(const struct driver_reading *r)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < r->gpus_n; g++)
        n += r->gpus[g].mig_on ? r->gpus[g].migs_n : 1;
    return n;
}

static void add_units(struct inventory *i, struct inventory_snapshot *s)
{
    const struct driver_reading *r = s->reading;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct driver_gpu *gpu = &r->gpus[g];
        for (uint32_t m = 0; m < (gpu->mig_on ? gpu->migs_n : 1); m++) {
            struct unit *u = &s->units[s->units_n];
            u->gpu = gpu;
            u->mig = gpu->mig_on ? &gpu->migs[m] : NULL;
            u->uuid = u->mig ? u->mig->uuid : gpu->uuid;
            unit_set_health(i, u);
            unit_set_generation(i, u, s->units_n);
            s->units_n++;
        }
    }
}

static const char *put_text(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    char *to = memcpy(*at, text, n);
    *at += n;
    return to;
}

static struct inventory_snapshot *make_snapshot(struct inventory *i)
{
    uint32_t units_n = count_units(i->reading);
    size_t texts_bytes = 0;
    for (uint32_t n = 0; n < i->owners_n; n++) {
        const struct owner *o = &i->owners[n];
        texts_bytes += strlen(o->resource) + strlen(o->slot) + strlen(o->ns) + strlen(o->pod) + strlen(o->container) + 5;
    }
    size_t units_at = sizeof(struct inventory_snapshot), owners_at = units_at + units_n * sizeof(struct unit),
           texts_at = owners_at + i->owners_n * sizeof(struct slot_owner);
    char *block = mem_zero(1, texts_at + texts_bytes), *texts = block + texts_at;
    struct inventory_snapshot *s = (struct inventory_snapshot *)(void *)block;
    s->refs = 1;
    s->generation = ++i->generation;
    s->reading = driver_reading_ref(i->reading);
    s->units = (struct unit *)(void *)(block + units_at);
    s->owners = (struct slot_owner *)(void *)(block + owners_at);
    s->owners_n = i->owners_n;
    s->owners_known = i->owners_known;
    s->owners_unsure = i->owners_unsure;
    add_units(i, s);
    for (uint32_t n = 0; n < i->owners_n; n++) {
        const struct owner *o = &i->owners[n];
        s->owners[n].resource = put_text(&texts, o->resource);
        s->owners[n].slot = put_text(&texts, o->slot);
        s->owners[n].ns = put_text(&texts, o->ns);
        s->owners[n].pod = put_text(&texts, o->pod);
        s->owners[n].container = put_text(&texts, o->container);
    }
    return s;
}

const struct inventory_snapshot *inventory_now(struct inventory *i)
{
    if (i->stale) {
        struct inventory_snapshot *s = make_snapshot(i);
        inventory_snapshot_unref(i->now);
        i->now = s;
        i->stale = false;
    }
    return i->now;
}

static void on_turn_end(void *arg)
{
    struct inventory *i = arg;
    const struct inventory_snapshot *s = inventory_snapshot_ref(inventory_now(i));
    for (uint32_t n = 0; n < i->listeners_n; n++)
        i->listeners[n].fn(i->listeners[n].arg, s);
    inventory_snapshot_unref(s);
}

static void changed(struct inventory *i)
{
    i->stale = true;
    if (i->listeners_n > 0)
        loop_at_turn_end(i->loop, on_turn_end, i);
}

void inventory_listen(struct inventory *i, void (*fn)(void *arg, const struct inventory_snapshot *s), void *arg)
{
    MEM_RESERVE(i->listeners, i->listeners_cap, i->listeners_n + 1);
    i->listeners[i->listeners_n++] = (struct listener){fn, arg};
}

void inventory_unlisten(struct inventory *i, void (*fn)(void *arg, const struct inventory_snapshot *s), void *arg)
{
    uint32_t to = 0;
    for (uint32_t k = 0; k < i->listeners_n; k++)
        if (i->listeners[k].fn != fn || i->listeners[k].arg != arg)
            i->listeners[to++] = i->listeners[k];
    i->listeners_n = to;
}

/* ---- owners ---- */

static int owner_compare(const struct owner *o, const char *resource, const char *slot)
{
    int c = strcmp(o->resource, resource);
    return c ? c : strcmp(o->slot, slot);
}

/* Where (resource, slot) is, or would be. */
static uint32_t owner_place(const struct inventory *i, const char *resource, const char *slot, bool *ret_is_there)
{
    uint32_t low = 0, high = i->owners_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (owner_compare(&i->owners[middle], resource, slot) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_is_there = low < i->owners_n && owner_compare(&i->owners[low], resource, slot) == 0;
    return low;
}

static struct owner owner_new(const char *resource, const char *slot, const char *ns, const char *pod, const char *container)
{
    char *at = mem_alloc(strlen(resource) + strlen(slot) + strlen(ns) + strlen(pod) + strlen(container) + 5);
    struct owner o = {0};
    o.resource = (char *)put_text(&at, resource);
    o.slot = (char *)put_text(&at, slot);
    o.ns = (char *)put_text(&at, ns);
    o.pod = (char *)put_text(&at, pod);
    o.container = (char *)put_text(&at, container);
    return o;
}

static void owner_free(struct owner *o)
{
    free(o->resource);
    free(o->before);
}

static char *owner_name(const char *ns, const char *pod, const char *container)
{
    struct buf text = {0};
    buf_printf(&text, "%s/%s/%s", ns, pod, container);
    return buf_take(&text, NULL);
}

/* True when something is different from before. */
static bool owner_put(struct inventory *i, const char *resource, const char *slot, const char *ns, const char *pod,
                      const char *container, int64_t now_ms)
{
    bool is_there;
    uint32_t at = owner_place(i, resource, slot, &is_there);
    if (is_there) {
        struct owner *o = &i->owners[at];
        o->claimed_ms = now_ms;
        o->missing_ms = 0;
        if (text_equal(o->ns, ns) && text_equal(o->pod, pod) && text_equal(o->container, container))
            return false;
        struct owner changed_one = owner_new(resource, slot, ns, pod, container);
        if (!*pod)
            changed_one.before = owner_name(o->ns, o->pod, o->container);
        owner_free(o);
        *o = changed_one;
    } else {
        MEM_RESERVE(i->owners, i->owners_cap, i->owners_n + 1);
        memmove(&i->owners[at + 1], &i->owners[at], (i->owners_n - at) * sizeof *i->owners);
        i->owners[at] = owner_new(resource, slot, ns, pod, container);
        i->owners_n++;
    }
    i->owners[at].claimed_ms = now_ms;
    return true;
}

static void owner_remove(struct inventory *i, uint32_t at)
{
    owner_free(&i->owners[at]);
    i->owners_n--;
    memmove(&i->owners[at], &i->owners[at + 1], (i->owners_n - at) * sizeof *i->owners);
}

/* ---- health and intents ---- */

static struct health *health_find(struct inventory *i, const char *gpu, uint32_t gi, uint32_t ci)
{
    for (uint32_t n = 0; n < i->healths_n; n++)
        if (i->healths[n].gi == gi && i->healths[n].ci == ci && text_equal(i->healths[n].gpu, gpu))
            return &i->healths[n];
    return NULL;
}

static void health_remove(struct inventory *i, uint32_t at)
{
    i->healths_n--;
    memmove(&i->healths[at], &i->healths[at + 1], (i->healths_n - at) * sizeof *i->healths);
}

/* The state of one part; that of its smaller parts is replaced with it. Healthy parts need no entry. */
static void health_put(struct inventory *i, const struct health *new_one)
{
    for (uint32_t n = i->healths_n; n-- > 0;) {
        const struct health *h = &i->healths[n];
        bool inside = text_equal(h->gpu, new_one->gpu) && (new_one->gi == ALL || h->gi == new_one->gi) &&
                      (new_one->ci == ALL || h->ci == new_one->ci);
        if (inside)
            health_remove(i, n);
    }
    if (new_one->state == UNIT_HEALTHY && new_one->xid == 0)
        return;
    MEM_RESERVE(i->healths, i->healths_cap, i->healths_n + 1);
    i->healths[i->healths_n++] = *new_one;
}

static const struct driver_mig *find_mig(const struct driver_gpu *gpu, uint32_t gi, uint32_t ci)
{
    for (uint32_t m = 0; gpu && m < gpu->migs_n; m++)
        if (gpu->migs[m].gi == gi && gpu->migs[m].ci == ci)
            return &gpu->migs[m];
    return NULL;
}

static void intent_put(struct inventory *i, const char *key, const char *value)
{
    uint32_t at = 0;
    while (at < i->intents_n && !text_equal(i->intents[at].key, key))
        at++;
    if (at < i->intents_n) {
        free(i->intents[at].key);
        free(i->intents[at].value);
        i->intents[at] = i->intents[--i->intents_n];
    }
    if (!*value)
        return;
    MEM_RESERVE(i->intents, i->intents_cap, i->intents_n + 1);
    i->intents[i->intents_n++] = (struct intent){mem_text(key), mem_text(value)};
}

/* ---- journal ---- */

/* Fields are cut at tabs; none of ours has one (values of intents are the last field). */
static uint32_t split(char *record, const char *fields[FIELDS_MAX], uint32_t max)
{
    uint32_t n = 0;
    while (n < max) {
        fields[n++] = record;
        char *tab = n < max ? strchr(record, '\t') : NULL;
        if (!tab)
            break;
        *tab = '\0';
        record = tab + 1;
    }
    return n;
}

static bool number_of(const char *text, int64_t max, int64_t *ret_value)
{
    return bytes_int64(bytes_of(text), ret_value) && *ret_value >= 0 && *ret_value <= max;
}

static bool replay_health(struct inventory *i, const char *const *f)
{
    int64_t gi, ci, state, xid, since_ms;
    if (!number_of(f[2], ALL, &gi) || !number_of(f[3], ALL, &ci) || !number_of(f[4], UNIT_FAILED, &state) ||
        !number_of(f[5], ALL, &xid) || !number_of(f[6], INT64_MAX, &since_ms))
        return false;
    struct health h = {
        .gi = (uint32_t)gi, .ci = (uint32_t)ci, .state = (enum unit_health)state, .xid = (uint32_t)xid, .since_ms = since_ms};
    (void)snprintf(h.gpu, sizeof h.gpu, "%s", f[1]);
    (void)snprintf(h.mig, sizeof h.mig, "%s", f[7]);
    health_put(i, &h);
    return true;
}

static int replay(void *arg, struct bytes record, struct err *e)
{
    struct inventory *i = arg;
    char *copy = mem_text_n(record.data, record.n);
    const char *f[FIELDS_MAX];
    bool is_intent = text_starts(copy, "intent\t");
    uint32_t n = split(copy, f, is_intent ? 3 : FIELDS_MAX);
    bool good = true;
    if (text_equal(f[0], "health") && n == 8) {
        good = replay_health(i, f);
    } else if (text_equal(f[0], "owner") && n == 6) {
        (void)owner_put(i, f[1], f[2], f[3], f[4], f[5], loop_now_ms(i->loop));
    } else if (text_equal(f[0], "free") && n == 3) {
        bool is_there;
        uint32_t at = owner_place(i, f[1], f[2], &is_there);
        if (is_there)
            owner_remove(i, at);
    } else if (is_intent && n == 3) {
        intent_put(i, f[1], f[2]);
    } else {
        good = false;
    }
    free(copy);
    return good ? 0 : err_set(e, E_INVALID, "no record of ours");
}

static void health_record(const struct health *h, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "health\t%s\t%" PRIu32 "\t%" PRIu32 "\t%d\t%" PRIu32 "\t%" PRId64 "\t%s", h->gpu, h->gi, h->ci, (int)h->state, h->xid,
               h->since_ms, h->mig);
}

static void owner_record(const struct owner *o, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "owner\t%s\t%s\t%s\t%s\t%s", o->resource, o->slot, o->ns, o->pod, o->container);
}

static void write_all(void *arg, struct journal *j)
{
    const struct inventory *i = arg;
    struct buf record = {0};
    for (uint32_t n = 0; n < i->healths_n; n++) {
        health_record(&i->healths[n], &record);
        journal_rewrite_add(j, buf_view(&record));
    }
    for (uint32_t n = 0; n < i->owners_n; n++) {
        owner_record(&i->owners[n], &record);
        journal_rewrite_add(j, buf_view(&record));
    }
    for (uint32_t n = 0; n < i->intents_n; n++) {
        buf_clear(&record);
        buf_printf(&record, "intent\t%s\t%s", i->intents[n].key, i->intents[n].value);
        journal_rewrite_add(j, buf_view(&record));
    }
    buf_free(&record);
}

static int keep(struct inventory *i, struct bytes record, bool sync, struct err *e)
{
    if (!i->journal)
        return 0;
    int r = journal_append(i->journal, record, sync, e);
    if (r == 0 && journal_has_grown(i->journal))
        (void)journal_rewrite(i->journal, write_all, i, NULL); /* the longer file is as good; tried again at the next record */
    return r;
}

/* ---- open and close ---- */

int inventory_open(struct loop *l, const char *journal_path, struct inventory **ret_i, struct err *e)
{
    struct inventory *i = mem_zero(1, sizeof *i);
    i->loop = l;
    i->reading = empty_reading();
    i->stale = true;
    int r = journal_path ? journal_open(journal_path, replay, i, &i->cut_bytes, &i->journal, e) : 0;
    if (r < 0)
        inventory_close(i);
    else
        *ret_i = i;
    return r;
}

void inventory_close(struct inventory *i)
{
    if (!i)
        return;
    loop_forget(i->loop, on_turn_end, i);
    while (i->owners_n > 0)
        owner_remove(i, i->owners_n - 1);
    for (uint32_t n = 0; n < i->intents_n; n++) {
        free(i->intents[n].key);
        free(i->intents[n].value);
    }
    inventory_snapshot_unref(i->now);
    driver_reading_unref(i->reading);
    journal_close(i->journal);
    free(i->healths);
    free(i->owners);
    free(i->intents);
    free(i->listeners);
    free(i);
}

uint64_t inventory_cut_bytes(const struct inventory *i)
{
    return i->cut_bytes;
}

/* ---- changes ---- */

/* Health of an instance that is gone must not fall on its successor with the same number. */
static void forget_gone_instances(struct inventory *i)
{
    struct buf record = {0};
    for (uint32_t n = i->healths_n; n-- > 0;) {
        struct health h = i->healths[n];
        const struct driver_gpu *gpu = *h.mig ? driver_reading_gpu(i->reading, h.gpu) : NULL;
        const struct driver_mig *mig = find_mig(gpu, h.gi, h.ci);
        if (!gpu || gpu->lost || (mig && text_equal(mig->uuid, h.mig)))
            continue;
        health_remove(i, n);
        h.state = UNIT_HEALTHY;
        h.xid = 0;
        health_record(&h, &record);
        (void)keep(i, buf_view(&record), false, NULL); /* lost: it is forgotten again at the next start */
    }
    buf_free(&record);
}

void inventory_set_reading(struct inventory *i, const struct driver_reading *r)
{
    if (r == i->reading || (!r && i->reading->gpus_n == 0 && !*i->reading->driver_version))
        return;
    const struct driver_reading *old = i->reading;
    i->reading = r ? driver_reading_ref(r) : empty_reading();
    driver_reading_unref(old);
    if (r)
        forget_gone_instances(i);
    changed(i);
}

void inventory_set_health(struct inventory *i, const char *gpu_uuid, uint32_t gi, uint32_t ci, enum unit_health health, uint32_t xid)
{
    const struct health *old = health_find(i, gpu_uuid, gi, ci);
    if (old && old->state == health && old->xid == xid)
        return;
    struct health h = {.gi = gi, .ci = ci, .state = health, .xid = xid, .since_ms = loop_wall_ms(i->loop)};
    (void)snprintf(h.gpu, sizeof h.gpu, "%s", gpu_uuid);
    const struct driver_mig *mig = find_mig(driver_reading_gpu(i->reading, gpu_uuid), gi, ci);
    if (mig)
        (void)snprintf(h.mig, sizeof h.mig, "%s", mig->uuid);
    health_put(i, &h);
    struct buf record = {0};
    health_record(&h, &record);
    (void)keep(i, buf_view(&record), true, NULL); /* without it a restart forgets the fault; the GPU will show it again */
    buf_free(&record);
    changed(i);
}

static bool text_is_plain(const char *text)
{
    return strpbrk(text, "\t\n") == NULL;
}

int inventory_claim(struct inventory *i, const char *resource, const char *const *slots, uint32_t n, const char *ns, const char *pod,
                    const char *container, struct err *e)
{
    struct buf record = {0};
    int r = 0;
    for (uint32_t s = 0; s < n && r == 0; s++) {
        bool is_there;
        uint32_t at = owner_place(i, resource, slots[s], &is_there);
        const struct owner *o = is_there ? &i->owners[at] : NULL;
        bool same = o && text_equal(o->ns, ns) && text_equal(o->pod, pod) && text_equal(o->container, container);
        struct owner wanted = {(char *)resource, (char *)slots[s], (char *)ns, (char *)pod, (char *)container, NULL, 0, 0};
        if (!text_is_plain(resource) || !text_is_plain(slots[s]) || !text_is_plain(ns) || !text_is_plain(pod) ||
            !text_is_plain(container)) {
            r = err_set(e, E_INVALID, "a name of %s or of its pod has a tab or a line end", resource);
        } else if (!same) {
            owner_record(&wanted, &record);
            r = keep(i, buf_view(&record), false, e);
        }
        if (r == 0 && owner_put(i, resource, slots[s], ns, pod, container, loop_now_ms(i->loop)))
            changed(i);
    }
    buf_free(&record);
    return r;
}

static int owner_order(const void *a, const void *b)
{
    const struct slot_owner *const *x = a, *const *y = b;
    int c = strcmp((*x)->resource, (*y)->resource);
    return c ? c : strcmp((*x)->slot, (*y)->slot);
}

static bool names_slot(const struct slot_owner *const *sorted, uint32_t n, const struct owner *o)
{
    struct slot_owner key = {.resource = o->resource, .slot = o->slot};
    const struct slot_owner *wanted = &key;
    return n > 0 && bsearch(&wanted, sorted, n, sizeof *sorted, owner_order) != NULL;
}

static void owners_are(struct inventory *i, bool known, bool unsure)
{
    if (known && !i->owners_known)
        i->whole_ms = loop_now_ms(i->loop);
    if (i->owners_known == known && i->owners_unsure == unsure)
        return;
    i->owners_known = known;
    i->owners_unsure = unsure;
    changed(i);
}

void inventory_owners_unknown(struct inventory *i, bool unsure)
{
    owners_are(i, false, unsure);
}

/* The kubelet may not name yet whom it asked for. */
static bool claim_is_fresh(const struct inventory *i, const struct owner *o, int64_t now_ms)
{
    int64_t since_ms = o->claimed_ms > i->whole_ms ? o->claimed_ms : i->whole_ms;
    return !i->owners_known || now_ms - since_ms < CLAIM_FRESH_MS;
}

/* Not named by this list. */
static bool owner_is_gone(const struct inventory *i, struct owner *o, const struct owners_seen *seen, int64_t now_ms)
{
    if (!*o->pod)
        return seen->complete && !claim_is_fresh(i, o, now_ms);
    if (!seen->gone)
        return true;
    if (!seen->whole || !o->missing_ms)
        o->missing_ms = seen->whole ? now_ms : 0;
    const struct slot_owner it = {o->resource, o->slot, o->ns, o->pod, o->container};
    return seen->gone(seen->ctx, &it, o->missing_ms ? now_ms - o->missing_ms : 0);
}

static bool was_before(const struct owner *claim, const struct slot_owner *o)
{
    char *name = claim->before ? owner_name(o->ns, o->pod, o->container) : NULL;
    bool same = name && text_equal(name, claim->before);
    free(name);
    return same;
}

/* Which of those that a list names for one slot has it: a pod that has ended is listed until it is deleted, beside who was given its slot
 * since. NULL: whom the claim is for is not among them. */
static const struct slot_owner *owner_pick(const struct inventory *i, const struct slot_owner *const *same, uint32_t n, int64_t now_ms)
{
    bool is_there;
    uint32_t at = owner_place(i, same[0]->resource, same[0]->slot, &is_there);
    const struct owner *o = is_there ? &i->owners[at] : NULL;
    for (uint32_t k = 0; o && k < n; k++)
        if (*o->pod ? text_equal(same[k]->pod, o->pod) && text_equal(same[k]->ns, o->ns) : !was_before(o, same[k]))
            return same[k];
    return o && !*o->pod && claim_is_fresh(i, o, now_ms) ? NULL : same[0];
}

void inventory_see_owners(struct inventory *i, const struct owners_seen *seen)
{
    int64_t now_ms = loop_now_ms(i->loop);
    owners_are(i, seen->whole, !seen->whole);
    const struct slot_owner **sorted = mem_alloc((seen->n + 1) * sizeof *sorted);
    for (uint32_t k = 0; k < seen->n; k++)
        sorted[k] = &seen->owners[k];
    qsort(sorted, seen->n, sizeof *sorted, owner_order);
    for (uint32_t k = 0, same; k < seen->n; k += same) {
        for (same = 1; k + same < seen->n && owner_order(&sorted[k], &sorted[k + same]) == 0;)
            same++;
        const struct slot_owner *it = owner_pick(i, &sorted[k], same, now_ms);
        if (it)
            (void)inventory_claim(i, it->resource, &it->slot, 1, it->ns, it->pod, it->container,
                                  NULL); /* a journal that fails costs only what podresources tells again after a restart */
    }
    struct buf record = {0};
    for (uint32_t at = i->owners_n; at-- > 0;) {
        struct owner *o = &i->owners[at];
        if (names_slot(sorted, seen->n, o) || !owner_is_gone(i, o, seen, now_ms))
            continue;
        buf_clear(&record);
        buf_printf(&record, "free\t%s\t%s", o->resource, o->slot);
        owner_remove(i, at);
        (void)keep(i, buf_view(&record), false, NULL); /* as above */
        changed(i);
    }
    buf_free(&record);
    free(sorted);
}

void inventory_set_owners(struct inventory *i, const struct slot_owner *owners, uint32_t n)
{
    inventory_see_owners(i, &(struct owners_seen){.owners = owners, .n = n, .whole = true, .complete = true});
}

int inventory_intent_set(struct inventory *i, const char *key, const char *value, struct err *e)
{
    if (!text_is_plain(key))
        return err_set(e, E_INVALID, "key of an intent has a tab or a line end");
    struct buf record = {0};
    buf_printf(&record, "intent\t%s\t%s", key, value);
    int r = keep(i, buf_view(&record), true, e);
    buf_free(&record);
    if (r == 0)
        intent_put(i, key, value);
    return r;
}

const char *inventory_intent(const struct inventory *i, const char *key)
{
    for (uint32_t n = 0; n < i->intents_n; n++)
        if (text_equal(i->intents[n].key, key))
            return i->intents[n].value;
    return NULL;
}
