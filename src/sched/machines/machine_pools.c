/* machine_pools.c - see machine_pools.h */
#include "sched/machines/machine_pools.h"
#include <stdlib.h>
#include <string.h>
#include "base/amount.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/quantity.h"
#include "kube/object.h"

/* ---- small parts ---- */

/* False: it is no amount of anything. */
static bool read_milli(const struct json *amount, int64_t *ret_milli)
{
    struct quantity q;
    if (!amount || quantity_parse(json_bytes(amount), &q, NULL) < 0)
        return false;
    *ret_milli = quantity_milli(q);
    return true;
}

int64_t machine_amount_of(const struct machine_amounts *x, const char *resource)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (strcmp(x->all[i].resource, resource) == 0)
            return x->all[i].milli;
    return -1;
}

static uint32_t counted(const struct json *list)
{
    return json_is(list, JSON_ARRAY) || json_is(list, JSON_OBJECT) ? list->n : 0;
}

/* ---- pools ---- */

static bool op_of(const char *text, enum requirement_op *ret_op)
{
    static const char *const names[] = {
        [REQUIRE_IN] = "In",      [REQUIRE_NOT_IN] = "NotIn", [REQUIRE_EXISTS] = "Exists", [REQUIRE_NOT_EXISTS] = "DoesNotExist",
        [REQUIRE_GREATER] = "Gt", [REQUIRE_LESS] = "Lt"};
    for (int i = 0; i < 6; i++)
        if (strcmp(names[i], text) == 0) {
            *ret_op = (enum requirement_op)i;
            return true;
        }
    return false;
}

/* Newer words for numbers say the same with the next number. */
static const char *plain_op(const char *text, int64_t *ret_shift)
{
    *ret_shift = strcmp(text, "Gte") == 0 ? -1 : strcmp(text, "Lte") == 0 ? 1 : 0;
    return *ret_shift < 0 ? "Gt" : *ret_shift > 0 ? "Lt" : text;
}

/* False: it is not understood. */
static bool read_requirement(struct arena *a, const struct json *from, struct machine_requirement *to)
{
    int64_t shift;
    const struct json *values = json_get(from, "values");
    const char *op = plain_op(json_get_text(from, "operator", ""), &shift), *key = json_get_text(from, "key", "");
    if (!*key || !op_of(op, &to->op) || counted(values) > MACHINE_TERMS)
        return false;
    to->key = arena_text(a, key);
    to->values = arena_alloc(a, (counted(values) + 1) * sizeof *to->values);
    JSON_EACH (value, json_is(values, JSON_ARRAY) ? values : NULL)
        to->values[to->values_n++] = arena_text(a, json_text(value, ""));
    if (to->op != REQUIRE_GREATER && to->op != REQUIRE_LESS)
        return true;
    bool is_number =
        to->values_n == 1 && bytes_int64(bytes_of(to->values[0]), &to->number) && to->number < INT64_MAX && to->number > INT64_MIN;
    to->number += is_number ? shift : 0;
    return is_number;
}

static void add_labels(struct machine_pool *p, const struct json *labels)
{
    JSON_EACH (label, json_is(labels, JSON_OBJECT) ? labels : NULL) {
        struct machine_requirement *r = &p->requirements[p->requirements_n++];
        *r = (struct machine_requirement){.key = arena_text(p->arena, label->key), .op = REQUIRE_IN, .values_n = 1};
        r->values = arena_alloc(p->arena, sizeof *r->values);
        r->values[0] = arena_text(p->arena, json_text(label, ""));
    }
}

static void read_requirements(struct machine_pool *p, const struct json *template)
{
    const struct json *all = json_path(template, "spec", "requirements", NULL), *labels = json_path(template, "metadata", "labels", NULL);
    if (counted(all) > MACHINE_TERMS || counted(labels) > MACHINE_TERMS) {
        p->unread = true;
        return;
    }
    p->requirements = arena_zero(p->arena, counted(all) + counted(labels) + 1, sizeof *p->requirements);
    add_labels(p, labels);
    JSON_EACH (one, json_is(all, JSON_ARRAY) ? all : NULL) {
        struct machine_requirement r = {0};
        if (read_requirement(p->arena, one, &r))
            p->requirements[p->requirements_n++] = r; /* one that is not understood demands nothing */
    }
}

static void read_taints(struct machine_pool *p, const struct json *taints)
{
    p->unread |= counted(taints) > MACHINE_TERMS;
    p->taints = arena_zero(p->arena, counted(taints) + 1, sizeof *p->taints);
    JSON_EACH (taint, json_is(taints, JSON_ARRAY) && !p->unread ? taints : NULL) {
        const char *effect = json_get_text(taint, "effect", "");
        enum taint_effect is = strcmp(effect, "NoSchedule") == 0  ? TAINT_NO_SCHEDULE
                               : strcmp(effect, "NoExecute") == 0 ? TAINT_NO_EXECUTE
                                                                  : 0;
        if (is)
            p->taints[p->taints_n++] = (struct machine_taint){arena_text(p->arena, json_get_text(taint, "key", "")),
                                                              arena_text(p->arena, json_get_text(taint, "value", "")), is};
    }
}

static void read_limits(struct machine_pool *p, const struct json *limits)
{
    p->limits.all = arena_zero(p->arena, counted(limits) + 1, sizeof *p->limits.all);
    JSON_EACH (limit, json_is(limits, JSON_OBJECT) && counted(limits) <= MACHINE_TERMS ? limits : NULL) {
        struct machine_amount *x = &p->limits.all[p->limits.n];
        if (read_milli(limit, &x->milli)) {
            x->resource = arena_text(p->arena, limit->key);
            p->limits.n++;
        }
    }
}

static bool is_unready(const struct json *pool)
{
    return object_deleting(pool) || strcmp(json_get_text(object_condition(pool, "Ready"), "status", ""), "False") == 0;
}

static void pool_free(struct machine_pool *p)
{
    arena_free(p->arena);
    free(p);
}

/* WHY a hash: most writes are of its status, which counts what it has got. */
static uint64_t pool_hash(const struct json *pool)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, json_get(pool, "spec") ? json_get(pool, "spec") : pool);
    return hash_bytes(text.data, text.n, is_unready(pool));
}

bool machine_pools_put(struct machine_pools *m, const struct json *object)
{
    const char *name = object_meta(object, "name");
    struct machine_pool **slot = map_find_text(m->pools, name);
    uint64_t hash = pool_hash(object);
    if (!*name || (slot && (*slot)->hash == hash) || (!slot && map_count(m->pools) >= MACHINE_POOLS))
        return false;
    const struct json *spec = json_get(object, "spec"), *template = json_get(spec, "template");
    struct machine_pool *p = mem_zero(1, sizeof *p);
    p->arena = arena_new();
    p->name = arena_text(p->arena, name);
    p->hash = hash;
    p->unready = is_unready(object);
    read_requirements(p, template);
    read_taints(p, json_path(template, "spec", "taints", NULL));
    read_limits(p, json_get(spec, "limits"));
    if (slot)
        pool_free(*slot);
    *(struct machine_pool **)map_put(m->pools, bytes_of(name), NULL) = p;
    m->unsummed = true;
    return true;
}

bool machine_pools_drop(struct machine_pools *m, const char *name)
{
    struct machine_pool **slot = map_find_text(m->pools, name);
    if (!slot)
        return false;
    pool_free(*slot);
    m->unsummed = true;
    return map_remove(m->pools, bytes_of(name));
}

/* ---- claims ---- */

static const char *find_resource(const struct machine_pools *m, const char *name)
{
    for (uint32_t i = 0; i < m->resources_n; i++)
        if (strcmp(m->resources[i], name) == 0)
            return m->resources[i];
    return NULL;
}

/* NULL: too many names, or one that is none. */
static const char *resource_name(struct machine_pools *m, const char *name)
{
    const char *is = find_resource(m, name);
    if (is || m->resources_n == MACHINE_RESOURCES || strlen(name) > 2 * LIMIT_NAME)
        return is;
    return m->resources[m->resources_n++] = mem_text(name);
}

bool machine_resource_known(const struct machine_pools *m, const char *resource)
{
    return find_resource(m, resource) != NULL;
}

static void read_amounts(struct machine_pools *m, const struct json *from, struct machine_amount **at, struct machine_amounts *to)
{
    to->all = *at;
    JSON_EACH (amount, json_is(from, JSON_OBJECT) ? from : NULL) {
        int64_t milli;
        const char *name = to->n < MACHINE_RESOURCES && read_milli(amount, &milli) && milli > 0 ? resource_name(m, amount->key) : NULL;
        if (name)
            to->all[to->n++] = (struct machine_amount){name, milli};
    }
    *at += to->n;
}

static void claim_free(struct machine_claim *c)
{
    if (!c)
        return;
    free(c->pool);
    free(c->type);
    free(c->node);
    free(c->block);
    free(c);
}

static struct machine_claim *claim_new(struct machine_pools *m, const struct json *object)
{
    const struct json *status = json_get(object, "status"), *has = json_get(status, "capacity"), *offers = json_get(status, "allocatable"),
                      *asked = json_path(object, "spec", "resources", "requests", NULL);
    struct machine_claim *c = mem_zero(1, sizeof *c);
    const struct json *lists[] = {has, offers, asked};
    uint32_t n = 0;
    for (int i = 0; i < 3; i++)
        n += counted(lists[i]) < MACHINE_RESOURCES ? counted(lists[i]) : MACHINE_RESOURCES;
    struct machine_amount *at = mem_zero(n + 1, sizeof *at);
    c->block = at;
    c->pool = mem_text(object_label(object, MACHINE_POOL_LABEL));
    c->type = mem_text(object_label(object, MACHINE_TYPE_LABEL));
    c->node = mem_text(json_get_text(status, "nodeName", ""));
    c->coming = !object_deleting(object) && !object_condition_true(object, "Initialized");
    read_amounts(m, has, &at, &c->has);
    read_amounts(m, offers, &at, &c->offers);
    read_amounts(m, asked, &at, &c->asked);
    if (!c->offers.n)
        c->offers = c->has;
    return c;
}

static bool same_amounts(const struct machine_amounts *a, const struct machine_amounts *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->all[i].resource == b->all[i].resource && a->all[i].milli == b->all[i].milli;
    return same;
}

static bool same_claims(const struct machine_claim *a, const struct machine_claim *b)
{
    return strcmp(a->pool, b->pool) == 0 && strcmp(a->type, b->type) == 0 && strcmp(a->node, b->node) == 0 && a->coming == b->coming &&
           same_amounts(&a->has, &b->has) && same_amounts(&a->offers, &b->offers) && same_amounts(&a->asked, &b->asked);
}

bool machine_claims_put(struct machine_pools *m, const struct json *object)
{
    const char *name = object_meta(object, "name");
    struct machine_claim **slot = map_find_text(m->claims, name);
    if (!*name || (!slot && map_count(m->claims) >= MACHINE_CLAIMS))
        return false;
    struct machine_claim *c = claim_new(m, object);
    if (slot && same_claims(*slot, c)) {
        claim_free(c);
        return false;
    }
    claim_free(slot ? *slot : NULL);
    *(struct machine_claim **)map_put(m->claims, bytes_of(name), NULL) = c;
    m->unsummed = true;
    return true;
}

bool machine_claims_drop(struct machine_pools *m, const char *name)
{
    struct machine_claim **slot = map_find_text(m->claims, name);
    if (!slot)
        return false;
    claim_free(*slot);
    m->unsummed = true;
    return map_remove(m->claims, bytes_of(name));
}

/* ---- sums ---- */

static struct machine_amount *amount_slot(struct machine_amounts *x, const char *resource)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->all[i].resource == resource)
            return &x->all[i];
    x->all[x->n] = (struct machine_amount){resource, 0};
    return &x->all[x->n++];
}

static void sum(const struct machine_pools *m, struct machine_pool *p, struct machine_claim *c)
{
    const struct machine_amounts *x = c->has.n ? &c->has : &c->asked;
    p->used.all = p->used.all ? p->used.all : arena_zero(m->sums, MACHINE_RESOURCES, sizeof *p->used.all);
    for (uint32_t i = 0; i < x->n; i++) {
        struct machine_amount *to = amount_slot(&p->used, x->all[i].resource);
        to->milli = amount_plus(to->milli, x->all[i].milli);
    }
    p->claims_n++;
    if (!c->coming)
        return;
    p->coming = p->coming ? p->coming : arena_alloc(m->sums, map_count(m->claims) * sizeof *p->coming);
    p->coming[p->coming_n++] = c;
}

static void raise(const struct machine_pools *m, struct machine_amounts *to, const struct machine_amounts *from)
{
    to->all = to->all ? to->all : arena_zero(m->sums, MACHINE_RESOURCES, sizeof *to->all);
    for (uint32_t i = 0; i < from->n; i++) {
        struct machine_amount *x = amount_slot(to, from->all[i].resource);
        x->milli = x->milli > from->all[i].milli ? x->milli : from->all[i].milli;
    }
}

void machine_pools_sum(struct machine_pools *m)
{
    struct bytes key;
    size_t at = 0;
    if (!m->unsummed)
        return;
    m->unsummed = false;
    arena_reset(m->sums);
    map_clear(m->types);
    for (struct machine_pool **p; (p = map_next(m->pools, &at, &key));) {
        (*p)->used = (struct machine_amounts){0};
        (*p)->claims_n = 0;
        (*p)->coming = NULL;
        (*p)->coming_n = 0;
    }
    at = 0;
    for (struct machine_claim **c; (c = map_next(m->claims, &at, &key));) {
        struct machine_pool **p = map_find_text(m->pools, (*c)->pool);
        if (p)
            sum(m, *p, *c);
        if (!*(*c)->type || !(*c)->has.n)
            continue;
        struct machine_type *type = map_put(m->types, bytes_of((*c)->type), NULL);
        raise(m, &type->has, &(*c)->has);
        raise(m, &type->offers, &(*c)->offers);
    }
}

/* ---- the whole ---- */

struct machine_pools *machine_pools_new(void)
{
    static const char *const always[] = {"cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu", "amd.com/gpu"};
    struct machine_pools *m = mem_zero(1, sizeof *m);
    m->pools = map_new(sizeof(struct machine_pool *));
    m->claims = map_new(sizeof(struct machine_claim *));
    m->types = map_new(sizeof(struct machine_type));
    m->sums = arena_new();
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        (void)resource_name(m, always[i]);
    return m;
}

void machine_pools_free(struct machine_pools *m)
{
    struct bytes key;
    size_t at = 0;
    if (!m)
        return;
    for (struct machine_pool **p; (p = map_next(m->pools, &at, &key));)
        pool_free(*p);
    at = 0;
    for (struct machine_claim **c; (c = map_next(m->claims, &at, &key));)
        claim_free(*c);
    for (uint32_t i = 0; i < m->resources_n; i++)
        free((char *)m->resources[i]);
    map_free(m->pools);
    map_free(m->claims);
    map_free(m->types);
    arena_free(m->sums);
    free(m);
}
