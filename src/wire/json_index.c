/* json_index.c - see json_index.h */
#include "wire/json_index.h"
#include "base/collections/map.h"

#define LINEAR_MEMBERS 32

static bool key_is(const struct json *m, struct bytes key)
{
    return m->key_n == key.n && bytes_same(m->key, key.data, key.n);
}

static struct json *table_find(struct json_index *x, struct bytes key)
{
    if (!x->table) {
        x->table = map_new(sizeof(struct json *));
        JSON_EACH (m, x->object)
            *(struct json **)map_put(x->table, (struct bytes){m->key, m->key_n}, NULL) = m;
    }
    struct json **found = map_find(x->table, key);
    return found ? *found : NULL;
}

struct json *json_index_find(struct json_index *x, struct bytes key)
{
    if (!json_is(x->object, JSON_OBJECT) || !x->object->first)
        return NULL;
    const struct json *guess = x->next ? x->next : x->object->first;
    struct json *found = key_is(guess, key)                ? (struct json *)guess
                         : x->object->n <= LINEAR_MEMBERS ? json_get_n(x->object, key)
                                                           : table_find(x, key);
    if (found)
        x->next = found->next;
    return found;
}

void json_index_free(struct json_index *x)
{
    map_free(x->table);
    x->table = NULL;
}
