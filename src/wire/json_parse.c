/* json_parse.c - text to tree
 *
 * The text is copied into the arena once; strings are decoded in place there and end at the NUL that replaces their closing quote.
 * SHAPE  no recursion: `frames` holds the open containers.
 */
#include <assert.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "wire/json.h"
#include "wire/json_text.h"

#define LINEAR_MEMBERS 32 /* up to so many keys are compared one by one; beyond, a table finds duplicates */

struct frame {
    struct json *container;
    uint64_t seen;       /* a bit for each key so far (key_bit): one that is not there is new */
    struct json **table; /* open addressing, by key; NULL while the object is small */
    uint32_t table_n;
    bool has_duplicates; /* members whose key is NULL must be dropped at the end */
};

struct parser {
    struct arena *arena;
    char *at, *end, *start;
    struct json_parse_info *info;
    struct err *e;
    uint32_t nodes_n;
    uint32_t depth;
    struct frame frames[LIMIT_JSON_DEPTH];
};

/* Line and column are counted in the copy: strings already decoded changed their bytes but kept their place, and no
 * newline comes or goes by decoding except from \n escapes, so they are counted in the original. */
static int fail(struct parser *p, int code, const char *original, const char *at, const char *problem)
{
    size_t line = 1, column = 1, before_n = (size_t)(at - p->start);
    for (size_t i = 0; i < before_n; i++) { /* an empty text may be NULL */
        column += ((unsigned char)original[i] & 0xc0) != 0x80;
        if (original[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return err_set(p->e, code, "line %zu, column %zu: %s", line, column, problem);
}

/* WHY  no end: the copy ends with a NUL, which is no white space, and nothing that is expected anywhere. */
static inline char *past_space(char *at)
{
    while (*at <= ' ' && json_text_is_space(*at)) /* most bytes that are looked at are above */
        at++;
    return at;
}

/* A problem found below; `at` is where. NULL problem means success. */
struct problem {
    const char *text;
    const char *at;
    int code;
};

static bool problem_is(struct problem *problem, int code, const char *at, const char *text)
{
    *problem = (struct problem){text, at, code};
    return false;
}

static const char *string_problem(const char *at, const char *end)
{
    if (at == end)
        return "the string does not end; add the closing '\"'";
    if ((signed char)*at < 0)
        return "the text is not valid UTF-8";
    if (*at == '\0')
        return "a NUL byte is not allowed in strings";
    return "a raw control character is not allowed in strings; write it as an escape such as \\n";
}

#define PLAIN_MAX 64 /* names, times, uids */

/* The same as parse_string, of a string as most are: short, and nothing to decode or to check. False: nothing was taken. */
static inline bool parse_plain(struct parser *p, char *text, const char **ret_text, uint32_t *ret_n)
{
#ifdef __SSE2__
    uint32_t n = 0;
    unsigned mask;
    if (p->end - text < 16)
        return false;
    while (!(mask = json_text_mask_ascii(text + n))) {
        n += 16;
        if (n >= PLAIN_MAX || p->end - text < n + 16)
            return false;
    }
    n += (uint32_t)__builtin_ctz(mask);
    if (text[n] != '"')
        return false;
    text[n] = '\0';
    p->at = text + n + 1;
    *ret_text = text;
    *ret_n = n;
    return true;
#else
    return false;
#endif
}

/* text is behind the opening quote. Decodes in place. */
static bool parse_string(struct parser *p, char *text, const char **ret_text, uint32_t *ret_n, struct problem *problem)
{
    char *from = text, *to = from;
    for (;;) {
        char *stop = (char *)json_text_scan(from, p->end);
        if (to != from)
            memmove(to, from, (size_t)(stop - from));
        to += stop - from;
        from = stop;
        if (stop < p->end && *stop == '"')
            break;
        size_t used, wrote = 0;
        char decoded[4];
        const char *text_problem = NULL;
        if (stop < p->end && *stop == '\\') {
            used = json_text_escape(stop, p->end, decoded, &wrote, &text_problem);
            memcpy(to, decoded, wrote);
        } else {
            used = stop < p->end && (signed char)*stop < 0 ? utf8_length(stop, p->end) : 0;
            if (to != from)
                memmove(to, from, used);
            wrote = used;
        }
        if (used == 0)
            return problem_is(problem, E_INVALID, stop, text_problem ? text_problem : string_problem(stop, p->end));
        to += wrote;
        from += used;
    }
    *to = '\0';
    p->at = from + 1;
    *ret_text = text;
    *ret_n = (uint32_t)(to - text);
    return true;
}

/* "spec.containers[0].name" of `key` in the innermost container, in the arena. */
static const char *path_of(struct parser *p, const char *key)
{
    _cleanup_buf_ struct buf path = {0};
    for (uint32_t i = 1; i < p->depth; i++) {
        const struct json *parent = p->frames[i - 1].container;
        if (parent->type == JSON_ARRAY)
            buf_printf(&path, "[%u]", parent->n - 1);
        else
            buf_printf(&path, "%s%s", path.n ? "." : "", p->frames[i].container->key);
    }
    buf_printf(&path, "%s%s", path.n ? "." : "", key);
    return arena_text_n(p->arena, path.data, path.n);
}

static void note_duplicate(struct parser *p, struct frame *f, struct json *old)
{
    struct json_parse_info *info = p->info;
    if (info && info->duplicate_n < sizeof info->duplicate / sizeof *info->duplicate) {
        info->duplicate[info->duplicate_n] = path_of(p, old->key);
        info->line[info->duplicate_n] = 0;
    }
    if (info)
        info->duplicate_n++;
    f->has_duplicates = true;
    old->key = NULL;
}

static struct json **table_slot(const struct frame *f, const struct json *member)
{
    uint32_t mask = f->table_n - 1, i = hash_for_table((struct bytes){member->key, member->key_n}) & mask;
    for (struct json *other; (other = f->table[i]); i = (i + 1) & mask)
        if (other->key_n == member->key_n && memcmp(other->key, member->key, member->key_n) == 0)
            break;
    return &f->table[i];
}

static void table_grow(struct parser *p, struct frame *f)
{
    f->table_n = f->table_n ? f->table_n * 2 : LINEAR_MEMBERS * 4;
    f->table = arena_zero(p->arena, f->table_n, sizeof *f->table);
    for (struct json *m = f->container->first; m; m = m->next)
        if (m->key)
            *table_slot(f, m) = m;
}

static __attribute__((noinline)) void compare_keys(struct parser *p, struct frame *f, const struct json *member)
{
    for (struct json *m = f->container->first; m; m = m->next)
        if (m->key_n == member->key_n && m->key && bytes_same(m->key, member->key, member->key_n))
            note_duplicate(p, f, m);
}

static __attribute__((noinline)) void look_up_key(struct parser *p, struct frame *f, struct json *member)
{
    if ((f->container->n + 1) * 2 > f->table_n)
        table_grow(p, f);
    struct json **slot = table_slot(f, member);
    struct json *old = *slot;
    *slot = member;
    if (old)
        note_duplicate(p, f, old);
}

/* One of 64, by what tells the keys of most objects apart. */
static inline uint64_t key_bit(const char *key, uint32_t n)
{
    return UINT64_C(1) << (((unsigned char)key[0] ^ n * 9) & 63);
}

/* Before `member` is appended: drop an older one with the same key. */
static inline void check_duplicate(struct parser *p, struct frame *f, struct json *member)
{
    uint64_t bit = key_bit(member->key, member->key_n);
    if (f->container->n >= LINEAR_MEMBERS)
        look_up_key(p, f, member);
    else if (f->seen & bit)
        compare_keys(p, f, member);
    f->seen |= bit;
}

static void drop_duplicates(struct json *object)
{
    struct json **link = &object->first, *last = NULL;
    uint32_t n = 0;
    for (struct json *m = object->first; m; m = m->next) {
        if (!m->key)
            continue;
        *link = m;
        link = &m->next;
        last = m;
        n++;
    }
    *link = NULL;
    object->last = last;
    object->n = n;
}

static const char *key_problem(const struct parser *p, const char *at)
{
    return at == p->end ? "the text ends inside an object"
           : *at == '}' ? "a ',' stands before '}'; remove it"
                        : "expected a key in '\"'";
}

static inline bool parse_member_key(struct parser *p, char *at, struct json *member, struct problem *problem)
{
    if (*at != '"')
        return problem_is(problem, E_INVALID, at, key_problem(p, at));
    at++;
    if (!parse_plain(p, at, &member->key, &member->key_n) && !parse_string(p, at, &member->key, &member->key_n, problem))
        return false;
    at = past_space(p->at);
    if (*at != ':')
        return problem_is(problem, E_INVALID, at, "expected ':' after the key");
    p->at = at + 1;
    return true;
}

static bool parse_number(struct parser *p, struct json *v, struct problem *problem)
{
    size_t n = json_text_number(p->at, p->end);
    if (n == 0)
        return problem_is(problem, E_INVALID, p->at,
                          "not a JSON number: no leading zero or '+', digits on both sides of '.'");
    v->text = arena_text_n(p->arena, p->at, n);
    v->n = (uint32_t)n;
    v->type = JSON_NUMBER;
    p->at += n;
    return true;
}

static bool parse_word(struct parser *p, struct json *v, struct problem *problem)
{
    struct bytes rest = {p->at, (size_t)(p->end - p->at)};
    if (bytes_starts(rest, "true")) {
        v->type = JSON_BOOL;
        v->truth = true;
        p->at += 4;
    } else if (bytes_starts(rest, "false")) {
        v->type = JSON_BOOL;
        p->at += 5;
    } else if (bytes_starts(rest, "null")) {
        p->at += 4;
    } else {
        return problem_is(problem, E_INVALID, p->at,
                          rest.n ? "expected a JSON value" : "the text ends where a value is expected");
    }
    return true;
}

static inline bool parse_open(struct parser *p, char *at, struct json *v, struct problem *problem)
{
    if (p->depth == LIMIT_JSON_DEPTH)
        return problem_is(problem, E_LIMIT, at, "nested too deeply");
    v->type = *at == '{' ? JSON_OBJECT : JSON_ARRAY;
    p->frames[p->depth++] = (struct frame){.container = v};
    p->at = at + 1;
    return true;
}

/* Fill *v; an opened container is pushed. */
static inline bool parse_value(struct parser *p, struct json *v, struct problem *problem)
{
    char *at = past_space(p->at);
    if (++p->nodes_n > LIMIT_JSON_NODES)
        return problem_is(problem, E_LIMIT, at, "too many values in one document");
    if (*at == '"') {
        v->type = JSON_STRING;
        return parse_plain(p, at + 1, &v->text, &v->n) || parse_string(p, at + 1, &v->text, &v->n, problem);
    }
    if (*at == '{' || *at == '[')
        return parse_open(p, at, v, problem);
    p->at = at;
    return *at == '-' || (*at >= '0' && *at <= '9') ? parse_number(p, v, problem) : parse_word(p, v, problem);
}

static void container_append(struct json *container, struct json *v)
{
    if (container->last)
        container->last->next = v;
    else
        container->first = v;
    container->last = v;
    container->n++;
}

static const char *comma_problem(const struct parser *p, const char *at, bool is_object)
{
    return at == p->end ? "the text ends inside an object or array" : is_object ? "expected ',' or '}'" : "expected ',' or ']'";
}

static inline bool close_container(struct parser *p, struct frame *f, char *at)
{
    p->at = at + 1;
    if (f->has_duplicates)
        drop_duplicates(f->container);
    p->depth--;
    return true;
}

/* One step in the innermost container: its end, or the next child (which may open another). */
static bool parse_step(struct parser *p, struct problem *problem)
{
    struct frame *f = &p->frames[p->depth - 1];
    struct json *container = f->container;
    bool is_object = container->type == JSON_OBJECT;
    char *at = past_space(p->at);
    if (*at == (is_object ? '}' : ']'))
        return close_container(p, f, at);
    if (container->n > 0) {
        if (*at != ',')
            return problem_is(problem, E_INVALID, at, comma_problem(p, at, is_object));
        at = past_space(at + 1);
    }
    struct json *v = arena_alloc(p->arena, sizeof *v);
    *v = (struct json){.type = JSON_NULL, .key = ""};
    p->at = at;
    if (is_object) {
        if (!parse_member_key(p, at, v, problem))
            return false;
        check_duplicate(p, f, v);
    } else if (*at == ']') {
        return problem_is(problem, E_INVALID, at, "a ',' stands before ']'; remove it");
    }
    container_append(container, v);
    return parse_value(p, v, problem);
}

static bool parse_document(struct parser *p, struct json *root, struct problem *problem)
{
    p->at = past_space(p->at);
    if (p->at == p->end)
        return problem_is(problem, E_INVALID, p->at, "the document is empty; expected a JSON value");
    if (bytes_starts((struct bytes){p->at, (size_t)(p->end - p->at)}, "\xef\xbb\xbf"))
        return problem_is(problem, E_INVALID, p->at, "the text starts with a byte order mark; remove it");
    if (!parse_value(p, root, problem))
        return false;
    while (p->depth > 0)
        if (!parse_step(p, problem))
            return false;
    p->at = past_space(p->at);
    if (p->at < p->end)
        return problem_is(problem, E_INVALID, p->at, "text after the end of the document");
    return true;
}

/* copy: of text, in the arena, with a NUL behind it. */
static struct json *parse_copy(struct arena *a, char *copy, struct bytes text, struct json_parse_info *info, struct err *e)
{
    struct parser p; /* WHY  not zeroed: frames are written before they are read, and they are large */
    p.arena = a;
    p.start = p.at = copy;
    p.end = p.start + text.n;
    p.info = info;
    p.e = e;
    p.nodes_n = p.depth = 0;
    struct json *root = json_new(a, JSON_NULL);
    struct problem problem = {0};
    if (parse_document(&p, root, &problem))
        return root;
    if (e)
        (void)fail(&p, problem.code, text.data, problem.at, problem.text);
    return NULL;
}

struct json *json_parse(struct arena *a, struct bytes text, struct json_parse_info *info, struct err *e)
{
    if (info)
        *info = (struct json_parse_info){0};
    if (text.n >= UINT32_MAX) {
        (void)err_set(e, E_LIMIT, "a document of %zu bytes is too large", text.n);
        return NULL;
    }
    return parse_copy(a, arena_text_n(a, text.data, text.n), text, info, e);
}

struct json *json_parse_without(struct arena *a, struct bytes text, const struct json_cut *cuts, size_t n)
{
    const char *at = text.data;
    if (!n || text.n >= UINT32_MAX)
        return json_parse(a, text, NULL, NULL);
    size_t left_n = text.n;
    for (size_t i = 0; i < n; i++)
        left_n -= (size_t)(cuts[i].to - cuts[i].from);
    char *copy = arena_alloc(a, left_n + 1), *to = copy;
    for (size_t i = 0; i < n; i++) {
        memcpy(to, at, (size_t)(cuts[i].from - at));
        to += cuts[i].from - at;
        at = cuts[i].to;
    }
    memcpy(to, at, (size_t)(text.data + text.n - at));
    copy[left_n] = '\0';
    return parse_copy(a, copy, (struct bytes){copy, left_n}, NULL, NULL);
}
