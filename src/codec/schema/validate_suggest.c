#include "codec/schema/validate_suggest.h"

#include <ctype.h>
#include <stdlib.h>

#define NAME_LONGEST 63 /* longer names are no typing errors */

size_t suggest_distance(const char *a, const char *b, size_t most)
{
    size_t row[NAME_LONGEST + 1], a_n = strlen(a), b_n = strlen(b);
    if (a_n > NAME_LONGEST || b_n > NAME_LONGEST || (a_n > b_n ? a_n - b_n : b_n - a_n) > most)
        return most + 1;
    for (size_t j = 0; j <= b_n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_n; j++) {
            size_t same = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = same < least ? same : least;
        }
    }
    return row[b_n] > most ? most + 1 : row[b_n];
}

/* Where the path leads: the object that holds the unknown member, its type, and the member. */
struct place {
    const struct schema *type;
    struct json *holder, *member;
};

/* The child whose name begins `path` (up to '.', '[' or the end); the longest, since names may have dots. */
static struct json *child_at(struct json *object, const char *path, size_t *ret_n)
{
    struct json *best = NULL;
    size_t best_n = 0;
    JSON_EACH (child, object) {
        size_t n = child->key_n;
        bool ends = strncmp(path, child->key, n) == 0 && (path[n] == '\0' || path[n] == '.' || path[n] == '[');
        if (ends && n >= best_n) {
            best = child;
            best_n = n;
        }
    }
    *ret_n = best_n;
    return best;
}

static const struct schema *member_type(const struct schema *s, const struct json *member)
{
    if (!s)
        return NULL;
    if (s->form != SCHEMA_OBJECT)
        return s->item;
    const struct schema_field *field = schema_field_find(s, (struct bytes){member->key, member->key_n});
    return field ? field->type : NULL;
}

static bool find_place(const struct schema *s, struct json *v, const char *path, struct place *ret_place)
{
    struct place at = {s, NULL, NULL};
    while (*path && v) {
        if (*path == '[') {
            size_t index = (size_t)strtoul(path + 1, (char **)&path, 10);
            path += *path == ']';
            path += *path == '.';
            v = json_item(v, index);
            s = s && s->form == SCHEMA_LIST ? s->item : NULL;
            continue;
        }
        size_t n;
        struct json *child = json_is(v, JSON_OBJECT) ? child_at(v, path, &n) : NULL;
        if (!child)
            return false;
        at = (struct place){s, v, child};
        s = member_type(s, child);
        v = child;
        path += n;
        path += *path == '.';
    }
    *ret_place = at;
    return at.member != NULL;
}

/* Known under another name by everybody who writes manifests by hand. */
static const char *well_known(const char *name)
{
    static const char *const pairs[][2] = {{"nodeLabel", "nodeLabels"},  {"cmd", "command"},
                                           {"environment", "env"},       {"label", "labels"},
                                           {"resource", "resources"},    {"image_pull_policy", "imagePullPolicy"},
                                           {"completion", "completions"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (text_equal(name, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

static const char *meant(const struct place *at)
{
    const char *name = at->member->key, *best = NULL, *known = well_known(name);
    size_t n = strlen(name), most = n < 4 ? 1 : n < 10 ? 2 : 3, least = most + 1;
    if (!at->type || at->type->form != SCHEMA_OBJECT)
        return NULL;
    if (known && schema_field_find(at->type, bytes_of(known)))
        return known;
    for (uint32_t i = 0; i < at->type->fields_n; i++) {
        const char *field = at->type->fields[i].name;
        size_t distance = suggest_distance(name, field, most);
        if (distance < least && !json_get(at->holder, field)) {
            best = field;
            least = distance;
        }
    }
    return best;
}

const char *suggest_field(const struct schema *s, const struct json *object, const char *path)
{
    struct place at;
    return find_place(s, (struct json *)(uintptr_t)object, path, &at) ? meant(&at) : NULL; /* looks, does not change */
}

void suggest_apply(struct arena *a, const struct schema *s, struct json *object, const char *path)
{
    struct place at;
    if (!find_place(s, object, path, &at))
        return;
    const char *name = meant(&at);
    struct json *copy = name ? json_clone(a, at.member) : NULL;
    json_remove(at.holder, at.member->key);
    if (copy)
        json_set(a, at.holder, name, copy);
}

/* The node becomes what `made` is, in its old place. */
static void become(struct json *v, const struct json *made)
{
    struct json old = *v;
    *v = *made;
    v->key = old.key;
    v->key_n = old.key_n;
    v->next = old.next;
}

static void suggest_scalar(struct arena *a, const struct schema *s, struct json *v)
{
    int64_t number;
    bool wants_number = s->form == SCHEMA_INT32 || s->form == SCHEMA_INT64;
    if (s->form == SCHEMA_STRING && v->type == JSON_NUMBER)
        become(v, json_new_text_n(a, json_bytes(v)));
    else if (s->form == SCHEMA_STRING && v->type == JSON_BOOL)
        become(v, json_new_text(a, v->truth ? "true" : "false"));
    else if (wants_number && v->type == JSON_STRING && bytes_int64(json_bytes(v), &number))
        become(v, json_new_int64(a, number));
    else if (s->form == SCHEMA_BOOL && v->type == JSON_STRING &&
             (text_equal(v->text, "true") || text_equal(v->text, "false")))
        become(v, json_new_bool(a, text_equal(v->text, "true")));
}

void suggest_types(struct arena *a, const struct schema *s, struct json *v)
{
    if (!s || !v || v->type == JSON_NULL)
        return;
    if (s->form == SCHEMA_LIST && v->type != JSON_ARRAY && s->item &&
        (s->item->form != SCHEMA_OBJECT || v->type == JSON_OBJECT)) {
        struct json *list = json_new(a, JSON_ARRAY);
        json_append(list, json_clone(a, v));
        become(v, list);
    }
    if (v->type < JSON_ARRAY) {
        suggest_scalar(a, s, v);
        return;
    }
    if (s->form != SCHEMA_OBJECT && s->form != SCHEMA_MAP && s->form != SCHEMA_LIST)
        return;
    JSON_EACH (child, v)
        suggest_types(a, v->type == JSON_ARRAY ? s->item : member_type(s, child), child);
}
