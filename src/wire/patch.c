/* patch.c - see patch.h */
#include <assert.h>
#include "wire/patch.h"
#include "base/collections/map.h"
#include "base/limits.h"

#define POINTER_TOKENS_MAX (LIMIT_JSON_DEPTH + 1) /* no document is deeper */
#define LINEAR_WORK 4096 /* members of the target x members of the patch; beyond, the target gets an index */

/* A JSON Pointer (RFC 6901), decoded. */
struct pointer {
    struct bytes tokens[POINTER_TOKENS_MAX];
    size_t n;
};

struct run {
    struct arena *arena;
    struct json *root; /* the copy that is worked on */
    size_t copied_nodes, copied_bytes;
    struct err *e;
};

static int pointer_parse(struct run *run, const char *text, struct pointer *ret)
{
    ret->n = 0;
    if (*text == '\0')
        return 0;
    if (*text != '/')
        return err_set(run->e, E_INVALID, "a path is empty or starts with '/'");
    while (*text) {
        if (ret->n == POINTER_TOKENS_MAX)
            return err_set(run->e, E_LIMIT, "the path has more than %d parts", POINTER_TOKENS_MAX);
        size_t n = strcspn(++text, "/"), wrote = 0;
        char *token = arena_alloc(run->arena, n + 1);
        for (size_t i = 0; i < n; i++) {
            if (text[i] == '~' && text[i + 1] != '0' && text[i + 1] != '1')
                return err_set(run->e, E_INVALID, "in a path '~' must be written as ~0 and '/' in a name as ~1");
            token[wrote++] = text[i] != '~' ? text[i] : text[++i] == '0' ? '~' : '/';
        }
        token[wrote] = '\0';
        ret->tokens[ret->n++] = (struct bytes){token, wrote};
        text += n;
    }
    return 0;
}

/* Digits without a leading zero; limit is the largest allowed. */
static int index_parse(struct run *run, struct bytes token, size_t limit, size_t *ret_index)
{
    int64_t value;
    bool digits = token.n > 0 && token.n < 12 && token.data[0] >= '0' && token.data[0] <= '9' &&
                  (token.n == 1 || token.data[0] != '0');
    if (!digits || !bytes_int64(token, &value))
        return err_set(run->e, E_INVALID, "\"%.40s\" is not an array index", token.data);
    if ((uint64_t)value > limit)
        return err_set(run->e, E_INVALID, "index %lld is past the end of the array", (long long)value);
    *ret_index = (size_t)value;
    return 0;
}

/* The child of `v` named by token; it must exist. */
static int step(struct run *run, struct json *v, struct bytes token, struct json **ret_child)
{
    struct json *child = NULL;
    if (v->type == JSON_ARRAY) {
        size_t index = 0;
        if (v->n == 0)
            return err_set(run->e, E_INVALID, "the array is empty");
        int r = index_parse(run, token, v->n - 1, &index);
        if (r < 0)
            return r;
        child = json_item(v, index);
    } else {
        child = json_get_n(v, token);
    }
    if (!child)
        return err_set(run->e, E_INVALID, "\"%.80s\" does not exist", token.data);
    *ret_child = child;
    return 0;
}

static int walk(struct run *run, const struct pointer *p, size_t n, struct json **ret_v)
{
    struct json *v = run->root;
    for (size_t i = 0; i < n; i++) {
        int r = step(run, v, p->tokens[i], &v);
        if (r < 0)
            return r;
    }
    *ret_v = v;
    return 0;
}

static size_t depth_of(const struct json *v)
{
    size_t deepest = 0;
    JSON_EACH (child, v) {
        size_t depth = depth_of(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return v->type >= JSON_ARRAY ? deepest + 1 : 0;
}

static int put(struct run *run, const struct pointer *p, struct json *v)
{
    if (p->n + depth_of(v) > LIMIT_JSON_DEPTH)
        return err_set(run->e, E_LIMIT, "the result would be nested deeper than %d", LIMIT_JSON_DEPTH);
    if (p->n == 0) {
        v->key = "";
        v->key_n = 0;
        v->next = NULL;
        run->root = v;
        return 0;
    }
    struct json *parent;
    int r = walk(run, p, p->n - 1, &parent);
    if (r < 0)
        return r;
    struct bytes last = p->tokens[p->n - 1];
    v->key = "";
    v->key_n = 0;
    if (parent->type == JSON_OBJECT) {
        json_set(run->arena, parent, last.data, v);
        return 0;
    }
    if (parent->type != JSON_ARRAY)
        return err_set(run->e, E_INVALID, "the parent is neither an object nor an array");
    size_t index = parent->n;
    if (!bytes_is(last, "-") && (r = index_parse(run, last, parent->n, &index)) < 0)
        return r;
    json_insert(parent, index, v);
    return 0;
}

static int take(struct run *run, const struct pointer *p, struct json **ret_v)
{
    struct json *parent, *v = NULL;
    if (p->n == 0)
        return err_set(run->e, E_INVALID, "the whole document cannot be removed");
    int r = walk(run, p, p->n - 1, &parent);
    if (r < 0 || (r = step(run, parent, p->tokens[p->n - 1], &v)) < 0)
        return r;
    json_remove_item(parent, v);
    *ret_v = v;
    return 0;
}

static int replace(struct run *run, const struct pointer *p, struct json *v)
{
    struct json *old;
    int r = walk(run, p, p->n, &old);
    if (r < 0)
        return r;
    if (p->n + depth_of(v) > LIMIT_JSON_DEPTH)
        return err_set(run->e, E_LIMIT, "the result would be nested deeper than %d", LIMIT_JSON_DEPTH);
    const struct json place = *old;
    *old = *v;
    old->key = place.key;
    old->key_n = place.key_n;
    old->next = place.next;
    return 0;
}

static bool is_inside(const struct pointer *inner, const struct pointer *outer)
{
    if (inner->n <= outer->n)
        return false;
    for (size_t i = 0; i < outer->n; i++)
        if (!bytes_equal(inner->tokens[i], outer->tokens[i]))
            return false;
    return true;
}

static int move(struct run *run, const struct pointer *from, const struct pointer *to)
{
    struct json *v;
    if (is_inside(to, from))
        return err_set(run->e, E_INVALID, "a value cannot be moved into itself");
    if (from->n == 0)
        return 0; /* the document onto itself */
    int r = take(run, from, &v);
    return r < 0 ? r : put(run, to, v);
}

static void measure(const struct json *v, size_t *nodes, size_t *bytes)
{
    ++*nodes;
    *bytes += v->key_n + json_bytes(v).n;
    JSON_EACH (child, v)
        measure(child, nodes, bytes);
}

static int copy(struct run *run, const struct pointer *from, const struct pointer *to)
{
    struct json *v;
    int r = walk(run, from, from->n, &v);
    if (r < 0)
        return r;
    measure(v, &run->copied_nodes, &run->copied_bytes);
    if (run->copied_nodes > LIMIT_PATCH_COPY_NODES || run->copied_bytes > LIMIT_PATCH_COPY_BYTES)
        return err_set(run->e, E_LIMIT, "the copy operations together add more than %u bytes", LIMIT_PATCH_COPY_BYTES);
    return put(run, to, json_clone(run->arena, v));
}

static int test(struct run *run, const struct pointer *p, const struct json *want)
{
    struct json *v;
    int r = walk(run, p, p->n, &v);
    if (r < 0)
        return r;
    return json_equal(v, want) ? 0 : err_set(run->e, E_INVALID, "the value is not the one that the test expects");
}

/* RFC 6902: an operation reads "from" or "value", never both. */
static int apply(struct run *run, const char *op, const struct json *operation, const char *path_text)
{
    struct pointer path, from;
    int r = pointer_parse(run, path_text, &path);
    if (r < 0)
        return r;
    const struct json *value = json_get(operation, "value");
    if (text_equal(op, "remove")) {
        struct json *gone;
        return take(run, &path, &gone);
    }
    if (text_equal(op, "move") || text_equal(op, "copy")) {
        const char *from_text = json_get_text(operation, "from", NULL);
        if (!from_text)
            return err_set(run->e, E_INVALID, "\"from\" is missing or not a string");
        if ((r = pointer_parse(run, from_text, &from)) < 0)
            return r;
        return text_equal(op, "move") ? move(run, &from, &path) : copy(run, &from, &path);
    }
    bool is_add = text_equal(op, "add"), is_replace = text_equal(op, "replace");
    if (!is_add && !is_replace && !text_equal(op, "test"))
        return err_set(run->e, E_INVALID, "unknown op; allowed are add, remove, replace, move, copy and test");
    if (!value)
        return err_set(run->e, E_INVALID, "\"value\" is missing");
    if (is_add)
        return put(run, &path, json_clone(run->arena, value));
    return is_replace ? replace(run, &path, json_clone(run->arena, value)) : test(run, &path, value);
}

int patch_json(struct arena *a, struct json **target, const struct json *operations, struct err *e)
{
    if (!json_is(operations, JSON_ARRAY))
        return err_set(e, E_INVALID, "a JSON Patch is an array of operations");
    if (operations->n > LIMIT_PATCH_OPERATIONS)
        return err_set(e, E_LIMIT, "a JSON Patch has at most %d operations, this one has %u", LIMIT_PATCH_OPERATIONS,
                       operations->n);
    struct run run = {.arena = a, .root = json_clone(a, *target), .e = e};
    size_t index = 0;
    JSON_EACH (operation, operations) {
        const char *op = json_get_text(operation, "op", NULL), *path = json_get_text(operation, "path", NULL);
        if (!op || !path)
            return err_set(e, E_INVALID, "operation %zu: \"op\" and \"path\" are needed, both strings", index);
        int r = apply(&run, op, operation, path);
        if (r < 0) {
            (void)err_wrap(e, "operation %zu (%.20s %.160s)", index, op, path);
            return r;
        }
        index++;
    }
    *target = run.root;
    return 0;
}

/* Members of the target by key: a walk, or an index when there are many. Removed ones are marked with key NULL until
 * the end. */
struct members {
    struct json *object;
    struct map *index;
};

static struct json *members_find(const struct members *m, const struct json *like)
{
    struct bytes key = {like->key, like->key_n};
    if (m->index) {
        struct json **found = map_find(m->index, key);
        return found && (*found)->key ? *found : NULL;
    }
    for (struct json *v = m->object->first; v; v = v->next)
        if (v->key && v->key_n == key.n && memcmp(v->key, key.data, key.n) == 0)
            return v;
    return NULL;
}

static void drop_marked(struct json *object)
{
    struct json **link = &object->first;
    object->n = 0;
    object->last = NULL;
    for (struct json *v = object->first; v; v = v->next) {
        if (!v->key)
            continue;
        *link = v;
        link = &v->next;
        object->last = v;
        object->n++;
    }
    *link = NULL;
}

/* What `patch` says about a value that is `old` (NULL when absent): the new value. */
static struct json *merged(struct arena *a, struct json *old, const struct json *patch)
{
    if (patch->type != JSON_OBJECT)
        return json_clone(a, patch);
    struct json *v = json_is(old, JSON_OBJECT) ? old : json_new(a, JSON_OBJECT);
    patch_merge(a, &v, patch);
    return v;
}

static void merge_member(struct arena *a, struct members *m, const struct json *change)
{
    struct json *old = members_find(m, change);
    if (change->type == JSON_NULL) {
        if (old)
            old->key = NULL;
        return;
    }
    struct json *v = merged(a, old, change);
    if (v == old)
        return;
    if (old) {
        const struct json place = *old;
        *old = *v;
        old->key = place.key;
        old->key_n = place.key_n;
        old->next = place.next;
        return;
    }
    v->key = arena_text_n(a, change->key, change->key_n);
    v->key_n = change->key_n;
    json_append(m->object, v);
}

void patch_merge(struct arena *a, struct json **target, const struct json *patch)
{
    if (patch->type != JSON_OBJECT || !json_is(*target, JSON_OBJECT)) {
        struct json *v = merged(a, NULL, patch);
        *target = v;
        return;
    }
    struct members m = {.object = *target};
    if ((uint64_t)(*target)->n * patch->n > LINEAR_WORK) {
        m.index = map_new(sizeof(struct json *));
        JSON_EACH (v, m.object)
            *(struct json **)map_put(m.index, (struct bytes){v->key, v->key_n}, NULL) = v;
    }
    JSON_EACH (change, patch)
        merge_member(a, &m, change);
    drop_marked(m.object);
    map_free(m.index);
}
