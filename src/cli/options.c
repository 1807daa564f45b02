/* options.c - see options.h */
#include "cli/options.h"
#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "codec/schema/validate_suggest.h"

enum { NAME_MAX_BYTES = 64 };

int options_wrong(const struct options *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "capstan %s: ", o->command->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry 'capstan %s --help'.\n", o->command->name);
    va_end(args);
    return EXIT_USAGE;
}

/* ---- finding ---- */

/* The place of a word in a list with `mark` between; -1: it is not there. */
static int list_find(const char *list, char mark, const char *word, size_t word_n)
{
    for (int i = 0; list; i++) {
        const char *end = strchrnul(list, mark);
        if ((size_t)(end - list) == word_n && memcmp(list, word, word_n) == 0)
            return i;
        list = *end ? end + 1 : NULL;
    }
    return -1;
}

int option_find(const struct command_row *command, const char *name, size_t name_n)
{
    for (uint32_t i = 0; i < command->options_n; i++)
        if (list_find(command->options[i].name, ',', name, name_n) == 0 || list_find(command->options[i].others, ',', name, name_n) >= 0)
            return (int)i;
    return -1;
}

int command_find(const char *name)
{
    for (int i = 0; i < COMMANDS_N; i++)
        if (text_equal(name, command_rows[i].name))
            return i;
    return -1;
}

static int find_short(const struct command_row *command, const char *name, size_t name_n)
{
    for (uint32_t i = 0; i < command->options_n; i++)
        if (list_find(command->options[i].shorts, ',', name, name_n) >= 0)
            return (int)i;
    return -1;
}

/* ORDER nearest first, then as listed. What merely begins so counts as near: people leave out the end. */
bool option_near(const char *text, const char *list, char ret_name[64])
{
    char typed[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    size_t n = strcspn(text, "="), best = n < 4 ? 2 : n < 9 ? 3 : n / 3 + 1; /* fewer than this */
    bool found = false;
    if (n < 2 || n >= sizeof typed)
        return false;
    (void)snprintf(typed, sizeof typed, "%.*s", (int)n, text);
    for (; *list; list += strspn(list, " ")) {
        size_t name_n = strcspn(list, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)name_n, list);
        size_t distance = n > 2 && text_starts(name, typed) ? 1 : suggest_distance(typed, name, best);
        if (distance < best) {
            best = distance;
            found = true;
            memcpy(ret_name, name, sizeof name);
        }
        list += name_n;
    }
    return found;
}

static int unknown(const struct options *o, const char *dashes, const char *name)
{
    _cleanup_buf_ struct buf names = {0};
    char near[NAME_MAX_BYTES];
    buf_text(&names, "help");
    for (uint32_t i = 0; i < o->command->options_n; i++)
        if (o->command->options[i].role <= OPTION_IS_SETTING)
            buf_printf(&names, " %s", o->command->options[i].name);
    bool is_near = option_near(name, names.data, near);
    int name_n = (int)strcspn(name, "=");
    return options_wrong(o, "unknown option %s%.*s%s%s%s", dashes, name_n, name, is_near ? "; did you mean --" : "", is_near ? near : "",
                         is_near ? "?" : "");
}

bool option_picks(const char *patterns, const char *text)
{
    for (const char *end; patterns; patterns = end + 1) {
        _cleanup_buf_ struct buf one = {0};
        end = strchrnul(patterns, ',');
        buf_add(&one, patterns, (size_t)(end - patterns));
        buf_text(&one, "");
        if (fnmatch(one.data, text ? text : "", FNM_CASEFOLD) == 0)
            return true;
        if (!*end)
            return false;
    }
    return true;
}

/* ---- one value ---- */

static bool number_of(const struct option_row *row, const char *text, int64_t *ret)
{
    if (row->kind == OPTION_TIME)
        return duration_parse(bytes_of(text), ret) && *ret >= row->least;
    return bytes_int64(bytes_of(text), ret) && *ret >= row->least && *ret <= row->most;
}

/* "a", "a or b", "a, b or c" of "a|b|c", where `mark` is '|' */
static void words_text(struct buf *out, const char *words, char mark)
{
    for (const char *end; words; words = *end ? end + 1 : NULL) {
        end = strchrnul(words, mark);
        buf_bytes(out, (struct bytes){words, (size_t)(end - words)});
        if (*end)
            buf_text(out, strchr(end + 1, mark) ? ", " : " or ");
    }
}

/* `from`: "--busy" or "$MIG_BUSY". EXIT_OK, or it was said what is wrong. */
static int check_value(const struct options *o, const struct option_row *row, const char *from, const char *text)
{
    _cleanup_buf_ struct buf words = {0};
    int64_t number;
    bool flag;
    switch (row->kind) {
    case OPTION_FLAG:
        return text_bool(text, &flag) ? EXIT_OK : options_wrong(o, "%s: use true or false, not '%s'", from, text);
    case OPTION_WORD:
        if (list_find(row->words, '|', text, strlen(text)) >= 0)
            return EXIT_OK;
        words_text(&words, row->words, '|');
        return options_wrong(o, "%s: use %s, not '%s'", from, words.data, text);
    case OPTION_NUMBER:
        return number_of(row, text, &number)
                   ? EXIT_OK
                   : options_wrong(o, "%s: a number from %lld to %lld, not '%s'", from, (long long)row->least, (long long)row->most, text);
    case OPTION_TIME:
        if (number_of(row, text, &number))
            return EXIT_OK;
        return row->least > 1 ? options_wrong(o, "%s: a time of at least %lld%s, as 90s, 10m or 2h, not '%s'", from,
                                              (long long)(row->least % 1000 ? row->least : row->least / 1000),
                                              row->least % 1000 ? "ms" : "s", text)
                              : options_wrong(o, "%s: a time such as 30s or 5m, not '%s'", from, text);
    case OPTION_TEXT:
        break;
    }
    return EXIT_OK;
}

/* `text` NULL: a flag that stands alone. */
static int take(struct options *o, uint32_t id, const char *text)
{
    const struct option_row *row = &o->command->options[id];
    char from[NAME_MAX_BYTES + 3];
    (void)snprintf(from, sizeof from, "--%s", row->name);
    if (row->role == OPTION_IS_REFUSED)
        return options_wrong(o, "%s", row->why);
    if (row->role == OPTION_IS_IGNORED) {
        log_warning("option has no effect option=%s reason=\"%s\"", from, row->why);
        return EXIT_OK;
    }
    text = text ? text : "true";
    int code = row->role == OPTION_IS_SETTING ? EXIT_OK : check_value(o, row, from, text);
    if (code != EXIT_OK)
        return code;
    o->values[id] = text;
    o->on_line[id] = true;
    o->given = mem_grow(o->given, o->given_n + 1, sizeof *o->given);
    o->given[o->given_n++] = (struct option_given){id, text};
    return EXIT_OK;
}

/* ---- the command line ---- */

struct line {
    int argc, at;
    char **argv;
    bool wants_help;
};

/* The value of an option that stands in the next argument. */
static int take_next(struct options *o, struct line *l, uint32_t id)
{
    if (l->at + 1 >= l->argc)
        return options_wrong(o, "--%s: a value is missing", o->command->options[id].name);
    return take(o, id, l->argv[++l->at]);
}

static int take_long(struct options *o, struct line *l, const char *name)
{
    const char *equal = strchr(name, '=');
    size_t name_n = equal ? (size_t)(equal - name) : strlen(name);
    int id = option_find(o->command, name, name_n);
    if (id < 0 && strcmp(name, "help") == 0) {
        l->wants_help = true;
        return EXIT_OK;
    }
    if (id < 0)
        return unknown(o, "--", name);
    if (equal)
        return take(o, (uint32_t)id, equal + 1);
    return o->command->options[id].kind == OPTION_FLAG ? take(o, (uint32_t)id, NULL) : take_next(o, l, (uint32_t)id);
}

/* "-o json", "-ojson", "-o=json", "-Ao json", and names of several letters, which stand alone ("-rbmn"). WHY  "-address x" is no "-a ddress":
 * who leaves out a dash is told. */
static int take_shorts(struct options *o, struct line *l, const char *letters)
{
    size_t n = strcspn(letters, "=");
    int id = find_short(o->command, letters, n);
    if (id < 0 && option_find(o->command, letters, n) >= 0)
        return unknown(o, "-", letters);
    for (const char *at = letters; id >= 0 || *at; id = -1) {
        if (id < 0)
            id = find_short(o->command, at, n = 1);
        if (id < 0 && *at == 'h') {
            l->wants_help = true;
            return EXIT_OK;
        }
        if (id < 0)
            return unknown(o, "-", letters);
        at += n;
        bool is_flag = o->command->options[id].kind == OPTION_FLAG;
        if (*at == '=')
            return take(o, (uint32_t)id, at + 1);
        if (!is_flag)
            return *at ? take(o, (uint32_t)id, at) : take_next(o, l, (uint32_t)id);
        int code = take(o, (uint32_t)id, NULL);
        if (code != EXIT_OK || !*at)
            return code;
    }
    return EXIT_OK;
}

/* Arguments may stand before and behind options; behind "--" everything is one. */
static int take_line(struct options *o, struct line *l)
{
    bool only_arguments = false;
    int code = EXIT_OK;
    for (l->at = 1; l->at < l->argc && code == EXIT_OK && !l->wants_help; l->at++) {
        char *word = l->argv[l->at];
        if (only_arguments || *word != '-' || !word[1])
            o->arguments[o->arguments_n++] = word;
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else
            code = word[1] == '-' ? take_long(o, l, word + 2) : take_shorts(o, l, word + 1);
    }
    return code;
}

/* ---- the environment ---- */

static int take_variable(struct options *o, uint32_t id, const char *name, const char *text)
{
    const struct option_row *row = &o->command->options[id];
    char from[NAME_MAX_BYTES + 2];
    bool flag;
    if (row->kind == OPTION_FLAG && !text_bool(text, &flag)) { /* it is everybody's: what it says to others is no reason to end */
        log_warning("environment variable is neither true nor false, left out name=%s", name);
        return EXIT_OK;
    }
    (void)snprintf(from, sizeof from, "$%s", name);
    int code = check_value(o, row, from, text);
    if (code == EXIT_OK)
        o->values[id] = text;
    return code;
}

/* An empty one counts as not set. */
static int take_environment(struct options *o)
{
    for (uint32_t id = 0; id < o->command->options_n; id++) {
        const struct option_row *row = &o->command->options[id];
        char name[NAME_MAX_BYTES], found[NAME_MAX_BYTES] = "";
        if (o->on_line[id] || row->role == OPTION_IS_SETTING) /* agent/config takes those */
            continue;
        for (const char *list = row->variables; list; list = *list ? list + 1 : NULL) {
            size_t n = strcspn(list, ",");
            (void)snprintf(name, sizeof name, "%.*s", (int)n, list);
            const char *text = getenv(name);
            if (text && *text)
                (void)snprintf(found, sizeof found, "%s", name);
            list += n;
        }
        int code = *found ? take_variable(o, id, found, getenv(found)) : EXIT_OK;
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

/* A verb that there is, and nothing that goes with others. What the environment says is for all of them. */
static int check_verb(const struct options *o)
{
    const char *verb = o->arguments[0];
    if (list_find(o->command->verbs, ',', verb, strlen(verb)) < 0)
        return options_wrong(o, "%s, not '%s'", o->command->arguments_wrong, verb);
    for (uint32_t i = 0; i < o->given_n; i++) {
        const struct option_row *row = &o->command->options[o->given[i].id];
        _cleanup_buf_ struct buf words = {0};
        if (!row->verbs || list_find(row->verbs, ',', verb, strlen(verb)) >= 0)
            continue;
        words_text(&words, row->verbs, ',');
        return options_wrong(o, "--%s goes with %s, not with %s", row->name, words.data, verb);
    }
    return -1;
}

/* Who names what he wants to see of a list means the option for that. */
static int unexpected(const struct options *o, const char *argument)
{
    static const char *const picks[] = {"name", "node"};
    const struct command_row *command = o->command;
    for (size_t k = 0; k < sizeof picks / sizeof *picks && command->arguments_most == 0; k++)
        for (uint32_t id = 0; id < command->options_n; id++)
            if (text_equal(command->options[id].name, picks[k]) && command->options[id].kind == OPTION_TEXT)
                return options_wrong(o, "unexpected argument %s; did you mean --%s %s?", argument, picks[k], argument);
    return options_wrong(o, "unexpected argument %s", argument);
}

int options_parse(struct options *o, const struct command_row *command, int argc, char **argv)
{
    struct line l = {.argc = argc, .argv = argv};
    *o = (struct options){.command = command,
                          .values = mem_zero(command->options_n + 1, sizeof *o->values),
                          .on_line = mem_zero(command->options_n + 1, sizeof *o->on_line),
                          .arguments = mem_zero((size_t)argc + 1, sizeof *o->arguments)};
    for (uint32_t id = 0; id < command->options_n; id++)
        o->values[id] = command->options[id].normal;
    int code = take_line(o, &l);
    if (code == EXIT_OK && l.wants_help) {
        fputs(command->help, stdout);
        return EXIT_OK;
    }
    if (code == EXIT_OK)
        code = take_environment(o);
    if (code != EXIT_OK)
        return code;
    if ((uint32_t)o->arguments_n > command->arguments_most)
        return unexpected(o, o->arguments[command->arguments_most]);
    if ((uint32_t)o->arguments_n < command->arguments_least)
        return options_wrong(o, "%s", command->arguments_wrong);
    return command->verbs ? check_verb(o) : -1;
}

void options_free(struct options *o)
{
    free(o->values);
    free(o->on_line);
    free(o->given);
    free(o->arguments);
    *o = (struct options){0};
}

/* ---- asking ---- */

const char *option_text(const struct options *o, uint32_t id)
{
    assert(id < o->command->options_n);
    return o->values[id];
}

bool option_flag(const struct options *o, uint32_t id)
{
    bool flag = false;
    const char *text = option_text(o, id);
    return text && text_bool(text, &flag) && flag;
}

int64_t option_number(const struct options *o, uint32_t id, int64_t none)
{
    int64_t number;
    const char *text = option_text(o, id);
    return text && number_of(&o->command->options[id], text, &number) ? number : none;
}

int option_word(const struct options *o, uint32_t id)
{
    const char *text = option_text(o, id);
    return text ? list_find(o->command->options[id].words, '|', text, strlen(text)) : -1;
}

const char *option_shared(const struct options *o, const char *name)
{
    int id = option_find(o->command, name, strlen(name));
    return id < 0 ? NULL : option_text(o, (uint32_t)id);
}
