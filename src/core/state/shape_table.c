#include "core/state/shape_table.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include <assert.h>

#define HASH_SEED 0x6361707374616eu

void shape_table_init(struct shape_table *t)
{
    *t = (struct shape_table){.classes_n = 1, .sets_n = 1, .class_buckets_n = 256, .set_buckets_n = 256};
    MEM_RESERVE(t->classes, t->classes_cap, 1);
    MEM_RESERVE(t->sets, t->sets_cap, 1);
    t->classes[0] = (struct shape_class){0};
    t->sets[0] = (struct label_set){0};
    t->class_buckets = mem_zero(t->class_buckets_n, sizeof(uint32_t));
    t->set_buckets = mem_zero(t->set_buckets_n, sizeof(uint32_t));
}

void shape_table_fini(struct shape_table *t)
{
    for (uint32_t i = 1; i < t->classes_n; i++) {
        free(t->classes[i].words);
        free(t->classes[i].block);
        free(t->classes[i].demands);
    }
    for (uint32_t i = 1; i < t->sets_n; i++) {
        free(t->sets[i].words);
        free((void *)t->sets[i].labels.all);
    }
    free(t->classes);
    free(t->sets);
    free(t->class_buckets);
    free(t->set_buckets);
    free(t->scratch);
    *t = (struct shape_table){0};
}

/* ---- canonical words ---- */

static void word(struct shape_table *t, uint64_t value)
{
    MEM_RESERVE(t->scratch, t->scratch_cap, t->scratch_n + 1);
    t->scratch[t->scratch_n++] = value;
}

static void words_labels(struct shape_table *t, const struct label *labels, uint32_t n)
{
    word(t, n);
    for (uint32_t i = 0; i < n; i++)
        word(t, (uint64_t)labels[i].key << 32 | labels[i].value);
}

static void words_selector(struct shape_table *t, const struct selector *sel)
{
    word(t, (uint64_t)sel->all_n << 1 | sel->matches_nothing);
    for (uint32_t i = 0; i < sel->all_n; i++) {
        const struct requirement *r = &sel->all[i];
        word(t, (uint64_t)r->key << 32 | (uint64_t)r->op << 1 | r->is_field);
        word(t, (uint64_t)r->number);
        word(t, r->values_n);
        for (uint32_t v = 0; v < r->values_n; v++)
            word(t, r->values[v]);
    }
}

static void words_affinities(struct shape_table *t, const struct pod_affinity *all, uint32_t n)
{
    word(t, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct pod_affinity *a = &all[i];
        words_selector(t, &a->pods);
        word(t, (uint64_t)a->topology_key << 2 | (uint64_t)a->anti << 1 | a->all_namespaces);
        word(t, (uint64_t)a->namespaces_n << 32 | (uint32_t)a->weight);
        for (uint32_t k = 0; k < a->namespaces_n; k++)
            word(t, a->namespaces[k]);
    }
}

static void words_spreads(struct shape_table *t, const struct topology_spread *all, uint32_t n)
{
    word(t, n);
    for (uint32_t i = 0; i < n; i++) {
        words_selector(t, &all[i].pods);
        word(t, all[i].topology_key);
        word(t, (uint64_t)(uint32_t)all[i].max_skew << 32 | (uint32_t)all[i].min_domains);
    }
}

static uint64_t words_shape(struct shape_table *t, const struct shape *s)
{
    t->scratch_n = 0;
    word(t, s->requests_n);
    for (uint32_t i = 0; i < s->requests_n; i++) {
        word(t, s->requests[i].resource);
        word(t, (uint64_t)s->requests[i].value);
    }
    words_labels(t, s->node_labels, s->node_labels_n);
    word(t, s->node_terms_n);
    for (uint32_t i = 0; i < s->node_terms_n; i++)
        words_selector(t, &s->node_terms[i]);
    word(t, s->node_wishes_n);
    for (uint32_t i = 0; i < s->node_wishes_n; i++) {
        words_selector(t, &s->node_wishes[i].term);
        word(t, (uint64_t)s->node_wishes[i].weight);
    }
    word(t, s->tolerations_n);
    for (uint32_t i = 0; i < s->tolerations_n; i++) {
        const struct toleration *tol = &s->tolerations[i];
        word(t, (uint64_t)tol->key << 32 | tol->value);
        word(t, (uint64_t)tol->exists << 8 | tol->effects);
    }
    word(t, s->ports_n);
    for (uint32_t i = 0; i < s->ports_n; i++)
        word(t, (uint64_t)s->ports[i].address << 32 | (uint64_t)s->ports[i].port << 8 | s->ports[i].protocol);
    words_affinities(t, s->affinities, s->affinities_n);
    words_affinities(t, s->pod_wishes, s->pod_wishes_n);
    words_spreads(t, s->spreads, s->spreads_n);
    words_spreads(t, s->spread_wishes, s->spread_wishes_n);
    return hash_bytes(t->scratch, t->scratch_n * sizeof *t->scratch, HASH_SEED);
}

static bool same_words(const struct shape_table *t, const uint64_t *words, uint32_t words_n)
{
    return words_n == t->scratch_n && !memcmp(words, t->scratch, words_n * sizeof *words);
}

static uint64_t *scratch_copy(const struct shape_table *t)
{
    uint64_t *words = mem_alloc((t->scratch_n + 1) * sizeof *words);
    memcpy(words, t->scratch, t->scratch_n * sizeof *words);
    return words;
}

/* ---- shape classes ---- */

/* Standard resources have no '/' in their name, save hugepages and the like that carry no domain. */
static bool is_extended(const char *resource)
{
    return strchr(resource, '/') != NULL;
}

static int64_t each_of(int64_t all, uint16_t n)
{
    return n && all > 0 ? (all - 1) / n + 1 : 0;
}

/* SHAPE  requests are of all shares together. */
static void fill_share(struct shape_class *c, const struct intern *names)
{
    int64_t parts = 0, bytes = 0, memory_milli = 0, n = 1;
    for (uint32_t i = 0; i < c->shape.requests_n; i++) {
        const struct amount *r = &c->shape.requests[i];
        const char *name = intern_name(names, r->resource);
        if (strncmp(name, GPU_SHARE_PREFIX, sizeof GPU_SHARE_PREFIX - 1) != 0)
            continue;
        int64_t *to = !strcmp(name, GPU_SHARE_MILLI)          ? &parts
                      : !strcmp(name, GPU_SHARE_MEMORY)       ? &bytes
                      : !strcmp(name, GPU_SHARE_MEMORY_MILLI) ? &memory_milli
                      : !strcmp(name, GPU_SHARE_COUNT)        ? &n
                                                              : NULL;
        if (to)
            *to = r->value;
    }
    if (parts <= 0 && bytes <= 0 && memory_milli <= 0)
        return;
    c->share.n = n > LIMIT_DEVICES_PER_NODE ? LIMIT_DEVICES_PER_NODE + 1 : n < 1 ? 1 : (uint16_t)n;
    int64_t mib = each_of(each_of(bytes, c->share.n), 1 << 10); /* in two steps: of KiB, then */
    mib = each_of(mib, 1 << 10);
    parts = each_of(parts, c->share.n);
    memory_milli = each_of(memory_milli, c->share.n);
    c->share.parts = parts < SHARE_MOST ? (uint32_t)parts : SHARE_MOST;
    c->share.memory_milli = memory_milli < SHARE_MOST ? (uint32_t)memory_milli : SHARE_MOST;
    c->share.memory_mib = mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX;
}

/* ORDER  the requests are sorted by number, which is another one after a restart: what is decided and told goes by text. */
static bool is_before(const struct intern *names, name_id a, name_id b)
{
    return strcmp(intern_name(names, a), intern_name(names, b)) < 0;
}

/* Behind the first one, pods, among those that are there. */
static uint32_t make_room(struct shape_class *c, const struct intern *names, name_id resource)
{
    uint32_t at = c->demands_n++;
    for (; at > 1 && is_before(names, resource, c->demands[at - 1].resource); at--)
        c->demands[at] = c->demands[at - 1];
    return at;
}

static void fill_demands(struct shape_class *c, struct node_table *nodes, const struct intern *names)
{
    c->demands = mem_zero(c->shape.requests_n + 1, sizeof *c->demands);
    c->demands[0] = (struct demand){.column = 0, .resource = nodes->columns[0], .value = 1};
    c->demands_n = 1;
    c->device_demand = -1;
    for (uint32_t i = 0; i < c->shape.requests_n; i++) {
        const struct amount *r = &c->shape.requests[i];
        if (r->value <= 0 || r->resource == nodes->columns[0])
            continue;
        c->demands[make_room(c, names, r->resource)] =
            (struct demand){.column = node_table_find_column(nodes, r->resource), .resource = r->resource,
                            .extended = is_extended(intern_name(names, r->resource)), .value = r->value};
    }
    for (uint32_t i = c->demands_n; i-- > 1;) {
        c->absent_n += c->demands[i].column < 0;
        c->extended_n += c->demands[i].extended;
        c->device_demand = c->demands[i].extended ? (int32_t)i : c->device_demand;
    }
    fill_share(c, names);
}

static void grow_class_buckets(struct shape_table *t)
{
    t->class_buckets_n *= 2;
    free(t->class_buckets);
    t->class_buckets = mem_zero(t->class_buckets_n, sizeof(uint32_t));
    for (uint32_t i = 1; i < t->classes_n; i++) {
        if (!t->classes[i].refs)
            continue;
        uint32_t *bucket = &t->class_buckets[t->classes[i].hash & (t->class_buckets_n - 1)];
        t->classes[i].next = *bucket;
        *bucket = i;
    }
}

static uint32_t class_slot(struct shape_table *t)
{
    uint32_t id = t->class_hole;
    if (id) {
        t->class_hole = t->classes[id].next;
        return id;
    }
    MEM_RESERVE(t->classes, t->classes_cap, t->classes_n + 1);
    return t->classes_n++;
}

uint32_t shape_class_id(struct shape_table *t, struct node_table *nodes, const struct shape *shape, const struct intern *names)
{
    uint64_t hash = words_shape(t, shape);
    for (uint32_t id = t->class_buckets[hash & (t->class_buckets_n - 1)]; id; id = t->classes[id].next) {
        struct shape_class *c = &t->classes[id];
        if (c->hash == hash && same_words(t, c->words, c->words_n)) {
            c->refs++;
            return id;
        }
    }
    if (++t->classes_live_n > t->class_buckets_n)
        grow_class_buckets(t);
    uint32_t id = class_slot(t);
    struct shape_class *c = &t->classes[id];
    *c = (struct shape_class){.refs = 1, .hash = hash, .words_n = (uint32_t)t->scratch_n, .words = scratch_copy(t)};
    struct shape bare = *shape;
    bare.labels_n = 0;
    bare.ns = 0;
    struct bump b = {0};
    bump_shape(&b, &bare, &c->shape);
    c->block = mem_alloc(b.n + 1);
    b = (struct bump){.base = c->block};
    bump_shape(&b, &bare, &c->shape);
    fill_demands(c, nodes, names);
    for (uint32_t i = 0; i < c->shape.affinities_n; i++)
        c->anti |= c->shape.affinities[i].anti;
    c->neighbours = c->shape.affinities_n || c->shape.spreads_n;
    c->neighbour_wishes = c->shape.pod_wishes_n || c->shape.spread_wishes_n;
    uint32_t *bucket = &t->class_buckets[hash & (t->class_buckets_n - 1)];
    c->next = *bucket;
    *bucket = id;
    return id;
}

void shape_class_ref(struct shape_table *t, uint32_t id)
{
    if (id)
        t->classes[id].refs++;
}

bool shape_class_unref(struct shape_table *t, uint32_t id)
{
    if (!id || --t->classes[id].refs)
        return false;
    struct shape_class *c = &t->classes[id];
    uint32_t *link = &t->class_buckets[c->hash & (t->class_buckets_n - 1)];
    while (*link != id)
        link = &t->classes[*link].next;
    *link = c->next;
    free(c->words);
    free(c->block);
    free(c->demands);
    *c = (struct shape_class){.next = t->class_hole};
    t->class_hole = id;
    t->classes_live_n--;
    return true;
}

/* ---- label sets ---- */

static void grow_set_buckets(struct shape_table *t)
{
    t->set_buckets_n *= 2;
    free(t->set_buckets);
    t->set_buckets = mem_zero(t->set_buckets_n, sizeof(uint32_t));
    for (uint32_t i = 1; i < t->sets_n; i++) {
        if (!t->sets[i].refs)
            continue;
        uint32_t *bucket = &t->set_buckets[t->sets[i].hash & (t->set_buckets_n - 1)];
        t->sets[i].next = *bucket;
        *bucket = i;
    }
}

uint32_t label_set_id(struct shape_table *t, name_id ns, const struct label *labels, uint32_t labels_n)
{
    t->scratch_n = 0;
    word(t, ns);
    words_labels(t, labels, labels_n);
    uint64_t hash = hash_bytes(t->scratch, t->scratch_n * sizeof *t->scratch, HASH_SEED);
    for (uint32_t id = t->set_buckets[hash & (t->set_buckets_n - 1)]; id; id = t->sets[id].next) {
        if (t->sets[id].hash == hash && same_words(t, t->sets[id].words, t->sets[id].words_n)) {
            t->sets[id].refs++;
            return id;
        }
    }
    if (++t->sets_live_n > t->set_buckets_n)
        grow_set_buckets(t);
    uint32_t id = t->set_hole;
    if (id) {
        t->set_hole = t->sets[id].next;
    } else {
        MEM_RESERVE(t->sets, t->sets_cap, t->sets_n + 1);
        id = t->sets_n++;
    }
    struct label *copy = mem_alloc((labels_n + 1) * sizeof *copy);
    if (labels_n)
        memcpy(copy, labels, labels_n * sizeof *copy);
    uint32_t *bucket = &t->set_buckets[hash & (t->set_buckets_n - 1)];
    t->sets[id] = (struct label_set){.refs = 1, .words_n = (uint32_t)t->scratch_n, .next = *bucket, .hash = hash,
                                     .words = scratch_copy(t), .ns = ns, .labels = {copy, labels_n}};
    *bucket = id;
    return id;
}

void label_set_ref(struct shape_table *t, uint32_t id)
{
    if (id)
        t->sets[id].refs++;
}

void label_set_unref(struct shape_table *t, uint32_t id)
{
    if (!id || --t->sets[id].refs)
        return;
    struct label_set *set = &t->sets[id];
    uint32_t *link = &t->set_buckets[set->hash & (t->set_buckets_n - 1)];
    while (*link != id)
        link = &t->sets[*link].next;
    *link = set->next;
    free(set->words);
    free((void *)set->labels.all);
    *set = (struct label_set){.next = t->set_hole};
    t->set_hole = id;
    t->sets_live_n--;
}
