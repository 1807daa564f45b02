#include "apiserver/tables/table_path.h"

#define PATH_STEPS_MAX 32 /* LIMIT nesting of [*] and filters, which recurse */
#define PATH_KEY_MAX 256  /* LIMIT bytes of one member name */

static const struct json *path_find(const struct json *v, const char *p, unsigned depth);

/* A name up to '.', '[' or the end; a backslash takes the next character as it is. Returns where the name ends, or
 * NULL. */
static const char *path_name(const char *p, char name[PATH_KEY_MAX])
{
    size_t n = 0;
    for (; *p && *p != '.' && *p != '[' && *p != '}'; p++) {
        if (*p == '\\' && p[1])
            p++;
        if (n + 1 >= PATH_KEY_MAX)
            return NULL;
        name[n++] = *p;
    }
    name[n] = 0;
    return p;
}

/* A quoted text at p. Returns what follows the closing quote, or NULL. */
static const char *path_quoted(const char *p, char text[PATH_KEY_MAX])
{
    char quote = *p++;
    size_t n = 0;
    for (; *p && *p != quote; p++) {
        if (*p == '\\' && p[1])
            p++;
        if (n + 1 >= PATH_KEY_MAX)
            return NULL;
        text[n++] = *p;
    }
    text[n] = 0;
    return *p == quote ? p + 1 : NULL;
}

static bool path_value_is(const struct json *v, const char *text)
{
    if (!v)
        return false;
    if (v->type == JSON_BOOL)
        return strcmp(text, v->truth ? "true" : "false") == 0;
    return bytes_is(json_bytes(v), text) && (v->type == JSON_STRING || v->type == JSON_NUMBER);
}

/* p stands after "?(": @.path OP literal ")]". */
static const struct json *path_filter(const struct json *v, const char *p, unsigned depth)
{
    char inner[PATH_KEY_MAX], literal[PATH_KEY_MAX];
    while (*p == ' ')
        p++;
    if (*p++ != '@')
        return NULL;
    const char *op = p;
    while (*op && *op != '=' && *op != '!' && *op != ' ' && *op != ')')
        op++;
    size_t n = (size_t)(op - p);
    if (n >= sizeof inner)
        return NULL;
    memcpy(inner, p, n);
    inner[n] = 0;
    while (*op == ' ')
        op++;
    bool exists = *op == ')', equal = op[0] == '=' && op[1] == '=';
    if (!exists && !equal && !(op[0] == '!' && op[1] == '='))
        return NULL;
    const char *after = op;
    if (!exists) {
        after = op + 2;
        while (*after == ' ')
            after++;
        if (*after == '"' || *after == '\'') {
            after = path_quoted(after, literal);
        } else {
            size_t length = strcspn(after, " )");
            if (length >= sizeof literal)
                return NULL;
            memcpy(literal, after, length);
            literal[length] = 0;
            after += length;
        }
    }
    while (after && *after == ' ')
        after++;
    if (!after || after[0] != ')' || after[1] != ']')
        return NULL;
    JSON_EACH (item, v) {
        const struct json *value = path_find(item, inner, depth + 1);
        bool match = exists  ? value != NULL
                     : equal ? path_value_is(value, literal)
                             : value && !path_value_is(value, literal);
        const struct json *found = match ? path_find(item, after + 2, depth + 1) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* p stands after '['. */
static const struct json *path_bracket(const struct json *v, const char *p, unsigned depth)
{
    char key[PATH_KEY_MAX];
    if (p[0] == '?' && p[1] == '(')
        return path_filter(v, p + 2, depth);
    if (p[0] == '*' && p[1] == ']') {
        JSON_EACH (item, v) {
            const struct json *found = path_find(item, p + 2, depth + 1);
            if (found)
                return found;
        }
        return NULL;
    }
    if (*p == '\'' || *p == '"') {
        p = path_quoted(p, key);
        return p && *p == ']' ? path_find(json_get(v, key), p + 1, depth + 1) : NULL;
    }
    size_t length = strcspn(p, "]");
    size_t digits = p[length - (length > 0)] == ':' ? length - 1 : length;
    int64_t index = 0;
    if (p[length] != ']' || !json_is(v, JSON_ARRAY) || !bytes_int64((struct bytes){p, digits}, &index))
        return NULL;
    if (index < 0)
        index += v->n;
    return index >= 0 ? path_find(json_item(v, (size_t)index), p + length + 1, depth + 1) : NULL;
}

static const struct json *path_find(const struct json *v, const char *p, unsigned depth)
{
    char name[PATH_KEY_MAX];
    if (!v || !p || depth > PATH_STEPS_MAX)
        return NULL;
    if (*p == 0 || *p == '}')
        return v;
    if (*p == '[')
        return path_bracket(v, p + 1, depth);
    if (*p == '.')
        p++;
    if (*p == '[')
        return path_bracket(v, p + 1, depth);
    if (*p == 0)
        return v;
    p = path_name(p, name);
    return p && name[0] ? path_find(json_get(v, name), p, depth + 1) : NULL;
}

const struct json *table_path_find(const struct json *object, const char *path)
{
    if (*path == '{')
        path++;
    if (*path == '$')
        path++;
    const struct json *found = path_find(object, path, 0);
    return json_is(found, JSON_NULL) ? NULL : found;
}
