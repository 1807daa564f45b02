/* WHY    Objects of a kind stand in one sorted array of pointers: 10,000 pods move 80 KB at worst for one insert, and names of one
 *        controller are mostly appended. Reading needs no file; the file is written once in a few turns and read once at start.
 * OWNER  a key (ns, name) is shared by the entry, the pending change and the events of the ring, and counted.
 */
#include "apiserver/store/store.h"

#include <assert.h>
#include <stdio.h>

#include "apiserver/store/store_file.h"
#include "apiserver/store/store_parts.h"
#include "base/collections/map.h"
#include "base/log.h"

#define TURNS_PER_COMMIT 3 /* where somebody looks ahead; else 1 */
#define BESIDE_MIN 4       /* changes; fewer are written before the thread would be awake */

struct store_cursor {
    struct store *store;
    struct kind_data *kind;
    char *ns; /* NULL = all */
    size_t at;
    uint64_t changes;
    struct ring_key *last;
};

static struct blob *blob_ref_or_null(struct blob *b)
{
    return b ? blob_ref(b) : NULL;
}

static int key_compare(const char *ns, const char *name, const struct entry *b)
{
    int c = strcmp(ns, b->o.ns);
    return c ? c : strcmp(name, b->o.name);
}

/* Index of the first entry >= (ns, name); *ret_found when equal. */
static size_t entry_place(const struct kind_data *k, const char *ns, const char *name, bool *ret_found)
{
    size_t low = 0, high = k->n;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = key_compare(ns, name, k->entries[middle]);
        if (c == 0) {
            *ret_found = true;
            return middle;
        }
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct entry *entry_find(struct kind_data *k, const char *ns, const char *name)
{
    struct entry *x = k->looked_at;
    if (!x || strcmp(name, x->o.name) != 0 || strcmp(ns, x->o.ns) != 0)
        x = entry_table_find(&k->by_name, ns, name);
    if (x)
        k->looked_at = x;
    return x;
}

/* Where a new one belongs. WHY from the end on: most names count up, made by several clients at once. */
static size_t insert_place(const struct kind_data *k, const char *ns, const char *name)
{
    size_t high = k->n, low = high;
    for (size_t step = 1; low > 0; step *= 2) {
        low = low > step ? low - step : 0;
        if (key_compare(ns, name, k->entries[low]) > 0)
            break;
        high = low;
    }
    while (low < high) { /* before `high`, and not before `low` */
        size_t middle = low + (high - low) / 2;
        if (key_compare(ns, name, k->entries[middle]) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Takes over the key's and the body's reference. */
static struct entry *entry_insert(struct kind_data *k, struct ring_key *key, uint64_t rv, int64_t row_id, struct blob *body)
{
    size_t at = insert_place(k, key->ns, key->name);
    struct entry *x = mem_alloc(sizeof *x);
    *x = (struct entry){.o = {key->ns, key->name, rv, body}, .key = key, .row_id = row_id};
    MEM_RESERVE(k->entries, k->cap, k->n + 1);
    memmove(k->entries + at + 1, k->entries + at, (k->n - at) * sizeof *k->entries);
    k->entries[at] = x;
    k->n++;
    k->changes++;
    entry_table_add(&k->by_name, x);
    return x;
}

static void entry_remove(struct kind_data *k, const char *ns, const char *name)
{
    bool found;
    size_t at = entry_place(k, ns, name, &found);
    assert(found);
    struct entry *x = k->entries[at];
    k->n--;
    memmove(k->entries + at, k->entries + at + 1, (k->n - at) * sizeof *k->entries);
    k->changes++;
    k->looked_at = NULL;
    entry_table_remove(&k->by_name, x);
    blob_unref(x->o.body);
    ring_key_unref(x->key);
    free(x);
}

static struct kind_data *kind_add(struct store *s, uint32_t id, const char *name, bool stored)
{
    MEM_RESERVE(s->kinds, s->kinds_cap, id);
    while (s->kinds_n < id)
        s->kinds[s->kinds_n++] = NULL;
    struct kind_data *k = mem_zero(1, sizeof *k);
    k->id = id;
    k->name = mem_text(name);
    k->stored = stored;
    k->ring.dropped_rv = s->committed_rv;
    s->kinds[id - 1] = k;
    *(uint32_t *)map_put(s->kind_ids, bytes_of(name), NULL) = id;
    return k;
}

static void load_kind(void *arg, uint32_t id, const char *name)
{
    struct store *s = arg;
    if (id >= 1 && id < 100000 && (id > s->kinds_n || !s->kinds[id - 1]))
        (void)kind_add(s, id, name, true);
}

static int load_object(void *arg, const struct store_row *row, struct err *e)
{
    struct store *s = arg;
    bool known = row->kind >= 1 && row->kind <= s->kinds_n && s->kinds[row->kind - 1];
    if (!known || !row->ns || !row->name || row->body.n < 2 || row->body.data[0] != '{')
        return err_set(e, E_IO,
                       "row %lld of table object is damaged: move the file away to start empty, or put a copy back",
                       (long long)row->id);
    (void)entry_insert(s->kinds[row->kind - 1], ring_key_new(row->ns, row->name), row->rv, row->id,
                 blob_new(row->body.data, row->body.n));
    return 0;
}

static void flight_write(void *arg);
static void flight_landed(void *arg);

int store_open(struct loop *l, const char *dir, struct store **ret_s, struct err *e)
{
    struct store *s = mem_zero(1, sizeof *s);
    s->loop = l;
    s->kind_ids = map_new(sizeof(uint32_t));
    if (dir) {
        struct store_file_load load = {load_kind, load_object, s};
        int r = store_file_open(dir, &load, &s->rv, &s->file, e);
        if (r < 0) {
            store_close(s);
            return r;
        }
    }
    /* ORDER ids in the file are dense unless it was written by somebody else: fill what is missing so that every id
     * resolves. */
    for (size_t i = 0; i < s->kinds_n; i++)
        if (!s->kinds[i]) {
            char name[32];
            snprintf(name, sizeof name, "?/%zu", i);
            (void)kind_add(s, (uint32_t)i + 1, name, true);
        }
    if (s->file && !loop_is_virtual(l))
        s->writer = store_writer_new(l, flight_write, flight_landed, s);
    s->rv += s->rv ? STORE_START_JUMP : 0;
    s->committed_rv = s->rv;
    for (size_t i = 0; i < s->kinds_n; i++)
        s->kinds[i]->ring.dropped_rv = s->rv;
    *ret_s = s;
    return 0;
}

uint32_t store_kind(struct store *s, const char *group, const char *plural)
{
    char room[128];
    size_t group_n = strlen(group), plural_n = strlen(plural);
    _cleanup_buf_ struct buf name = {0};
    if (group_n + plural_n + 2 <= sizeof room) { /* every request asks */
        memcpy(room, group, group_n);
        room[group_n] = '/';
        memcpy(room + group_n + 1, plural, plural_n);
        uint32_t *known = map_find(s->kind_ids, (struct bytes){room, group_n + 1 + plural_n});
        if (known)
            return *known;
    }
    buf_printf(&name, "%s/%s", group, plural);
    uint32_t *id = map_find(s->kind_ids, buf_view(&name));
    return id ? *id : kind_add(s, (uint32_t)s->kinds_n + 1, name.data, false)->id;
}

const char *store_kind_name(const struct store *s, uint32_t kind)
{
    return kind_data(s, kind)->name;
}

uint64_t store_rv(const struct store *s)
{
    return s->rv;
}

bool store_dirty(const struct store *s)
{
    return store_uncommitted_n(s) > 0;
}

uint64_t store_next_rv(struct store *s)
{
    return ++s->rv;
}

const struct store_object *store_get(const struct store *s, uint32_t kind, const char *ns, const char *name)
{
    struct entry *x = entry_find(kind_data(s, kind), ns, name);
    return x ? &x->o : NULL;
}

size_t store_count(const struct store *s, uint32_t kind)
{
    return kind_data(s, kind)->n;
}

/* ---- writing ---- */

/* Rings hold too much: the largest gives. */
static void rings_shrink(struct store *s)
{
    struct ring *largest = NULL;
    for (size_t i = 0; i < s->kinds_n; i++) {
        struct ring *r = &s->kinds[i]->ring;
        size_t min = s->rings_bytes > RING_BYTES_HARD ? RING_LARGE_MIN : RING_EVENTS_MIN;
        if (ring_count(r) > min && (!largest || r->bytes > largest->bytes))
            largest = r;
    }
    if (largest)
        ring_shrink(largest, &s->rings_bytes);
}

static void rings_add(struct store *s, struct change *changes, size_t n)
{
    int64_t now_ms = loop_now_ms(s->loop);
    for (size_t i = 0; i < n; i++) {
        struct ring_event copy = ring_event_copy(&changes[i].e);
        copy.at_ms = now_ms;
        assert(changes[i].seq == changes[i].kind->ring.next_seq);
        ring_add(&changes[i].kind->ring, copy, &s->rings_bytes);
        changes[i].kind->uncommitted_n--;
        s->committed_rv = copy.event.rv > s->committed_rv ? copy.event.rv : s->committed_rv;
        if (s->rings_bytes > RING_BYTES_MAX)
            rings_shrink(s);
    }
    if (n) /* one other ring a commit: quiet kinds give back what is old, too */
        ring_age(&s->kinds[s->batch % s->kinds_n]->ring, now_ms, &s->rings_bytes);
}

/* Take one change back: memory as it was before. */
static void change_undo(struct change *c)
{
    const struct store_event *v = &c->e.event;
    if (v->type == STORE_ADDED) {
        entry_remove(c->kind, v->ns, v->name);
    } else if (v->type == STORE_DELETED) {
        (void)entry_insert(c->kind, ring_key_ref(c->e.key), c->old_rv, c->row_id, blob_ref(v->old));
    } else {
        struct entry *x = entry_find(c->kind, v->ns, v->name);
        blob_unref(x->o.body);
        x->o.body = blob_ref(v->old);
        x->o.rv = c->old_rv;
    }
    ring_event_release(&c->e);
}

static int change_write(struct store *s, const struct change *c, struct err *e)
{
    const struct store_event *v = &c->e.event;
    if (c->is_superseded)
        return 0;
    if (!c->kind->stored) {
        int r = store_file_kind(s->file, c->kind->id, c->kind->name, e);
        if (r < 0)
            return r;
        c->kind->stored = true;
    }
    if (v->type == STORE_DELETED)
        return store_file_remove(s->file, c->row_id, e);
    struct store_row row = {c->row_id, c->kind->id, v->ns, v->name, v->rv, {v->body->data, v->body->n}};
    return store_file_put(s->file, &row, e);
}

static int flight_put(struct store *s, struct err *e)
{
    int r = store_file_begin(s->file, e);
    for (size_t i = 0; r == 0 && i < s->flight.n; i++)
        r = change_write(s, &s->flight.changes[i], e);
    return r < 0 ? r : store_file_commit(s->file, s->flight_rv, e);
}

/* RACE  on the writer's thread, when there is one. */
static void flight_write(void *arg)
{
    struct store *s = arg;
    s->flight_error = (struct err){0};
    if (s->file && s->flight.n && flight_put(s, &s->flight_error) < 0)
        store_file_rollback(s->file);
}

static void batch_undo(struct batch *b)
{
    while (b->n) {
        struct change *c = &b->changes[--b->n];
        c->kind->stored = false; /* its row may have been part of what was rolled back; writing it again does no harm */
        c->kind->uncommitted_n--;
        change_undo(c);
    }
}

/* What was written since is taken back as well: it may follow from what was not to be. */
static void flight_undo(struct store *s)
{
    s->first += store_uncommitted_n(s);
    batch_undo(&s->pending);
    batch_undo(&s->flight);
    store_ahead_lose(s);
    if (s->on_change.fn)
        s->on_change.fn(s->on_change.arg, 0, NULL);
}

static void observers_tell(struct store *s, const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < s->observers_n; j++)
            s->observers[j].fn(s->observers[j].arg, b->changes[i].kind->id, &b->changes[i].e.event);
}

static struct batch batch_take(struct batch *b)
{
    struct batch taken = *b;
    *b = (struct batch){0};
    return taken;
}

/* Tells who waits for it and releases it. */
static void batch_end(struct batch *b, bool ok)
{
    for (size_t i = 0; i < b->durables_n; i++)
        b->durables[i].fn(b->durables[i].arg, ok);
    free(b->durables);
    b->durables = NULL;
}

static void batch_free(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        ring_event_release(&b->changes[i].e);
    free(b->changes);
}

static void commit_ask(void *arg);

/* RACE  callbacks may write again: what they write is a new batch, committed at the end of the same turn or later. */
static void flight_landed(void *arg)
{
    struct store *s = arg;
    bool ok = s->flight_error.code == 0, flew = s->is_flying;
    struct batch lost = {0};
    s->is_flying = false;
    if (!ok) {
        log_error("the store could not commit, the last writes are refused error=\"%s\"", s->flight_error.text);
        flight_undo(s);
        lost = batch_take(&s->pending);
        s->told_n = s->turns_n = 0;
        s->batch++; /* no change that is to come follows one of those */
    }
    struct batch done = batch_take(&s->flight);
    s->first += done.n;
    rings_add(s, done.changes, done.n);
    batch_end(&done, ok);
    batch_end(&lost, ok);
    for (size_t i = 0; i < done.n; i++)
        if (done.changes[i].kind->woken_batch != s->batch) {
            done.changes[i].kind->woken_batch = s->batch;
            (void)store_watches_wake(done.changes[i].kind, false); /* who looks ahead has been */
        }
    observers_tell(s, &done);
    batch_free(&done);
    batch_free(&lost);
    if (!s->pending.n && !s->pending.durables_n)
        return;
    s->turns_n = flew ? TURNS_PER_COMMIT - 1 : s->turns_n; /* it has waited */
    commit_ask(s);
}

static void commit(struct store *s)
{
    s->flight = batch_take(&s->pending);
    s->flight_rv = s->rv;
    s->told_n = s->turns_n = 0;
    s->batch++;
    s->is_flying = s->writer && s->flight.n >= BESIDE_MIN;
    if (s->is_flying) {
        store_writer_start(s->writer);
        return;
    }
    flight_write(s);
    flight_landed(s);
}

static void turn_ended(void *arg);

static void commit_ask(void *arg)
{
    struct store *s = arg;
    loop_at_turn_end(s->loop, turn_ended, s);
}

/* WHY  a pod that was made is seen in the second turn and bound in the third: its row is written once then. */
static void turn_ended(void *arg)
{
    struct store *s = arg;
    bool looked_at = store_ahead_tell(s);
    if (s->is_flying)
        return; /* it asks again when it has landed */
    if ((looked_at || s->turns_n) && s->turns_n < TURNS_PER_COMMIT - 1) {
        s->turns_n++;
        loop_defer(s->loop, commit_ask, s);
        return;
    }
    commit(s);
}

/* Takes over the references in c. */
static void pending_add(struct store *s, struct change c)
{
    struct batch *b = &s->pending;
    c.seq = c.kind->ring.next_seq + c.kind->uncommitted_n++;
    MEM_RESERVE(b->changes, b->cap, b->n + 1);
    b->changes[b->n++] = c;
    commit_ask(s);
    if (s->on_change.fn)
        s->on_change.fn(s->on_change.arg, c.kind->id, &c.e.event);
}

static struct change change_new(struct kind_data *k, enum store_event_type type, struct ring_key *key, uint64_t rv,
                                struct blob *body, struct blob *old)
{
    return (struct change){
        .kind = k, .e = {{type, rv, key->ns, key->name, blob_ref_or_null(body), blob_ref_or_null(old)}, ring_key_ref(key)}};
}

/* x changes, or goes, by the change that is added next: it writes the row, and not the one before. */
static void change_follows(struct store *s, struct entry *x)
{
    if (x->change_n && x->change_batch == (uint32_t)s->batch)
        s->pending.changes[x->change_n - 1].is_superseded = true;
    x->change_n = (uint32_t)s->pending.n + 1;
    x->change_batch = (uint32_t)s->batch;
}

int store_create(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t rv, struct blob *body,
                 struct err *e)
{
    struct kind_data *k = kind_data(s, kind);
    if (entry_find(k, ns, name))
        return err_set(e, E_EXISTS, "%s %s/%s exists", k->name, ns, name);
    struct ring_key *key = ring_key_new(ns, name);
    struct entry *x = entry_insert(k, key, rv, (int64_t)rv, blob_ref(body));
    struct change c = change_new(k, STORE_ADDED, key, rv, body, NULL);
    c.row_id = (int64_t)rv;
    change_follows(s, x);
    pending_add(s, c);
    return 0;
}

static int entry_expect(struct kind_data *k, const char *ns, const char *name, uint64_t expect_rv, struct entry **ret_x,
                        struct err *e)
{
    struct entry *x = entry_find(k, ns, name);
    if (!x)
        return err_set(e, E_NOTFOUND, "%s %s/%s does not exist", k->name, ns, name);
    if (expect_rv && x->o.rv != expect_rv)
        return err_set(e, E_CONFLICT, "%s %s/%s has resourceVersion %llu, not %llu", k->name, ns, name,
                       (unsigned long long)x->o.rv, (unsigned long long)expect_rv);
    *ret_x = x;
    return 0;
}

int store_update(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t expect_rv, uint64_t rv,
                 struct blob *body, struct err *e)
{
    struct kind_data *k = kind_data(s, kind);
    struct entry *x = NULL;
    int r = entry_expect(k, ns, name, expect_rv, &x, e);
    if (r < 0)
        return r;
    struct change c = change_new(k, STORE_MODIFIED, x->key, rv, body, x->o.body);
    c.row_id = x->row_id;
    c.old_rv = x->o.rv;
    change_follows(s, x);
    blob_unref(x->o.body);
    x->o.body = blob_ref(body);
    x->o.rv = rv;
    pending_add(s, c);
    return 0;
}

int store_delete(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t expect_rv, uint64_t rv,
                 struct blob *last_body, struct err *e)
{
    struct kind_data *k = kind_data(s, kind);
    struct entry *x = NULL;
    int r = entry_expect(k, ns, name, expect_rv, &x, e);
    if (r < 0)
        return r;
    struct change c = change_new(k, STORE_DELETED, x->key, rv, last_body, x->o.body);
    c.row_id = x->row_id;
    c.old_rv = x->o.rv;
    change_follows(s, x);
    entry_remove(k, c.e.event.ns, c.e.event.name);
    pending_add(s, c);
    return 0;
}

void store_when_durable(struct store *s, void (*fn)(void *arg, bool ok), void *arg)
{
    struct batch *b = &s->pending;
    MEM_RESERVE(b->durables, b->durables_cap, b->durables_n + 1);
    b->durables[b->durables_n++] = (struct durable){fn, arg};
    commit_ask(s);
}

void store_on_change(struct store *s, void (*fn)(void *arg, uint32_t kind, const struct store_event *event), void *arg)
{
    s->on_change = (struct observer){fn, arg};
}

void store_observe(struct store *s, void (*fn)(void *arg, uint32_t kind, const struct store_event *event), void *arg)
{
    MEM_RESERVE(s->observers, s->observers_cap, s->observers_n + 1);
    s->observers[s->observers_n++] = (struct observer){fn, arg};
}

void store_close(struct store *s)
{
    if (!s)
        return;
    s->observers_n = 0; /* they are going as well */
    s->on_change.fn = NULL;
    store_writer_free(s->writer); /* lands what flies */
    s->writer = NULL;
    while (s->pending.n || s->pending.durables_n)
        commit(s);
    loop_forget(s->loop, turn_ended, s);
    loop_forget(s->loop, commit_ask, s);
    store_file_close(s->file);
    for (size_t i = 0; i < s->kinds_n; i++) {
        struct kind_data *k = s->kinds[i];
        if (!k)
            continue;
        while (k->n)
            entry_remove(k, k->entries[k->n - 1]->o.ns, k->entries[k->n - 1]->o.name);
        ring_clear(&k->ring, &s->rings_bytes);
        free(k->entries);
        entry_table_fini(&k->by_name);
        free(k->name);
        free(k);
    }
    free(s->kinds);
    free(s->observers);
    map_free(s->kind_ids);
    free(s);
}

/* ---- reading in order ---- */

struct store_cursor *store_list(struct store *s, uint32_t kind, const char *ns, const char *after)
{
    struct store_cursor *c = mem_zero(1, sizeof *c);
    c->store = s;
    c->kind = kind_data(s, kind);
    c->ns = mem_text(ns);
    c->changes = c->kind->changes;
    bool found;
    if (after) {
        const char *slash = strchr(after, '/');
        char *after_ns = slash ? mem_text_n(after, (size_t)(slash - after)) : mem_text("");
        c->last = ring_key_new(after_ns, slash ? slash + 1 : after);
        free(after_ns);
        c->changes = c->kind->changes - 1; /* look up the place on the first call */
    } else if (ns) {
        c->at = entry_place(c->kind, ns, "", &found);
    }
    return c;
}

const struct store_object *store_list_next(struct store_cursor *c)
{
    if (c->changes != c->kind->changes) {
        bool found = false;
        c->at = c->last ? entry_place(c->kind, c->last->ns, c->last->name, &found)
                        : entry_place(c->kind, c->ns ? c->ns : "", "", &found);
        c->at += c->last && found;
        c->changes = c->kind->changes;
    }
    if (c->at >= c->kind->n)
        return NULL;
    struct entry *x = c->kind->entries[c->at];
    if (c->ns && strcmp(c->ns, x->o.ns) != 0)
        return NULL;
    c->at++;
    ring_key_unref(c->last);
    c->last = ring_key_ref(x->key);
    return &x->o;
}

void store_list_free(struct store_cursor *c)
{
    if (!c)
        return;
    ring_key_unref(c->last);
    free(c->ns);
    free(c);
}

/* Key text of the overlay; names hold no '/'. */
static void overlay_put(struct map *overlay, struct buf *key, const struct ring_event *e)
{
    buf_clear(key);
    buf_printf(key, "%s/%s", e->event.ns, e->event.name);
    *(const struct ring_event **)map_put(overlay, buf_view(key), NULL) =
        e; /* called newest first: the oldest change wins */
}

static int object_compare(const void *a, const void *b)
{
    const struct store_object *x = a, *y = b;
    int c = strcmp(x->ns, y->ns);
    return c ? c : strcmp(x->name, y->name);
}

struct snapshot {
    struct arena *arena;
    struct store_object *items;
    size_t n;
    const char *ns, *after;
};

static void snapshot_add(struct snapshot *x, const char *ns, const char *name, uint64_t rv, struct blob *body)
{
    struct store_object o = {arena_text(x->arena, ns), arena_text(x->arena, name), rv, body};
    if (x->ns && strcmp(x->ns, ns) != 0)
        return;
    if (x->after) {
        const char *slash = strchr(x->after, '/');
        struct store_object last = {arena_text_n(x->arena, x->after, (size_t)(slash - x->after)), slash + 1, 0, NULL};
        if (object_compare(&o, &last) <= 0)
            return;
    }
    blob_ref(body);
    x->items[x->n++] = o;
}

int store_snapshot(struct store *s, uint32_t kind, const char *ns, const char *after, uint64_t rv, struct arena *a,
                   struct store_object **ret_items, size_t *ret_n, struct err *e)
{
    struct kind_data *k = kind_data(s, kind);
    if (rv < k->ring.dropped_rv)
        return err_set(e, E_GONE, "too old resource version: %llu (%llu)", (unsigned long long)rv,
                       (unsigned long long)k->ring.dropped_rv);
    struct map *overlay = map_new(sizeof(struct ring_event *));
    _cleanup_buf_ struct buf key = {0};
    for (size_t i = store_uncommitted_n(s); i-- > 0;)
        if (store_uncommitted(s, i)->kind == k && store_uncommitted(s, i)->e.event.rv > rv)
            overlay_put(overlay, &key, &store_uncommitted(s, i)->e);
    for (uint64_t seq = k->ring.next_seq; seq-- > k->ring.first_seq && ring_at(&k->ring, seq)->event.rv > rv;)
        overlay_put(overlay, &key, ring_at(&k->ring, seq));
    struct snapshot x = {a, arena_alloc(a, (k->n + map_count(overlay) + 1) * sizeof *x.items), 0, ns, after};
    for (size_t i = 0; i < k->n; i++) {
        const struct entry *entry = k->entries[i];
        buf_clear(&key);
        buf_printf(&key, "%s/%s", entry->o.ns, entry->o.name);
        if (!map_count(overlay) || !map_find(overlay, buf_view(&key)))
            snapshot_add(&x, entry->o.ns, entry->o.name, entry->o.rv, entry->o.body);
    }
    size_t at = 0;
    const struct ring_event **old;
    while ((old = map_next(overlay, &at, NULL)))
        if ((*old)->event.old)
            snapshot_add(&x, (*old)->event.ns, (*old)->event.name, 0, (*old)->event.old);
    map_free(overlay);
    qsort(x.items, x.n, sizeof *x.items, object_compare);
    *ret_items = x.items;
    *ret_n = x.n;
    return 0;
}
