/* live.h - tables that go on: --watch of the commands that list
 *
 *     terminal   the whole table again every period, cut to the window with a sign: '>' at the end of a line, "... 12 more" below
 *     pipe       first all rows, then a line for each that is new, has changed or is gone
 */
#ifndef CLI_LIVE_LIVE_H
#define CLI_LIVE_LIVE_H
#include "cli/connect.h"

/* What a command lists. */
struct live_list {
    const struct output_column *columns;
    uint32_t columns_n;
    /* Asks the server and adds rows; what it leaves in `e` is told instead. */
    void (*rows)(struct connection *c, struct output_table *t, const struct options *o, struct err *e);
};

/* As connection_print_table, and again and again with --watch (set "watch" of data/commands/shared.tsv). */
int live_print_table(const struct options *o, const struct live_list *list);

/* Calls `turn`, and again when --period is over or somebody stops the loop of `c`, until it returns something else than EXIT_OK, standard
 * output takes no more, or nobody reads it. Returns the exit code, 0 for LIVE_END. c: open. */
enum { LIVE_END = -1 };
int live_go_on(const struct options *o, struct connection *c, int (*turn)(void *arg), void *arg);
/* Can its cursor be moved? */
bool live_is_screen(void);
/* By what a row is found again in the next listing. */
const char *live_key(struct arena *a, const struct output_table *t, const char *const *cells);

/* How many columns UTF-8 text takes. */
int live_columns(const char *text, size_t n);
/* `text` cut to so many columns and lines, each line ended by `end`. */
void live_cut(struct buf *out, const char *text, int columns, int lines, const char *end);

struct live_rows; /* of one listing: by their keys, what they said */
struct live_rows *live_rows_new(const struct output_table *t);
void live_rows_free(struct live_rows *rows);
/* Rows of `now` that are new or changed since `before` (NULL: all are there), then those of `before` that are gone, with columns "time"
 * and "change" in front. changes: a table of two more columns than `now` has. */
void live_changes(struct output_table *changes, const char *time, const struct live_rows *before, const struct output_table *now);

#endif
