/* table.c - answers as a Table of meta.k8s.io: the server decides what `kubectl get` shows
 *
 * Built-in kinds have their own cell rules (table_columns*.c). Other kinds are shown by the columns of their CRD, found
 * by JSONPath; without any, by name and age.
 */
#include "apiserver/tables/table.h"

#include "apiserver/request/accept.h"
#include "apiserver/tables/table_columns.h"
#include "apiserver/tables/table_path.h"

static const struct table_column name_age_columns[] = {COLUMN_NAME, COLUMN_AGE};

bool table_wanted(const struct http_request *r)
{
    return accept_as(r, "Table", "meta.k8s.io", NULL);
}

static void column_write(struct buf *out, const struct table_column *column, bool first)
{
    buf_text(out, first ? "{\"name\":" : ",{\"name\":");
    json_write_string(out, bytes_of(column->name));
    buf_text(out, ",\"type\":");
    json_write_string(out, bytes_of(column->type));
    buf_text(out, ",\"format\":");
    json_write_string(out, bytes_of(column->format ? column->format : ""));
    buf_text(out, ",\"description\":");
    json_write_string(out, bytes_of(column->description ? column->description : ""));
    buf_printf(out, ",\"priority\":%d}", column->priority);
}

/* NULL for kinds without columns of their own. */
static const struct table_layout *layout_find(const char *group, const char *kind)
{
    static const struct table_layout *const lists[] = {table_layouts_pod, table_layouts_workload, table_layouts_service,
                                                       table_layouts_object};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct table_layout *layout = lists[i]; layout->kind; layout++)
            if (strcmp(layout->kind, kind) == 0 && strcmp(layout->group, group) == 0)
                return layout;
    return NULL;
}

static void columns_write(struct buf *out, const struct request_info *ri)
{
    const struct table_layout *layout = layout_find(ri->kind->group, ri->kind->kind);
    if (layout) {
        for (uint32_t i = 0; i < layout->columns_n; i++)
            column_write(out, &layout->columns[i], i == 0);
        return;
    }
    column_write(out, &name_age_columns[0], true);
    const struct kind_version *version = ri->kind_version;
    if (!version || version->columns_n == 0) {
        column_write(out, &name_age_columns[1], false);
        return;
    }
    for (uint32_t i = 0; i < version->columns_n; i++) {
        const struct kind_column *c = &version->columns[i];
        if (strcmp(c->name, "Name") == 0)
            continue;
        struct table_column column = {c->name, c->type, c->format, c->priority, c->json_path};
        column_write(out, &column, false);
    }
}

void table_begin(struct buf *out, const struct request_info *ri, const char *rv, const char *continue_token,
                 int64_t remaining, bool columns)
{
    buf_text(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{");
    const char *comma = "";
    if (rv && *rv) {
        buf_text(out, "\"resourceVersion\":");
        json_write_string(out, bytes_of(rv));
        comma = ",";
    }
    if (continue_token && *continue_token) {
        buf_printf(out, "%s\"continue\":", comma);
        json_write_string(out, bytes_of(continue_token));
        comma = ",";
    }
    if (remaining >= 0)
        buf_printf(out, "%s\"remainingItemCount\":%lld", comma, (long long)remaining);
    buf_text(out, "},\"columnDefinitions\":[");
    if (columns)
        columns_write(out, ri);
    buf_text(out, "],\"rows\":[");
}

/* One cell of a custom column: dates as ages, scalars as they are, the rest as JSON text. */
static void custom_cell(struct table_cells *c, const struct kind_column *column, const struct json *object)
{
    const struct json *v = table_path_find(object, column->json_path);
    if (!v) {
        cell_null(c);
    } else if (strcmp(column->type, "date") == 0) {
        cell_since(c, json_text(v, ""), "<unknown>");
    } else if (strcmp(column->type, "string") == 0 && v->type != JSON_STRING) {
        struct buf text = {0};
        json_write(&text, v);
        cell_text(c, text.data);
        buf_free(&text);
    } else if (v->type >= JSON_ARRAY) {
        cell_null(c);
    } else {
        cell_json(c, v);
    }
}

static void custom_cells(struct table_cells *c, const struct kind_version *version, const struct json *object)
{
    cell_name(c, object);
    if (!version || version->columns_n == 0) {
        cell_age(c, object);
        return;
    }
    for (uint32_t i = 0; i < version->columns_n; i++)
        if (strcmp(version->columns[i].name, "Name") != 0)
            custom_cell(c, &version->columns[i], object);
}

static void row_object(struct buf *out, const struct json *object, const char *include)
{
    if (include && strcmp(include, "None") == 0) {
        buf_text(out, "null");
    } else if (include && strcmp(include, "Object") == 0) {
        json_write(out, object);
    } else {
        accept_partial_write(out, object);
    }
}

void table_row(struct buf *out, const struct request_info *ri, struct arena *a, const struct json *object,
               const char *include, bool first)
{
    const struct table_layout *layout = layout_find(ri->kind->group, ri->kind->kind);
    struct table_cells cells = {.out = out, .arena = a, .now_ms = loop_wall_ms(ri->server->loop)};
    buf_text(out, first ? "{\"cells\":[" : ",{\"cells\":[");
    if (layout)
        layout->cells(&cells, object);
    else
        custom_cells(&cells, ri->kind_version, object);
    buf_text(out, "],\"object\":");
    row_object(out, object, include);
    buf_char(out, '}');
}

void table_end(struct buf *out)
{
    buf_text(out, "]}");
}
