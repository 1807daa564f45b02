#include "apiserver/tables/table_cells.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

static void cell_start(struct table_cells *c)
{
    if (c->started)
        buf_char(c->out, ',');
    c->started = true;
}

void cell_text(struct table_cells *c, const char *text)
{
    cell_start(c);
    json_write_string(c->out, bytes_of(text ? text : ""));
}

void cell_text_or_none(struct table_cells *c, const char *text)
{
    cell_text(c, text && *text ? text : "<none>");
}

void cell_int(struct table_cells *c, int64_t value)
{
    cell_start(c);
    buf_int64(c->out, value);
}

void cell_null(struct table_cells *c)
{
    cell_start(c);
    buf_text(c->out, "null");
}

void cell_json(struct table_cells *c, const struct json *v)
{
    cell_start(c);
    json_write(c->out, v);
}

void cell_printf(struct table_cells *c, const char *format, ...)
{
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cell_text(c, text.data);
    buf_free(&text);
}

void cell_name(struct table_cells *c, const struct json *object)
{
    cell_text(c, json_text(json_path(object, "metadata", "name", NULL), ""));
}

const char *cell_age_text(struct table_cells *c, const char *time)
{
    char text[TIME_TEXT_MAX];
    int64_t at_ms;
    if (!time || !time_parse(bytes_of(time), &at_ms))
        return "<unknown>";
    return arena_text(c->arena, time_age(text, c->now_ms - at_ms));
}

void cell_age(struct table_cells *c, const struct json *object)
{
    cell_text(c, cell_age_text(c, json_text(json_path(object, "metadata", "creationTimestamp", NULL), NULL)));
}

void cell_since(struct table_cells *c, const char *time, const char *when_absent)
{
    cell_text(c, time && *time ? cell_age_text(c, time) : when_absent);
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *cell_labels(struct table_cells *c, const struct json *map)
{
    if (!json_is(map, JSON_OBJECT) || map->n == 0)
        return "<none>";
    const char **pairs = arena_alloc(c->arena, map->n * sizeof *pairs);
    size_t n = 0;
    JSON_EACH (item, map) {
        pairs[n++] = arena_printf(c->arena, "%s=%s", item->key, json_text(item, ""));
    }
    qsort(pairs, n, sizeof *pairs, text_order);
    struct buf text = {0};
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", pairs[i]);
    const char *result = arena_text_n(c->arena, text.data, text.n);
    buf_free(&text);
    return result;
}

static void selector_expression(struct buf *out, const struct json *expression)
{
    const char *key = json_get_text(expression, "key", ""), *op = json_get_text(expression, "operator", "");
    if (strcmp(op, "Exists") == 0 || strcmp(op, "DoesNotExist") == 0) {
        buf_printf(out, "%s%s", strcmp(op, "Exists") == 0 ? "" : "!", key);
        return;
    }
    buf_printf(out, "%s %s (", key, strcmp(op, "In") == 0 ? "in" : "notin");
    JSON_EACH (value, json_get(expression, "values")) {
        buf_printf(out, "%s%s", value == json_get(expression, "values")->first ? "" : ",", json_text(value, ""));
    }
    buf_char(out, ')');
}

const char *cell_selector(struct table_cells *c, const struct json *label_selector)
{
    const struct json *labels = json_get(label_selector, "matchLabels"),
                      *expressions = json_get(label_selector, "matchExpressions");
    if (!expressions || expressions->n == 0)
        return cell_labels(c, labels);
    struct buf text = {0};
    if (labels && labels->n)
        buf_text(&text, cell_labels(c, labels));
    JSON_EACH (expression, expressions) {
        if (text.n)
            buf_char(&text, ',');
        selector_expression(&text, expression);
    }
    const char *result = arena_text_n(c->arena, text.data, text.n);
    buf_free(&text);
    return result;
}

void cell_containers(struct table_cells *c, const struct json *pod_spec)
{
    static const char *const members[] = {"name", "image"};
    for (size_t i = 0; i < 2; i++) {
        struct buf text = {0};
        JSON_EACH (container, json_get(pod_spec, "containers")) {
            buf_printf(&text, "%s%s", text.n ? "," : "", json_get_text(container, members[i], ""));
        }
        cell_text(c, text.data);
        buf_free(&text);
    }
}
