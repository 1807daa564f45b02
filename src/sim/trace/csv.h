/* csv.h - a table of a trace, row by row: FILE.csv or FILE.csv.gz, whatever its size
 *
 * SHAPE  the first line names the columns; those that are asked for may stand in any order, others are passed over. No quotes.
 * LIMIT  LIMIT_TRACE_LINE bytes a line, LIMIT_TRACE_COLUMNS columns.
 * BAD INPUT  "FILE: line 7, column num_gpu: ..."
 */
#ifndef SIM_CSV_H
#define SIM_CSV_H
#include "base/bytes.h"
#include "base/err.h"

struct csv;
#define CSV_ASKED_MAX 8
/* `columns` ends with NULL; a name that begins with '?' need not be there (its cells are empty). */
int csv_open(const char *path, const char *const *columns, struct csv **ret_csv, struct err *e);
void csv_close(struct csv *c); /* NULL-safe */
/* The next row's cells, in the order of `columns`, good until the next call. 1, 0 at the end, or -code. Empty lines are passed over. */
int csv_next(struct csv *c, struct bytes ret_cells[CSV_ASKED_MAX], struct err *e);
/* A line as it is, without its end: for files without columns (`columns` empty). The same results. */
int csv_line(struct csv *c, struct bytes *ret_line, struct err *e);
/* A whole number from 0 to most, where traces may write 12.0 for 12. */
int csv_number(const struct csv *c, uint32_t column, struct bytes cell, int64_t most, int64_t *ret_n, struct err *e);
/* Says where: for what is wrong with a cell that was read. Returns -E_INVALID. */
int csv_wrong(const struct csv *c, uint32_t column, struct err *e, const char *format, ...) PRINTF_LIKE(4, 5);

#endif
