/* table_cells.h - cells of a row, one after the other, and what several kinds show in the same way */
#ifndef APISERVER_TABLE_CELLS_H
#define APISERVER_TABLE_CELLS_H
#include "wire/json.h"

struct table_cells {
    struct buf *out;
    struct arena *arena;
    int64_t now_ms;
    bool started; /* a comma is due */
};
void cell_text(struct table_cells *c, const char *text);
void cell_text_or_none(struct table_cells *c, const char *text); /* "<none>" for NULL and "" */
void cell_int(struct table_cells *c, int64_t value);
void cell_null(struct table_cells *c);
void cell_json(struct table_cells *c, const struct json *v);
void cell_printf(struct table_cells *c, const char *format, ...) PRINTF_LIKE(2, 3);
void cell_name(struct table_cells *c, const struct json *object);
void cell_age(struct table_cells *c, const struct json *object); /* of metadata.creationTimestamp */
void cell_since(struct table_cells *c, const char *time, const char *when_absent);
const char *cell_age_text(struct table_cells *c, const char *time); /* "5m"; "<unknown>" when it is no time */
const char *cell_selector(struct table_cells *c,
                          const struct json *label_selector); /* metav1.LabelSelector as text, "<none>" when empty */
const char *cell_labels(struct table_cells *c, const struct json *map);   /* "a=b,c=d" sorted, "<none>" when empty */
void cell_containers(struct table_cells *c, const struct json *pod_spec); /* two cells: names, images */

#endif
