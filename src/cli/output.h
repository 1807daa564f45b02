/* output.h - how commands print data: one table of rows, four forms
 *
 * Data goes to stdout, words to stderr. `--output table` (default) aligns columns; json, yaml and csv carry the same cells under the
 * columns' keys, numbers as numbers.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
#include <stdio.h>
#include "cli/options.h"
#include "wire/json.h"

enum output_format { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_CSV, OUTPUT_NAME, OUTPUT_HTML };

/* What --output says; a table where it says nothing, or something else. */
enum output_format output_format_of(const struct options *o);

enum output_place {
    OUTPUT_EVERYWHERE,
    OUTPUT_FOR_PEOPLE,   /* table, wide and csv: a sentence of what stands in a column for programs */
    OUTPUT_FOR_PROGRAMS, /* json and yaml: the cell is JSON, written as it is */
    OUTPUT_FOR_SCREENS,  /* table alone: in short what a column of the other forms has */
};
struct output_column {
    const char *key;   /* JSON key, camelCase */
    const char *title; /* table heading, upper case */
    bool is_number;    /* JSON: number; table: right aligned */
    bool wide;         /* table: only with --output wide */
    enum output_place place;
    bool is_key;       /* rows of one listing differ in these: by them a row is found again in the next */
    bool ticks;        /* it is another one each time, without anything having happened: an age */
    bool is_quantity;  /* a text, as "10Gi"; put in order by what it is worth */
};
struct output_table {
    const struct output_column *columns;
    uint32_t columns_n;
    struct arena *arena;
    enum output_format format; /* that it will be printed in, for who fills it; output_init leaves table */
    const char **cells;        /* rows_n x columns_n */
    uint32_t rows_n, rows_cap;
    const char *note; /* what is not in it, for standard error; NULL: all is */
    const char *empty; /* why it has no row, for people; NULL: there is nothing */
};
void output_init(struct output_table *t, struct arena *a, const struct output_column *columns, uint32_t columns_n);
/* columns_n cells; NULL prints as "-" (JSON null). Texts are copied. */
void output_row(struct output_table *t, const char *const *cells);
/* By the column of that key (the one for programs, where there are two): numbers as numbers, texts as bytes, the least first; equal rows
 * stay as they were, and cells without a value come last either way. */
void output_sort(struct output_table *t, const char *key, bool reverse);
/* OUTPUT_NAME: columns "kind" and "name" as KIND/NAME, a line each. */
void output_print(const struct output_table *t, enum output_format format);
/* The rows as json and yaml have them. */
struct json *output_rows_json(const struct output_table *t);
void output_fini(struct output_table *t);

/* As fprintf, for sentences with names and messages of others in them: what moves the cursor or the text beside it is a question mark.
 * output_line: a line's end, too, but the last one. */
__attribute__((format(printf, 2, 3))) void output_say(FILE *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void output_line(FILE *f, const char *format, ...);

/* Lines of one table that comes in parts. widths: of each column, those of the parts before; they only grow. */
struct output_layout {
    int *widths; /* NULL: of this part alone */
    bool headless;
};
/* Aligned columns, as table and wide print them. */
void output_aligned(const struct output_table *t, bool wide, const struct output_layout *layout, FILE *f);
void output_csv(const struct output_table *t, bool headless);
/* Each row as one line of JSON. */
void output_json_lines(const struct output_table *t);

/* The keys of an object as cells: "a, b" (NULL: none) for people, a list for programs. */
const char *output_keys_text(struct arena *a, const struct json *object);
const char *output_keys_json(struct arena *a, const struct json *object);

/* At the end of a command: what it printed has to have arrived. Returns `code`, or says why not and returns 1; a reader that has seen
 * enough (a closed pipe) is no fault. */
int output_finish(const char *command, int code);

/* A JSON value as json, yaml (table falls back to yaml). */
void output_json(const struct json *v, enum output_format format);

/* Colour: only on a terminal and never with NO_COLOR. Returns "" otherwise. */
const char *output_bold(void);
const char *output_green(void);
const char *output_plain(void);

#endif
