/* schema_pattern.c - patterns of schemas (RE2's syntax), in time that grows with pattern times text and nothing worse
 *
 * SHAPE  pattern -> tree -> program of few operations -> all its threads at once over the text (Thompson). Nothing is captured: what counts
 *        is whether there is a match, so lazy and greedy are the same. Characters are code points.
 * WHY    not the C library's regcomp: 2,000 bytes of "aaaa..." against nested repeats took it 11 s and 500 MB, and patterns come from
 *        outside.
 * LIMIT  PROGRAM_MAX operations, VISITS_MAX parts on the way to them, DEPTH_MAX groups inside each other, STEPS_MAX steps: what is beyond
 *        counts as a match, as does what RE2 refuses ("a**") and what it has and this has not (\p, flags but (?i) in front).
 */
#include <stdlib.h>

#include "codec/schema/schema_checks.h"

#define PROGRAM_MAX 20000
#define PROGRAM_USUAL 512 /* operations: most patterns need fewer */
#define VISITS_MAX (10 * PROGRAM_MAX) /* "((){1000}){1000}" is a million times nothing */
#define DEPTH_MAX 100
#define REPEAT_MAX 1000 /* RE2's own */
#define STEPS_MAX 50000000
#define RANGES_MAX 16 /* of a class beyond ASCII */

struct class {
    bool ascii[128];
    struct {
        uint32_t low, high;
    } ranges[RANGES_MAX]; /* code points from 128 on */
    uint32_t ranges_n;
    bool negated;
};
enum node_type { NODE_EMPTY, NODE_CLASS, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_ASSERT };
struct node {
    enum node_type type;
    const struct class *class;
    struct node *left, *right; /* CAT, ALT; REPEAT: left */
    int min, max;              /* REPEAT; max -1 = any number */
    char assert;               /* '^', '$', 'b', 'B' */
};
enum op { OP_CLASS, OP_SPLIT, OP_JUMP, OP_ASSERT, OP_MATCH };
struct instruction {
    enum op op;
    const struct class *class;
    uint32_t to, or; /* SPLIT, JUMP */
    char assert;
};
struct pattern {
    struct arena *arena;
    const char *at;
    bool failed, fold;
    int depth;
    struct instruction *program;
    uint32_t n, cap, visits;
};

/* ---- pattern -> tree ---- */

static struct node *node_new(struct pattern *p, enum node_type type, struct node *left, struct node *right)
{
    struct node *x = arena_zero(p->arena, 1, sizeof *x);
    x->type = type;
    x->left = left;
    x->right = right;
    return x;
}

static uint32_t code_point(const char **at)
{
    const unsigned char *s = (const unsigned char *)*at;
    unsigned more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
    uint32_t c = more == 3 ? *s & 7 : more == 2 ? *s & 15 : more == 1 ? *s & 31 : *s;
    for (s++; more && (*s & 0xc0) == 0x80; more--)
        c = c << 6 | (*s++ & 0x3f);
    *at = (const char *)s;
    return c;
}

static void class_add(struct pattern *p, struct class *x, uint32_t low, uint32_t high)
{
    p->failed = p->failed || low > high;
    for (uint32_t c = low; c <= high && c < 128; c++) {
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        x->ascii[c] = true;
        if (p->fold && letter)
            x->ascii[c ^ 0x20] = true;
    }
    if (high < 128)
        return;
    if (x->ranges_n == RANGES_MAX) {
        p->failed = true;
        return;
    }
    x->ranges[x->ranges_n].low = low < 128 ? 128 : low;
    x->ranges[x->ranges_n++].high = high;
}

/* \d \w \s and [:alpha:]: false when it is none of them. */
static bool class_add_named(struct pattern *p, struct class *x, char name)
{
    switch (name) {
    case 'd':
        class_add(p, x, '0', '9');
        return true;
    case 'w':
        class_add(p, x, '0', '9');
        class_add(p, x, 'a', 'z');
        class_add(p, x, 'A', 'Z');
        class_add(p, x, '_', '_');
        return true;
    case 's':
        class_add(p, x, '\t', '\n');
        class_add(p, x, '\f', '\r');
        class_add(p, x, ' ', ' ');
        return true;
    default:
        return false;
    }
}

static void class_invert(struct class *x)
{
    for (int c = 0; c < 128; c++)
        x->ascii[c] = !x->ascii[c];
    x->negated = !x->negated;
}

/* The character that an escape stands for. */
static uint32_t escaped(struct pattern *p)
{
    static const char names[] = "tnrfva", values[] = "\t\n\r\f\v\a";
    char c = *p->at;
    const char *known = c ? strchr(names, c) : NULL;
    if (c == 'x' && p->at[1] && p->at[2] && p->at[1] != '{') {
        char digits[3] = {p->at[1], p->at[2], 0}, *end;
        unsigned long value = strtoul(digits, &end, 16);
        p->failed = p->failed || *end;
        p->at += 3;
        return (uint32_t)value;
    }
    bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    p->failed = p->failed || !c || (word && !known);
    if (!c)
        return 0;
    if (known) {
        p->at++;
        return (unsigned char)values[known - names];
    }
    return code_point(&p->at);
}

/* [:alpha:] and its like stand for ranges of ASCII. */
static bool class_add_posix(struct pattern *p, struct class *x)
{
    static const struct {
        const char *name, *pairs;
    } sets[] = {{"[:alnum:]", "09azAZ"}, {"[:alpha:]", "azAZ"}, {"[:digit:]", "09"}, {"[:lower:]", "az"}, {"[:upper:]", "AZ"},
                {"[:space:]", "\t\r  "}, {"[:xdigit:]", "09afAF"}, {"[:word:]", "09azAZ__"}, {"[:punct:]", "!/:@[`{~"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (text_starts(p->at, sets[i].name)) {
            for (const char *pair = sets[i].pairs; *pair; pair += 2)
                class_add(p, x, (unsigned char)pair[0], (unsigned char)pair[1]);
            p->at += strlen(sets[i].name);
            return true;
        }
    return false;
}

/* One member of [...]: a class, or a character that may begin a range. */
static void bracket_member(struct pattern *p, struct class *x)
{
    if (p->at[0] == '[' && p->at[1] == ':') {
        p->failed = p->failed || !class_add_posix(p, x);
        return;
    }
    if (p->at[0] == '\\' && p->at[1] && strchr("dws", p->at[1])) {
        (void)class_add_named(p, x, p->at[1]);
        p->at += 2;
        return;
    }
    uint32_t low, high;
    if (!*p->at) { /* nobody closes the bracket */
        p->failed = true;
        return;
    }
    if (*p->at == '\\') {
        p->at++;
        low = escaped(p);
    } else {
        low = code_point(&p->at);
    }
    high = low;
    if (p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
        p->at++;
        if (*p->at == '\\') {
            p->at++;
            high = escaped(p);
        } else {
            high = code_point(&p->at);
        }
    }
    class_add(p, x, low, high);
}

static struct node *class_node(struct pattern *p, struct class **ret_class)
{
    struct node *node = node_new(p, NODE_CLASS, NULL, NULL);
    *ret_class = arena_zero(p->arena, 1, sizeof **ret_class);
    node->class = *ret_class;
    return node;
}

static struct node *read_brackets(struct pattern *p)
{
    struct class *x;
    struct node *node = class_node(p, &x);
    bool negated = *p->at == '^';
    p->at += negated;
    do
        bracket_member(p, x);
    while (*p->at && *p->at != ']' && !p->failed);
    p->failed = p->failed || *p->at != ']';
    p->at += *p->at == ']';
    if (negated)
        class_invert(x);
    return node;
}

static struct node *read_assert(struct pattern *p, char what)
{
    struct node *node = node_new(p, NODE_ASSERT, NULL, NULL);
    node->assert = what;
    return node;
}

static struct node *read_escape(struct pattern *p)
{
    struct class *x;
    char c = *p->at, lower = (char)(c | 0x20);
    if (c == 'A' || c == 'z' || c == 'b' || c == 'B') {
        p->at++;
        return read_assert(p, c == 'A' ? '^' : c == 'z' ? '$' : c);
    }
    struct node *node = class_node(p, &x);
    if (c && strchr("dwsDWS", c)) {
        p->at++;
        (void)class_add_named(p, x, lower);
        if (c != lower)
            class_invert(x);
        return node;
    }
    uint32_t one = escaped(p);
    class_add(p, x, one, one);
    return node;
}

static struct node *read_alternatives(struct pattern *p);

static struct node *read_group(struct pattern *p)
{
    if (p->at[0] == '?' && p->at[1] == ':')
        p->at += 2;
    else if (p->at[0] == '?' && p->at[1] == 'P' && p->at[2] == '<')
        p->at += strcspn(p->at, ">") + (strchr(p->at, '>') != NULL);
    else
        p->failed = p->failed || *p->at == '?';
    p->failed = p->failed || ++p->depth > DEPTH_MAX;
    struct node *inner = p->failed ? node_new(p, NODE_EMPTY, NULL, NULL) : read_alternatives(p);
    p->depth--;
    p->failed = p->failed || *p->at != ')';
    p->at += *p->at == ')';
    return inner;
}

static struct node *read_atom(struct pattern *p)
{
    struct class *x;
    char c = *p->at;
    if (c == '(' || c == '[' || c == '\\' || c == '^' || c == '$')
        p->at++;
    if (c == '(')
        return read_group(p);
    if (c == '[')
        return read_brackets(p);
    if (c == '\\')
        return read_escape(p);
    if (c == '^' || c == '$')
        return read_assert(p, c);
    struct node *node = class_node(p, &x);
    p->failed = p->failed || c == '*' || c == '+' || c == '?';
    uint32_t one = code_point(&p->at);
    class_add(p, x, c == '.' ? '\n' : one, c == '.' ? '\n' : one);
    if (c == '.')
        class_invert(x);
    return node;
}

/* {n}, {n,}, {n,m}; false: the brace stands for itself. */
static bool read_bounds(struct pattern *p, int *ret_min, int *ret_max)
{
    char *end;
    if (p->at[1] < '0' || p->at[1] > '9')
        return false;
    long min = strtol(p->at + 1, &end, 10), max = min;
    if (*end == ',') {
        end++;
        max = *end == '}' ? -1 : strtol(end, &end, 10);
    }
    if (*end != '}')
        return false;
    p->failed = p->failed || min > REPEAT_MAX || max > REPEAT_MAX || (max >= 0 && max < min);
    *ret_min = (int)min;
    *ret_max = (int)max;
    p->at = end + 1;
    return true;
}

/* *, +, ?, {n,m}, lazy or not; false: none of them stands here. */
static bool read_repeat(struct pattern *p, int *ret_min, int *ret_max)
{
    char c = *p->at;
    if (c == '*' || c == '+' || c == '?') {
        *ret_min = c == '+';
        *ret_max = c == '?' ? 1 : -1;
        p->at++;
    } else if (c != '{' || !read_bounds(p, ret_min, ret_max)) {
        return false;
    }
    p->at += *p->at == '?'; /* lazy */
    return true;
}

static struct node *read_repeats(struct pattern *p)
{
    struct node *node = read_atom(p);
    int min, max, more;
    if (p->failed || !read_repeat(p, &min, &max))
        return node;
    node = node_new(p, NODE_REPEAT, node, NULL);
    node->min = min;
    node->max = max;
    p->failed = p->failed || read_repeat(p, &more, &more);
    return node;
}

static struct node *read_alternatives(struct pattern *p)
{
    struct node *all = NULL, *one = node_new(p, NODE_EMPTY, NULL, NULL);
    while (!p->failed && *p->at && *p->at != ')') {
        if (*p->at == '|') {
            p->at++;
            all = all ? node_new(p, NODE_ALT, all, one) : one;
            one = node_new(p, NODE_EMPTY, NULL, NULL);
        } else {
            one = node_new(p, NODE_CAT, one, read_repeats(p));
        }
    }
    return all ? node_new(p, NODE_ALT, all, one) : one;
}

/* ---- tree -> program ---- */

static uint32_t emit(struct pattern *p, enum op op)
{
    if (p->n == p->cap) {
        p->failed = true;
        return 0;
    }
    p->program[p->n].op = op;
    return p->n++;
}

static void emit_node(struct pattern *p, const struct node *x);

static void emit_optional(struct pattern *p, const struct node *x, bool again)
{
    uint32_t split = emit(p, OP_SPLIT);
    p->program[split].to = split + 1;
    emit_node(p, x);
    if (again)
        p->program[emit(p, OP_JUMP)].to = split;
    p->program[split].or = p->n;
}

static void emit_repeat(struct pattern *p, const struct node *x)
{
    for (int i = 0; i < x->min && !p->failed; i++)
        emit_node(p, x->left);
    for (int i = x->min; i < x->max && !p->failed; i++)
        emit_optional(p, x->left, false);
    if (x->max < 0)
        emit_optional(p, x->left, true);
}

/* WHY  a chain of CAT leans to the left and is as long as the pattern: its left side is gone down in a loop. */
static void emit_cat(struct pattern *p, const struct node *x)
{
    size_t n = 0;
    for (const struct node *at = x; at->type == NODE_CAT; at = at->left)
        n++;
    const struct node **parts = arena_zero(p->arena, n + 1, sizeof *parts);
    for (const struct node *at = x; at->type == NODE_CAT; at = at->left)
        parts[--n] = at->right;
    for (; *parts && !p->failed; parts++)
        emit_node(p, *parts);
}

static void emit_node(struct pattern *p, const struct node *x)
{
    uint32_t at;
    p->failed = p->failed || ++p->visits > VISITS_MAX;
    if (p->failed)
        return;
    switch (x->type) {
    case NODE_EMPTY:
        break;
    case NODE_CLASS:
        at = emit(p, OP_CLASS);
        p->program[at].class = x->class;
        break;
    case NODE_ASSERT:
        at = emit(p, OP_ASSERT);
        p->program[at].assert = x->assert;
        break;
    case NODE_CAT:
        emit_cat(p, x);
        break;
    case NODE_ALT:
        at = emit(p, OP_SPLIT);
        p->program[at].to = at + 1;
        emit_node(p, x->left);
        uint32_t jump = emit(p, OP_JUMP);
        p->program[at].or = p->n;
        emit_node(p, x->right);
        p->program[jump].to = p->n;
        break;
    case NODE_REPEAT:
        emit_repeat(p, x);
        break;
    }
}

/* ---- all threads at once ---- */

struct threads {
    uint32_t *at; /* program counters */
    uint32_t n;
};
struct run {
    const struct pattern *pattern;
    uint32_t *stack;
    uint32_t *seen; /* operation -> number of the text position + 1 at which it was added last */
    uint64_t steps;
};

static bool class_has(const struct class *x, uint32_t c)
{
    bool inside = false;
    if (c < 128)
        return x->ascii[c];
    for (uint32_t i = 0; i < x->ranges_n; i++)
        inside = inside || (c >= x->ranges[i].low && c <= x->ranges[i].high);
    return inside != x->negated;
}

static bool is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* before, after: the characters around this place; 0 = none. */
static bool holds(char what, uint32_t before, uint32_t after)
{
    if (what == '^')
        return !before;
    if (what == '$')
        return !after;
    return (is_word(before) != is_word(after)) == (what == 'b');
}

/* Add the thread and all that follow from it without a character. True: the pattern has matched. */
static bool thread_add(struct run *x, struct threads *t, uint32_t first, uint32_t mark, uint32_t before, uint32_t after)
{
    uint32_t n = 0;
    x->stack[n++] = first;
    for (; n; x->steps++) {
        uint32_t pc = x->stack[--n];
        const struct instruction *i = &x->pattern->program[pc];
        if (x->seen[pc] == mark)
            continue;
        x->seen[pc] = mark;
        if (i->op == OP_MATCH)
            return true;
        if (i->op == OP_CLASS)
            t->at[t->n++] = pc;
        else if (i->op == OP_JUMP || i->op == OP_SPLIT)
            x->stack[n++] = i->to;
        else if (holds(i->assert, before, after))
            x->stack[n++] = pc + 1;
        if (i->op == OP_SPLIT)
            x->stack[n++] = i->or;
    }
    return false;
}

static bool run(const struct pattern *p, const char *text)
{
    struct arena *a = p->arena;
    struct run x = {p, arena_alloc(a, (2 * (size_t)p->n + 2) * sizeof *x.stack), arena_zero(a, p->n, sizeof *x.seen), 0};
    struct threads now = {arena_alloc(a, p->n * sizeof *now.at), 0}, next = {arena_alloc(a, p->n * sizeof *next.at), 0};
    uint32_t mark = 1, before = 0;
    for (const char *at = text;; mark++) {
        const char *rest = at;
        uint32_t c = code_point(&rest);
        /* a match may begin here, too */
        if (thread_add(&x, &now, 0, mark, before, c))
            return true;
        x.steps += now.n;
        if (!c || x.steps > STEPS_MAX)
            return c != 0;
        const char *peek = rest;
        uint32_t after = code_point(&peek);
        next.n = 0;
        for (uint32_t i = 0; i < now.n; i++)
            if (class_has(p->program[now.at[i]].class, c) && thread_add(&x, &next, now.at[i] + 1, mark + 1, c, after))
                return true;
        struct threads swap = now;
        now = next;
        next = swap;
        before = c;
        at = rest;
    }
}

/* False: the pattern is beyond this program's means, of which it may have more. */
static bool compile(struct pattern *p, struct arena *a, const char *pattern, uint32_t cap)
{
    *p = (struct pattern){.arena = a, .at = pattern, .program = arena_zero(a, cap, sizeof *p->program), .cap = cap};
    if (text_starts(pattern, "(?i)")) {
        p->fold = true;
        p->at += 4;
    }
    const struct node *tree = read_alternatives(p);
    p->failed = p->failed || *p->at;
    emit_node(p, tree);
    (void)emit(p, OP_MATCH);
    return !p->failed;
}

static bool compile_any(struct pattern *p, struct arena *a, const char *pattern)
{
    return compile(p, a, pattern, PROGRAM_USUAL) || (p->n >= PROGRAM_USUAL && compile(p, a, pattern, PROGRAM_MAX));
}

bool schema_pattern_matches(const char *pattern, const char *text)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct pattern p;
    return !compile_any(&p, a, pattern) || run(&p, text);
}

bool schema_pattern_finds(const char *pattern, const char *const *texts, uint32_t n, bool *ret_matches)
{
    _cleanup_arena_ struct arena *a = arena_new(), *scratch = arena_new();
    struct pattern p;
    if (!compile_any(&p, a, pattern))
        return false;
    p.arena = scratch;
    for (uint32_t i = 0; i < n; i++) {
        ret_matches[i] = run(&p, texts[i]);
        arena_reset(scratch);
    }
    return true;
}
