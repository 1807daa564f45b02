/* live.c - see live.h */
#include "cli/live/live.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "cli/live/rest.h"

enum {
    FRONT_N = 2, /* columns before those of the table: when, what */
    KEY_WIDTH = 12,
    NOTE_BYTES = 1024,
};

struct row_seen {
    const char **cells;
    bool still_there;
};
struct live_rows {
    struct map *by_key; /* struct row_seen */
    struct arena *arena;
    uint32_t columns_n;
};

/* ---- what has changed ---- */

const char *live_key(struct arena *a, const struct output_table *t, const char *const *cells)
{
    const char *key = "";
    for (uint32_t c = 0; c < t->columns_n; c++)
        if (t->columns[c].is_key)
            key = arena_printf(a, "%s%s\n", key, cells[c] ? cells[c] : "");
    return key;
}

static bool is_same(const struct output_table *t, const char *const *before, const char *const *now)
{
    for (uint32_t c = 0; c < t->columns_n; c++)
        if (!t->columns[c].ticks && strcmp(before[c] ? before[c] : "", now[c] ? now[c] : "") != 0)
            return false;
    return true;
}

struct live_rows *live_rows_new(const struct output_table *t)
{
    struct live_rows *rows = mem_zero(1, sizeof *rows);
    *rows = (struct live_rows){.by_key = map_new(sizeof(struct row_seen)), .arena = arena_new(), .columns_n = t->columns_n};
    for (uint32_t r = 0; r < t->rows_n; r++) {
        const char *const *cells = &t->cells[r * t->columns_n];
        struct row_seen *seen = map_put(rows->by_key, bytes_of(live_key(rows->arena, t, cells)), NULL);
        seen->cells = arena_alloc(rows->arena, t->columns_n * sizeof *seen->cells);
        for (uint32_t c = 0; c < t->columns_n; c++)
            seen->cells[c] = arena_text(rows->arena, cells[c]);
    }
    return rows;
}

void live_rows_free(struct live_rows *rows)
{
    if (!rows)
        return;
    map_free(rows->by_key);
    arena_free(rows->arena);
    free(rows);
}

static void change_add(struct output_table *changes, const char *time, const char *change, const char *const *cells, uint32_t n)
{
    const char **all = arena_alloc(changes->arena, (FRONT_N + n) * sizeof *all);
    all[0] = time;
    all[1] = change;
    memcpy(all + FRONT_N, cells, n * sizeof *all);
    output_row(changes, all);
}

void live_changes(struct output_table *changes, const char *time, const struct live_rows *before, const struct output_table *now)
{
    for (uint32_t r = 0; r < now->rows_n; r++) {
        const char *const *cells = &now->cells[r * now->columns_n];
        struct row_seen *seen = before ? map_find(before->by_key, bytes_of(live_key(changes->arena, now, cells))) : NULL;
        if (seen)
            seen->still_there = true;
        if (!seen || !is_same(now, seen->cells, cells))
            change_add(changes, time, !before ? "there" : seen ? "changed" : "new", cells, now->columns_n);
    }
    size_t at = 0;
    struct bytes key;
    for (struct row_seen *seen; before && (seen = map_next(before->by_key, &at, &key));)
        if (!seen->still_there)
            change_add(changes, time, "gone", seen->cells, now->columns_n);
}

/* ---- a terminal ---- */

int live_columns(const char *text, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static size_t cut_line(struct buf *out, const char *line, size_t n, int columns)
{
    int at = 0, all = live_columns(line, n);
    size_t cut = n;
    for (size_t i = 0; all > columns && i < n; i++) {
        at += ((unsigned char)line[i] & 0xc0) != 0x80;
        if (at == columns) {
            cut = i;
            break;
        }
    }
    buf_bytes(out, (struct bytes){line, cut});
    if (cut < n)
        buf_char(out, '>');
    return n;
}

void live_cut(struct buf *out, const char *text, int columns, int lines, const char *end)
{
    int n = 0, at = 0;
    for (const char *c = text; *c; c++)
        n += *c == '\n';
    for (const char *line = text; *line; at++) {
        const char *stop = strchrnul(line, '\n');
        if (n > lines && at == lines - 1) {
            char more[64];
            int more_n = snprintf(more, sizeof more, "... %d more", n - at);
            cut_line(out, more, (size_t)more_n, columns);
            buf_text(out, end);
            return;
        }
        cut_line(out, line, (size_t)(stop - line), columns);
        buf_text(out, end);
        line = *stop ? stop + 1 : stop;
    }
}

bool live_is_screen(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* WHY  line by line over what stands there: a screen that is wiped first flickers. */
static void screen(const struct output_table *t, bool first)
{
    struct winsize w = {0};
    _cleanup_buf_ struct buf out = {0};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return;
    output_aligned(t, t->format == OUTPUT_WIDE, NULL, f);
    if (fclose(f) != 0)
        return;
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w); /* else as below */
    int columns = w.ws_col > 1 ? w.ws_col : 80, lines = w.ws_row > 2 ? w.ws_row - 1 : 23;
    buf_text(&out, first ? "\033[H\033[2J" : "\033[H");
    live_cut(&out, text, columns, lines, "\033[K\r\n");
    buf_text(&out, "\033[J");
    fwrite(out.data, 1, out.n, stdout);
    free(text);
}

/* ---- turns ---- */

struct live {
    struct connection c;
    const struct options *o;
    const struct live_list *list;
    struct output_column *columns; /* with those in front */
    struct live_rows *before;
    int *widths;
    bool told, screen;
    struct err trouble; /* as it was said last */
    char note[NOTE_BYTES];
};

static void lines(struct live *x, const struct output_table *t)
{
    char time[TIME_TEXT_MAX];
    struct output_table changes;
    output_init(&changes, t->arena, x->columns, t->columns_n + FRONT_N);
    live_changes(&changes, time_format(time, clock_wall_us() / 1000), x->before, t);
    if (t->format == OUTPUT_CSV)
        output_csv(&changes, x->told);
    else if (t->format == OUTPUT_JSON)
        output_json_lines(&changes);
    else if (changes.rows_n || !x->told)
        output_aligned(&changes, t->format == OUTPUT_WIDE, &(struct output_layout){.widths = x->widths, .headless = x->told}, stdout);
    output_fini(&changes);
    live_rows_free(x->before);
    x->before = live_rows_new(t);
}

/* Trouble after the first time is waited out, and told once. */
static int trouble(struct live *x, const struct err *e)
{
    if (!x->told)
        return connection_fail(x->o->command->name, e);
    if (strcmp(e->text, x->trouble.text) != 0)
        fprintf(stderr, "capstan %s: %s; trying again\n", x->o->command->name, e->text);
    x->trouble = *e;
    return EXIT_OK;
}

/* What is left out is told once, and again when it is something else. */
static void note(struct live *x, const struct output_table *t)
{
    if (t->note && strncmp(t->note, x->note, NOTE_BYTES - 1) != 0)
        fprintf(stderr, "capstan %s: %s\n", x->o->command->name, t->note);
    (void)snprintf(x->note, sizeof x->note, "%s", t->note ? t->note : "");
}

static int look(void *arg)
{
    struct live *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    struct output_table t;
    struct err e = {0};
    int code = EXIT_OK;
    output_init(&t, a, x->list->columns, x->list->columns_n);
    t.format = output_format_of(x->o);
    x->list->rows(&x->c, &t, x->o, &e);
    if (e.code) {
        code = trouble(x, &e);
    } else {
        note(x, &t);
        if (x->screen)
            screen(&t, !x->told);
        else
            lines(x, &t);
    }
    x->told |= !e.code;
    output_fini(&t);
    return code;
}

/* WHY  while nothing changes nothing is written, and a pipe without a reader would not be noticed. */
static bool has_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

int live_go_on(const struct options *o, struct connection *c, int (*turn)(void *arg), void *arg)
{
    int64_t period_ms = 0;
    (void)duration_parse(bytes_of(option_shared(o, "period")), &period_ms); /* it has a default, and was checked */
    int code = EXIT_OK;
    struct err e = {0};
    while (code == EXIT_OK) {
        code = turn(arg);
        if (code != EXIT_OK || fflush(stdout) != 0 || ferror(stdout)) /* output_finish says what is wrong with it */
            break;
        if (!has_reader())
            break;
        live_rest();
        if (loop_run_for(c->loop, period_ms, &e) < 0)
            code = connection_fail(o->command->name, &e);
    }
    return code == LIVE_END ? EXIT_OK : code;
}

static int watch(const struct options *o, const struct live_list *list)
{
    uint32_t columns_n = list->columns_n;
    struct output_column *all = mem_zero(columns_n + FRONT_N, sizeof *all);
    all[0] = (struct output_column){.key = "time", .title = "TIME"};
    all[1] = (struct output_column){.key = "change", .title = "CHANGE"};
    memcpy(all + FRONT_N, list->columns, columns_n * sizeof *all);
    int *widths = mem_zero(columns_n + FRONT_N, sizeof *widths);
    widths[0] = sizeof "2026-01-31T12:00:00Z" - 1;
    widths[1] = sizeof "changed" - 1;
    for (uint32_t i = 0; i < columns_n; i++) /* what comes later may be longer than what is there at the beginning */
        widths[FRONT_N + i] = list->columns[i].is_key ? KEY_WIDTH : 0;
    struct live x = {
        .o = o, .list = list, .columns = all, .widths = widths, .screen = live_is_screen() && output_format_of(o) <= OUTPUT_WIDE};
    int code = connection_open(&x.c, o, true);
    if (code == EXIT_OK)
        code = live_go_on(o, &x.c, look, &x);
    connection_close(&x.c);
    live_rows_free(x.before);
    free(widths);
    free(all);
    return code;
}

int live_print_table(const struct options *o, const struct live_list *list)
{
    const char *watches = option_shared(o, "watch");
    enum output_format format = output_format_of(o);
    bool on = false;
    bool watching = watches && text_bool(watches, &on) && on;
    if (!watching && o->on_line[option_find(o->command, "period", 6)])
        return options_wrong(o, "--period goes with --watch");
    if (!watching)
        return connection_print_table(o, list->columns, list->columns_n, list->rows);
    if (format == OUTPUT_YAML || format == OUTPUT_NAME)
        return options_wrong(o, "--watch: use --output table, wide, csv or json");
    return watch(o, list);
}
