/* page_counters.c - the counters file of dcgm-exporter, and the list without one */
#include <stdlib.h>
#include <string.h>
#include "exporter/pages/page.h"

#define LIMIT_COUNTERS 512 /* lines of a counters file that are no comment: three times what DCGM has */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct bytes trimmed(const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return (struct bytes){from, (size_t)(to - from)};
}

static bool is_one_of(struct bytes name, const char *names)
{
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (n == name.n && memcmp(at, name.data, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static const struct dcgm_field *field_find(struct bytes name)
{
    for (uint32_t i = 0; i < dcgm_fields_n; i++)
        if (bytes_is(name, dcgm_fields[i].name) || is_one_of(name, dcgm_fields[i].other_names))
            return &dcgm_fields[i];
    return NULL;
}

static int type_parse(struct bytes text, struct page_counter *c)
{
    c->is_label = bytes_is(text, "label");
    if (bytes_is(text, "gauge") || c->is_label)
        c->type = PROMETHEUS_GAUGE;
    else if (bytes_is(text, "counter"))
        c->type = PROMETHEUS_COUNTER;
    else if (bytes_is(text, "histogram") || bytes_is(text, "summary"))
        c->type = PROMETHEUS_UNTYPED;
    else
        return -1;
    return 0;
}

/* A quoted cell from behind its quote on; two quotes stand for one. Returns what follows it, or NULL: it does not end. */
static const char *quoted(struct arena *a, const char *at, const char *end, struct bytes *ret)
{
    char *out = arena_alloc(a, (size_t)(end - at) + 1);
    size_t n = 0;
    for (; at < end; at++) {
        if (*at == '"' && (at + 1 == end || at[1] != '"')) {
            *ret = (struct bytes){out, n};
            return at + 1;
        }
        at += *at == '"';
        out[n++] = *at;
    }
    return NULL;
}

/* Three cells, by commas as CSV has it, with blanks around them. */
static int split(struct arena *a, struct bytes line, struct bytes ret_cells[3])
{
    const char *end = line.data + line.n, *at = line.data;
    for (int i = 0; i < 3; i++) {
        while (at < end && is_blank(*at))
            at++;
        const char *from = at;
        if (at < end && *at == '"' && !(at = quoted(a, at + 1, end, &ret_cells[i])))
            return -1;
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (at == from)
            ret_cells[i] = trimmed(from, stop);
        else if (trimmed(at, stop).n > 0)
            return -1;
        if (!comma != (i == 2))
            return -1;
        at = stop + 1;
    }
    return 0;
}

static int by_field_id(const void *a, const void *b)
{
    const struct page_counter *x = a, *y = b;
    return (x->field->id > y->field->id) - (x->field->id < y->field->id);
}

static int read_line(struct arena *a, struct bytes line, int number, bool strict, struct page_counter *c,
                     struct buf *warnings, struct err *e)
{
    struct bytes cells[3];
    if (split(a, line, cells) < 0)
        return err_set(e, E_INVALID,
                       "line %d: three fields are expected: NAME, gauge|counter|label, help (quoted if it has a comma)",
                       number);
    if (type_parse(cells[1], c) < 0)
        return err_set(e, E_INVALID, "line %d: type '%.*s': use gauge, counter or label", number,
                       (int)(cells[1].n < 40 ? cells[1].n : 40), cells[1].data);
    c->field = field_find(cells[0]);
    c->name = arena_text_n(a, cells[0].data, cells[0].n);
    c->help = arena_text_n(a, cells[2].data, cells[2].n);
    if (c->field)
        return 1;
    if (strict)
        return err_set(e, E_INVALID, "line %d: '%.*s' is no field that is known here", number,
                       (int)(cells[0].n < 80 ? cells[0].n : 80), cells[0].data);
    if (warnings)
        buf_printf(warnings, "line %d: '%.*s' is not known here: left out\n", number,
                   (int)(cells[0].n < 80 ? cells[0].n : 80), cells[0].data);
    return 0;
}

static bool is_there(const struct page_counter *list, uint32_t n, const struct dcgm_field *field)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].field == field)
            return true;
    return false;
}

int page_counters_parse(struct arena *a, struct bytes csv, bool strict, struct page_counter **ret_counters,
                        uint32_t *ret_n, struct buf *warnings, struct err *e)
{
    struct page_counter *list = arena_alloc(a, LIMIT_COUNTERS * sizeof *list);
    uint32_t n = 0;
    int number = 0;
    if (csv.n >= 3 && memcmp(csv.data, "\xef\xbb\xbf", 3) == 0) /* byte order mark of some editors */
        csv = (struct bytes){csv.data + 3, csv.n - 3};
    if (csv.n == 0)
        csv = bytes_of("");
    const char *end = csv.data + csv.n;
    for (const char *at = csv.data, *stop; at < end; at = stop < end ? stop + 1 : end) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct bytes line = trimmed(at, stop);
        number++;
        if (line.n == 0 || line.data[0] == '#')
            continue;
        if (n == LIMIT_COUNTERS)
            return err_set(e, E_LIMIT, "line %d: at most %d counters", number, LIMIT_COUNTERS);
        int r = read_line(a, line, number, strict, &list[n], warnings, e);
        if (r < 0)
            return r;
        if (r > 0 && is_there(list, n, list[n].field)) {
            if (strict)
                return err_set(e, E_INVALID, "line %d: %s stands twice", number, list[n].name);
            if (warnings)
                buf_printf(warnings, "line %d: %s stands twice: left out\n", number, list[n].name);
            r = 0;
        }
        n += (uint32_t)r;
    }
    qsort(list, n, sizeof *list, by_field_id);
    *ret_counters = list;
    *ret_n = n;
    return 0;
}

void page_counters_default(struct arena *a, struct page_counter **ret_counters, uint32_t *ret_n)
{
    struct page_counter *list = arena_alloc(a, dcgm_fields_n * sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < dcgm_fields_n; i++) {
        struct page_counter *c = &list[n];
        c->field = &dcgm_fields[i];
        c->name = c->field->name;
        c->help = c->field->help;
        (void)type_parse(bytes_of(c->field->type), c); /* the table's types are checked when it is made */
        n += c->field->is_default;
    }
    *ret_counters = list;
    *ret_n = n;
}
