/* kind.c - the list of kinds: built-in ones first, those of CRDs after them, metrics last */
#include "codec/kinds/kind.h"
#include "base/collections/map.h"
#include "codec/kinds/kind_table.h"

static void kind_key(char *out, size_t cap, const char *group, const char *name)
{
    (void)text_printf(out, cap, "%s/%s", group, name);
}

struct kind_table *kind_table_new(void)
{
    struct kind_table *t = mem_zero(1, sizeof *t);
    t->by_plural = map_new(sizeof(const struct kind *));
    t->by_kind = map_new(sizeof(const struct kind *));
    t->generation = 1;
    kind_table_index(t);
    return t;
}

void kind_table_free(struct kind_table *t)
{
    if (!t)
        return;
    map_free(t->by_plural);
    map_free(t->by_kind);
    for (uint32_t i = 0; i < t->customs_n; i++)
        arena_free(t->customs[i].arena);
    for (uint32_t i = 0; i < t->retired_n; i++)
        arena_free(t->retired[i]);
    free(t->retired);
    free(t->customs);
    free(t->order);
    free(t);
}

void kind_table_retire(struct kind_table *t, struct arena *a)
{
    MEM_RESERVE(t->retired, t->retired_cap, t->retired_n + 1);
    t->retired[t->retired_n++] = a;
}

static void index_one(struct kind_table *t, const struct kind *k)
{
    char key[KIND_KEY_MAX];
    bool is_new;
    MEM_RESERVE(t->order, t->order_cap, t->order_n + 1);
    t->order[t->order_n++] = k;
    kind_key(key, sizeof key, k->group, k->plural);
    *(const struct kind **)map_put(t->by_plural, bytes_of(key), NULL) = k;
    kind_key(key, sizeof key, k->group, k->kind);
    const struct kind **slot = map_put(t->by_kind, bytes_of(key), &is_new);
    if (is_new)
        *slot = k;
}

void kind_table_index(struct kind_table *t)
{
    map_clear(t->by_plural);
    map_clear(t->by_kind);
    t->order_n = 0;
    for (uint32_t i = 0; i < schema_kinds_n; i++)
        if (!(schema_kinds[i].flags & KIND_READ_ONLY))
            index_one(t, &schema_kinds[i]);
    for (uint32_t i = 0; i < t->customs_n; i++)
        index_one(t, t->customs[i].kind);
    for (uint32_t i = 0; i < schema_kinds_n; i++)
        if (schema_kinds[i].flags & KIND_READ_ONLY)
            index_one(t, &schema_kinds[i]);
}

static const struct kind *find(const struct map *m, const char *group, const char *name)
{
    char key[KIND_KEY_MAX];
    size_t group_n = strlen(group), name_n = strlen(name);
    if (group_n + name_n + 2 > sizeof key) /* longer than any */
        return NULL;
    memcpy(key, group, group_n); /* every request asks: as kind_key writes it */
    key[group_n] = '/';
    memcpy(key + group_n + 1, name, name_n);
    const struct kind **slot = map_find(m, (struct bytes){key, group_n + 1 + name_n});
    return slot ? *slot : NULL;
}

const struct kind *kind_find(const struct kind_table *t, const char *group, const char *plural)
{
    return find(t->by_plural, group, plural);
}

const struct kind *kind_find_kind(const struct kind_table *t, const char *group, const char *kind)
{
    return find(t->by_kind, group, kind);
}

const struct kind_version *kind_version_find(const struct kind *k, const char *version)
{
    for (uint32_t i = 0; i < k->versions_n; i++)
        if (strcmp(k->versions[i].version, version) == 0)
            return &k->versions[i];
    return NULL;
}

uint32_t kind_count(const struct kind_table *t)
{
    return t->order_n;
}

const struct kind *kind_at(const struct kind_table *t, uint32_t index)
{
    return index < t->order_n ? t->order[index] : NULL;
}

uint64_t kind_table_generation(const struct kind_table *t)
{
    return t->generation;
}

const struct kind *kind_stored(const struct kind *k)
{
    return k->stored ? k->stored : k;
}

const struct kind_version *kind_storage(const struct kind *k)
{
    const struct kind *stored = kind_stored(k);
    return &stored->versions[stored->storage];
}

bool kind_is_built_in(const struct kind *k)
{
    return k >= schema_kinds && k < schema_kinds + schema_kinds_n;
}
