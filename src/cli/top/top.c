/* top.c - capstan top: the lists of queues, jobs and GPUs on a whole screen
 *
 *   live_go_on ──▶ turn: ask for the list that is shown, and why the job under the cursor waits ──▶ draw
 *        ▲                                                                                           ▲
 *        └── loop_stop ── a key that needs something asked ◀── keys ── one that does not ────────────┘
 *
 * WHY  keys are read while the server is asked, too: they only note what is wanted and draw what is there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/log.h"
#include "cli/cli.h"
#include "cli/live/lists.h"
#include "cli/top/screen.h"
#include "cli/top/sheet.h"
#include "cli/why.h"

enum view { VIEW_QUEUES, VIEW_JOBS, VIEW_GPUS, VIEWS_N }; /* ORDER of the words of --view */
static const struct {
    const char *name, *title;
    const struct live_list *list;
    const char *arguments[2]; /* the command whose options its rows take */
} views[VIEWS_N] = {{"queues", "1 queues", &queues_list, {"queues"}},
                    {"jobs", "2 jobs", &jobs_list, {"jobs"}},
                    {"gpus", "3 GPUs", &nodes_gpus_list, {"nodes", "--gpus"}}};

struct top {
    struct connection c;
    const struct options *o;
    struct options of[VIEWS_N];
    struct sheet sheets[VIEWS_N];
    enum view view;
    int64_t period_ms, asked_ms; /* asked_ms: loop time; 0: not yet */
    struct arena *a;             /* of `table` */
    struct output_table table;
    char *lines;     /* of `table`; NULL: nothing was asked yet */
    struct buf pane; /* what stands in the lower part */
    bool is_open, is_screen, is_asking, wants_rows, wants_pane;
    int pane_first;
    struct err trouble;
};

static void table_free(struct top *x)
{
    if (x->a)
        output_fini(&x->table);
    arena_free(x->a);
    free(x->lines);
    x->a = NULL;
    x->lines = NULL;
}

/* ---- drawing ---- */

static void draw_title(const struct top *x)
{
    _cleanup_buf_ struct buf text = {0};
    const struct sheet *s = &x->sheets[x->view];
    for (int i = 0; i < VIEWS_N; i++)
        buf_printf(&text, i == (int)x->view ? "[%s] " : " %s  ", views[i].title);
    buf_printf(&text, "  %s", x->c.ns ? "namespace " : "all namespaces");
    buf_text(&text, x->c.ns ? x->c.ns : "");
    if (s->sort >= 0)
        buf_printf(&text, "  by %s%s", views[x->view].list->columns[s->sort].title, s->reverse ? ", the greatest first" : "");
    buf_char(&text, '\0');
    screen_line(0, text.data, 0, SCREEN_PLAIN);
}

static void draw_foot(const struct top *x, int at)
{
    static const char keys[] = "q quit  tab next  enter why  < > order  r reverse  u ask now  [ ] scroll";
    if (x->trouble.code)
        screen_line(at, x->trouble.text, 0, SCREEN_HEAD);
    else
        screen_line(at, x->a && x->table.note ? x->table.note : keys, 0, SCREEN_DIM);
}

/* The lower part: lines that are too long go on in the next one. Returns how many lines there are. */
static int pane_lines(struct top *x, int columns, int first, int from, int to)
{
    int n = 0;
    for (const char *line = x->pane.n ? x->pane.data : ""; *line;) {
        size_t length = strcspn(line, "\n"), taken = 0;
        do {
            int width = 0;
            size_t part = taken;
            for (; part < length && (width < columns || ((unsigned char)line[part] & 0xc0) == 0x80); part++)
                width += ((unsigned char)line[part] & 0xc0) != 0x80;
            _cleanup_buf_ struct buf text = {0};
            buf_bytes(&text, (struct bytes){line + taken, part - taken});
            buf_char(&text, '\0');
            if (n >= first && from + n - first < to)
                screen_line(from + n - first, text.data, 0, SCREEN_PLAIN);
            n++;
            taken = part;
        } while (taken < length);
        line += length + (line[length] == '\n');
    }
    return n;
}

/* Returns the line at which it begins, `foot` where it is closed. */
static int draw_pane(struct top *x, int foot, int columns)
{
    if (!x->is_open || foot < 4)
        return foot;
    int all = pane_lines(x, columns, 0, 0, 0), most = (foot - 1) / 2, height = all < most ? all : most;
    x->pane_first = x->pane_first > all - height ? all - height : x->pane_first < 0 ? 0 : x->pane_first;
    screen_line(foot - height - 1, views[x->view].list == &jobs_list ? "-- why --" : "-- row --", 0, SCREEN_HEAD);
    (void)pane_lines(x, columns, x->pane_first, foot - height, foot);
    return foot - height - 1;
}

static const char *line_at(const char *text, uint32_t n)
{
    for (; n && *text; n--) {
        text = strchrnul(text, '\n');
        text += *text == '\n';
    }
    return text;
}

static void draw(struct top *x)
{
    int lines, columns;
    screen_size(&lines, &columns);
    struct sheet *s = &x->sheets[x->view];
    draw_title(x);
    int end = draw_pane(x, lines - 1, columns), at = 1;
    if (x->lines) {
        screen_line(at++, x->lines, s->shift, SCREEN_HEAD);
        sheet_scroll(s, &x->table, end > at ? (uint32_t)(end - at) : 0);
        const char *line = line_at(x->lines, s->first + 1);
        for (uint32_t row = s->first; at < end && row < x->table.rows_n; row++, line = line_at(line, 1))
            screen_line(at++, line, s->shift, row == s->at ? SCREEN_CURSOR : SCREEN_PLAIN);
    }
    for (; at < end; at++)
        screen_line(at, x->lines && x->table.rows_n == 0 && at == 2 ? "nothing to show" : "", 0, SCREEN_PLAIN);
    draw_foot(x, lines - 1);
    screen_show(lines);
}

/* ---- asking ---- */

static const char *cell(const struct top *x, const char *key)
{
    for (uint32_t c = 0; c < x->table.columns_n; c++)
        if (text_equal(x->table.columns[c].key, key))
            return x->table.cells[x->sheets[x->view].at * x->table.columns_n + c];
    return NULL;
}

/* A user who may not list them sees that, and the others. */
static void ask_rows(struct top *x)
{
    struct arena *a = arena_new();
    struct output_table t;
    enum view view = x->view;
    struct err e = {0};
    output_init(&t, a, views[view].list->columns, views[view].list->columns_n);
    views[view].list->rows(&x->c, &t, &x->of[view], &e);
    x->asked_ms = loop_now_ms(x->c.loop);
    if (view == x->view) /* nobody has pressed another one's key meanwhile */
        x->trouble = e;
    if (view != x->view || e.code) {
        output_fini(&t);
        arena_free(a);
        return;
    }
    sheet_take(&x->sheets[view], &t);
    table_free(x);
    x->a = a;
    x->table = t;
    x->lines = sheet_text(&t);
}

static void ask_why(struct top *x, struct buf *out)
{
    const char *ns = cell(x, "namespace"), *kind = cell(x, "kind"), *name = cell(x, "name");
    char *text = NULL, *own = x->c.ns;
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    x->c.ns = ns ? mem_text(ns) : NULL; /* rows are of other namespaces than the connection's, maybe */
    if (f && why_print(&x->c, arena_printf(a, "%s/%s", kind ? kind : "", name ? name : ""), f, &e) < 0)
        fprintf(f, "%s\n", e.text);
    if (f && fclose(f) == 0)
        buf_text(out, text);
    free(text);
    free(x->c.ns);
    x->c.ns = own;
}

static void ask_pane(struct top *x)
{
    struct buf text = {0};
    if (x->lines && x->table.rows_n && views[x->view].list == &jobs_list)
        ask_why(x, &text);
    else if (x->lines)
        sheet_row_text(&x->table, x->sheets[x->view].at, &text);
    if (x->wants_pane) { /* of a row that the cursor has left meanwhile: asked anew */
        buf_free(&text);
        return;
    }
    buf_char(&text, '\0');
    text.n--;
    buf_free(&x->pane);
    x->pane = text;
}

static int turn(void *arg)
{
    struct top *x = arg;
    x->is_asking = true;
    do {
        bool due = !x->asked_ms || loop_now_ms(x->c.loop) - x->asked_ms >= x->period_ms;
        bool rows = due || x->wants_rows;
        x->wants_rows = x->wants_pane = false;
        if (rows)
            ask_rows(x);
        if (x->is_open && !x->wants_rows)
            ask_pane(x);
    } while (x->wants_rows || (x->wants_pane && x->is_open));
    x->is_asking = false;
    if (x->is_screen)
        draw(x);
    return x->is_screen || x->trouble.code == 0 || x->trouble.code == E_DENIED ? EXIT_OK : EXIT_FAILED;
}

/* ---- keys ---- */

static void leave(void)
{
    screen_close();
    exit(EXIT_OK); /* WHY  here: a server that does not answer is not waited for */
}

static void show(struct top *x, enum view view)
{
    x->wants_rows = true;
    if (view == x->view)
        return;
    x->view = view;
    x->trouble = (struct err){0};
    x->pane_first = 0;
    buf_clear(&x->pane);
    table_free(x);
}

static void order(struct top *x, int step)
{
    struct sheet *s = &x->sheets[x->view];
    if (step)
        sheet_sort_step(s, views[x->view].list, step);
    else
        s->reverse = !s->reverse;
    x->wants_rows |= s->sort < 0; /* only the server knows the order in which they came */
    if (!x->lines)                /* they are on their way */
        return;
    sheet_take(s, &x->table);
    free(x->lines);
    x->lines = sheet_text(&x->table);
}

static void move(struct top *x, int64_t rows)
{
    if (!x->lines)
        return;
    sheet_move(&x->sheets[x->view], &x->table, rows);
    x->wants_pane = true;
    x->pane_first = 0;
}

static void press(struct top *x, int key)
{
    int lines, columns;
    struct sheet *s = &x->sheets[x->view];
    screen_size(&lines, &columns);
    int page = lines > 4 ? lines - 3 : 1, half = columns > 2 ? columns / 2 : 1;
    switch (key) {
    case 'q':
    case 'Q':
        leave();
        break;
    case '1':
    case '2':
    case '3':
        show(x, (enum view)(key - '1'));
        break;
    case '\t':
        show(x, (enum view)((x->view + 1) % VIEWS_N));
        break;
    case SCREEN_BACK_TAB:
        show(x, (enum view)((x->view + VIEWS_N - 1) % VIEWS_N));
        break;
    case SCREEN_UP:
    case 'k':
        move(x, -1);
        break;
    case SCREEN_DOWN:
    case 'j':
        move(x, 1);
        break;
    case SCREEN_PAGE_UP:
        move(x, -page);
        break;
    case SCREEN_PAGE_DOWN:
        move(x, page);
        break;
    case SCREEN_HOME:
        move(x, -(int64_t)UINT32_MAX);
        break;
    case SCREEN_END:
        move(x, UINT32_MAX);
        break;
    case SCREEN_LEFT:
        s->shift = s->shift > half ? s->shift - half : 0;
        break;
    case SCREEN_RIGHT:
        s->shift += x->lines && s->shift + columns < live_columns(x->lines, strcspn(x->lines, "\n")) ? half : 0;
        break;
    case '<':
        order(x, -1);
        break;
    case '>':
        order(x, 1);
        break;
    case 'r':
        order(x, 0);
        break;
    case '[':
        x->pane_first--;
        break;
    case ']':
        x->pane_first++;
        break;
    case '\n':
        x->is_open = !x->is_open;
        x->wants_pane = true;
        x->pane_first = 0;
        buf_clear(&x->pane);
        break;
    case 'u':
        x->wants_rows = true;
        break;
    default:
        break;
    }
}

static void on_keys(void *arg, int events)
{
    struct top *x = arg;
    (void)events;
    for (int key; (key = screen_key()) != SCREEN_NO_KEY;)
        press(x, key);
    draw(x);
    if (!x->is_asking && (x->wants_rows || (x->wants_pane && x->is_open)))
        loop_stop(x->c.loop);
}

static void on_resize(void *arg)
{
    screen_resized();
    draw(arg);
}

static void on_end(void *arg)
{
    (void)arg;
    leave();
}

/* ---- on a terminal ---- */

static int go_on(struct top *x)
{
    struct err e = {0};
    int code = turn(x); /* WHY  before the screen is there: what is wrong is said where it stays */
    if (code != EXIT_OK)
        return connection_fail("top", &x->trouble);
    if (screen_open(&e) < 0) {
        fprintf(stderr, "capstan top: %s\n", e.text);
        return e.code == E_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    log_set_level(LOG_ERROR);
    x->is_screen = true;
    struct loop_poll *keys = loop_poll_new(x->c.loop, STDIN_FILENO, on_keys, x);
    struct loop_signal *signals[] = {loop_signal_new(x->c.loop, SIGWINCH, on_resize, x), loop_signal_new(x->c.loop, SIGINT, on_end, x),
                                     loop_signal_new(x->c.loop, SIGTERM, on_end, x)};
    loop_poll_set(keys, LOOP_READ);
    code = live_go_on(x->o, &x->c, turn, x);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        loop_signal_free(signals[i]);
    loop_poll_free(keys);
    screen_close();
    return code;
}

/* ---- once ---- */

/* Each list as its own command prints it. What the user may not list is left out, and said. */
static int once(struct top *x, bool all)
{
    _cleanup_arena_ struct arena *a = arena_new();
    enum output_format format = output_format_of(x->o);
    struct json *lists = json_new(a, JSON_OBJECT);
    int shown_n = 0, first = all ? 0 : (int)x->view, last = all ? VIEWS_N - 1 : (int)x->view;
    for (int i = first; i <= last; i++) {
        x->view = (enum view)i;
        ask_rows(x);
        if (x->trouble.code && (x->trouble.code != E_DENIED || !all))
            return connection_fail("top", &x->trouble);
        if (x->trouble.code || x->table.note)
            fprintf(stderr, "capstan top: %s: %s\n", views[i].name, x->trouble.code ? x->trouble.text : x->table.note);
        if (x->trouble.code)
            continue;
        if (format > OUTPUT_WIDE && all)
            json_set(a, lists, views[i].name, json_clone(a, output_rows_json(&x->table)));
        else if (all)
            printf("%s%s:\n", shown_n ? "\n" : "", views[i].name);
        if (format <= OUTPUT_WIDE || !all)
            output_print(&x->table, format);
        shown_n++;
    }
    if (format > OUTPUT_WIDE && all && shown_n)
        output_json(lists, format);
    return shown_n ? EXIT_OK : EXIT_FAILED;
}

/* ---- the command ---- */

static int sort_take(struct top *x)
{
    const char *key = option_text(x->o, OPT_TOP_SORT);
    const struct live_list *list = views[x->view].list;
    _cleanup_buf_ struct buf keys = {0};
    char near[64];
    x->sheets[x->view].reverse = option_flag(x->o, OPT_TOP_REVERSE);
    if (!key)
        return option_flag(x->o, OPT_TOP_REVERSE) ? options_wrong(x->o, "--reverse goes with --sort") : EXIT_OK;
    if (!x->o->on_line[OPT_TOP_VIEW])
        return options_wrong(x->o, "--sort goes with --view");
    for (uint32_t i = 0; i < list->columns_n; i++) {
        if (text_equal(list->columns[i].key, key)) {
            x->sheets[x->view].sort = (int)i;
            return EXIT_OK;
        }
        buf_printf(&keys, "%s ", list->columns[i].key);
    }
    if (option_near(key, keys.data, near))
        return options_wrong(x->o, "--sort: %s have no '%s'; did you mean %s?", views[x->view].name, key, near);
    return options_wrong(x->o, "--sort: %s have no '%s'; write one of: %s", views[x->view].name, key, keys.data);
}

/* What does not go together, or cannot be drawn here. */
static int contradiction(const struct options *o)
{
    const char *term = getenv("TERM");
    if (option_flag(o, OPT_TOP_ONCE))
        return o->on_line[OPT_TOP_PERIOD] ? options_wrong(o, "--period does not go with --once") : EXIT_OK;
    if (o->on_line[OPT_TOP_OUTPUT])
        return options_wrong(o, "--output goes with --once");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return options_wrong(o, "it needs a terminal: use --once, or capstan jobs --watch");
    if (!live_is_screen())
        return options_wrong(o, "on this terminal (TERM=%s) nothing can be drawn: use --once, or capstan jobs --watch", term ? term : "");
    return EXIT_OK;
}

int top_main(const struct options *o)
{
    struct top x = {.o = o, .view = VIEW_JOBS, .period_ms = option_number(o, OPT_TOP_PERIOD, 0)};
    if (option_text(o, OPT_TOP_VIEW))
        x.view = (enum view)option_word(o, OPT_TOP_VIEW);
    for (int i = 0; i < VIEWS_N; i++)
        x.sheets[i].sort = -1;
    int code = contradiction(o);
    code = code == EXIT_OK ? sort_take(&x) : code;
    if (code != EXIT_OK)
        return code;
    for (int i = 0; i < VIEWS_N; i++)
        (void)options_parse(&x.of[i], &command_rows[command_find(views[i].arguments[0])], views[i].arguments[1] ? 2 : 1,
                            (char **)views[i].arguments); /* ours, and right */
    code = connection_open(&x.c, o, true);
    if (code == EXIT_OK)
        code = option_flag(o, OPT_TOP_ONCE) ? once(&x, !o->on_line[OPT_TOP_VIEW]) : go_on(&x);
    table_free(&x);
    buf_free(&x.pane);
    for (int i = 0; i < VIEWS_N; i++) {
        sheet_fini(&x.sheets[i]);
        options_free(&x.of[i]);
    }
    connection_close(&x.c);
    return code;
}
