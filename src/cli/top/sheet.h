/* sheet.h - one list on a screen: its order, its cursor, the rows that are to be seen
 *
 * The cursor stays on its row by the row's key, wherever that is in the next listing; where it is gone, at its place.
 */
#ifndef CLI_TOP_SHEET_H
#define CLI_TOP_SHEET_H
#include "cli/live/live.h"

enum { SHEET_CELL_MAX = 40 }; /* columns. WHY  names have up to 253 letters, and what stands behind one is to be seen too */

struct sheet { /* begin with sort = -1, else zero */
    int sort;  /* column by which rows are put in order; -1: as they came */
    bool reverse;
    uint32_t at, first; /* rows: of the cursor, the first that is to be seen */
    char *key;          /* of the row at the cursor; NULL none */
    int shift;          /* columns of the screen that lie left of it */
};
void sheet_fini(struct sheet *s);

/* "wait": by what it is in seconds, where the list has that. */
const char *sheet_sort_key(const struct output_table *t, int column);
/* Puts a new listing in order and the cursor on its row. */
void sheet_take(struct sheet *s, struct output_table *t);
/* The cursor so many rows further, within the table. */
void sheet_move(struct sheet *s, const struct output_table *t, int64_t rows);
/* The next column (step 1 or -1) that is shown: rows are put in order by it; past both ends: as they came. */
void sheet_sort_step(struct sheet *s, const struct live_list *list, int step);
/* first: so that the cursor is among `lines` rows. */
void sheet_scroll(struct sheet *s, const struct output_table *t, uint32_t lines);

/* Head and rows, a line each, cells cut to SHEET_CELL_MAX with '>'. Free it. NULL: no memory. */
char *sheet_text(const struct output_table *t);
/* All cells of the row, "TITLE: cell", a line each. */
void sheet_row_text(const struct output_table *t, uint32_t row, struct buf *out);

#endif
