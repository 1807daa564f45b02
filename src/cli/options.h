/* options.h - what a command is given: one parser for all of them, over tables that are made from data/commands
 *
 *     --name VALUE   --name=VALUE   --flag   --flag=false   -o VALUE   -oVALUE   -o=VALUE   -Ah   --   ARGUMENT...
 *
 * ORDER  an option wins over the environment, that over the table's default. Of options that are given twice the last counts, but where the
 *        table says "may be given several times".
 * OWNER  texts are those of argv, the environment and the tables: nothing is copied.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "options_table.h"

enum exit_code { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOT_FOUND = 3, EXIT_NO_FIT = 4 };

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_WORD, OPTION_NUMBER, OPTION_TIME };
enum option_role { OPTION_IS_OPTION, OPTION_IS_SETTING, OPTION_IS_IGNORED, OPTION_IS_REFUSED }; /* as data/commands/shared.tsv says */
struct option_row {
    const char *name, *others, *shorts; /* without dashes; others and shorts by commas; NULL none */
    const char *words;                  /* OPTION_WORD: "refuse|evict" */
    const char *variables;              /* by commas; the last that is set counts */
    const char *normal;                 /* the default; NULL none */
    const char *verbs;                  /* by commas: those that it goes with; NULL all */
    const char *why;                    /* of what is ignored or refused */
    int64_t least, most;                /* UNIT of OPTION_TIME: ms */
    enum option_kind kind;
    enum option_role role;
    bool many;                          /* it may be given several times, and all of them count */
};
struct command_row {
    const char *name, *summary, *help;
    const char *verbs; /* by commas: what the first argument has to be; NULL none */
    const struct option_row *options;
    uint32_t options_n, arguments_least, arguments_most;
    const char *arguments_wrong; /* what to say when there are too few */
};
#define X(name) +1
enum { COMMANDS_N = COMMANDS(X) };
#undef X
extern const struct command_row command_rows[COMMANDS_N]; /* ORDER of COMMANDS */
extern const char *const completion_texts[];              /* bash, zsh, fish */
int command_find(const char *name);                       /* its place in command_rows; -1: there is none */

/* In the order in which they were given. */
struct option_given {
    uint32_t id;
    const char *text; /* "true" for a flag without a value */
};
struct options {
    const struct command_row *command;
    const char **values; /* by id, of the table, the environment or the command line */
    bool *on_line;       /* by id: the command line has it */
    struct option_given *given;
    uint32_t given_n;
    char **arguments; /* NULL ends them */
    int arguments_n;
};

/* argv[0] is the command's name. -1: go on; else the exit code, and what is wrong was said, or the help printed. Free in any case. */
int options_parse(struct options *o, const struct command_row *command, int argc, char **argv);
void options_free(struct options *o);
#define _cleanup_options_ _cleanup_(options_free)

/* `id` is OPT_COMMAND_NAME of options_table.h. The value was checked: a word is one of its words, a number within its range. */
const char *option_text(const struct options *o, uint32_t id);            /* NULL: not given */
bool option_flag(const struct options *o, uint32_t id);
int64_t option_number(const struct options *o, uint32_t id, int64_t none); /* none: when not given. Of a time milliseconds */
int option_word(const struct options *o, uint32_t id);                     /* index among its words; -1 not given */
/* The value of an option that commands share, by its name; NULL: not given, or the command has no such option. */
const char *option_shared(const struct options *o, const char *name);
/* Its place among the command's options, by a name without dashes; -1 none. */
int option_find(const struct command_row *command, const char *name, size_t name_n);

/* Is `text` (NULL: "") one of `patterns`, by commas, as file names are matched, whatever the case? patterns NULL: all are. */
bool option_picks(const char *patterns, const char *text);

/* "capstan COMMAND: ..." and where help is; returns EXIT_USAGE. */
int options_wrong(const struct options *o, const char *format, ...) PRINTF_LIKE(2, 3);

/* The one of `list` (names by spaces) that somebody may have meant by `text`, in ret_name; false: none is near. */
bool option_near(const char *text, const char *list, char ret_name[64]);

#endif
