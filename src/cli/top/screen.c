/* screen.c - see screen.h */
#include "cli/top/screen.h"
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/bytes.h"
#include "cli/live/live.h"
#include "cli/top/curses_library.h"

#define CALL(name) curses_library.name##_fn
#define WINDOW_HERE (*curses_library.screen)
enum { ESCAPE_MS = 25 }; /* WHY  a key that sends an escape sequence sends it at once */

static SCREEN *opened;
static bool is_utf8;

int screen_open(struct err *e)
{
    int r = curses_library_open(e);
    if (r < 0)
        return r;
    (void)setlocale(LC_CTYPE, ""); /* alone: numbers stay as programs read them */
    is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    opened = CALL(newterm)(NULL, stdout, stdin);
    if (!opened)
        return err_set(e, E_INVALID, "nothing is known of this terminal (TERM)");
    (void)CALL(cbreak)(); /* what a terminal cannot do it goes without */
    (void)CALL(noecho)();
    (void)CALL(curs_set)(0);
    (void)CALL(set_escdelay)(ESCAPE_MS);
    (void)CALL(keypad)(WINDOW_HERE, true);
    (void)CALL(nodelay)(WINDOW_HERE, true);
    return 0;
}

void screen_close(void)
{
    if (!opened)
        return;
    (void)CALL(curs_set)(1);
    (void)CALL(endwin)();
    CALL(delscreen)(opened);
    opened = NULL;
}

void screen_size(int *ret_lines, int *ret_columns)
{
    *ret_lines = CALL(getmaxy)(WINDOW_HERE);
    *ret_columns = CALL(getmaxx)(WINDOW_HERE);
}

void screen_resized(void)
{
    struct winsize w = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col)
        (void)CALL(resizeterm)(w.ws_row, w.ws_col); /* without memory it stays as it was */
    (void)CALL(wclear)(WINDOW_HERE);
}

/* What of a line is safe to show, from its column `shift` on. */
static void clean(struct buf *out, struct bytes line, int shift)
{
    const char *end = line.data + line.n;
    int column = 0;
    for (const char *at = line.data; at < end; column++) {
        size_t n = utf8_length(at, end);
        bool shown = utf8_is_plain(at, n) && (n == 1 || is_utf8);
        if (column >= shift && shown)
            buf_bytes(out, (struct bytes){at, n});
        else if (column >= shift)
            buf_char(out, '?');
        at += n ? n : 1;
    }
    buf_char(out, '\0');
}

void screen_line(int at, const char *text, int shift, enum screen_look look)
{
    static const attr_t looks[] = {A_NORMAL, A_BOLD, A_REVERSE, A_DIM};
    _cleanup_buf_ struct buf whole = {0}, cut = {0};
    int lines, columns;
    screen_size(&lines, &columns);
    if (at < 0 || at >= lines)
        return;
    clean(&whole, (struct bytes){text, strcspn(text, "\n")}, shift);
    if (*whole.data)
        live_cut(&cut, whole.data, columns, 1, "");
    (void)CALL(wmove)(WINDOW_HERE, at, 0);
    (void)CALL(wclrtoeol)(WINDOW_HERE);
    (void)CALL(wattrset)(WINDOW_HERE, (int)looks[look]);
    if (cut.n) /* the last cell of the screen cannot be passed: an error, and drawn */
        (void)CALL(waddnstr)(WINDOW_HERE, cut.data, (int)cut.n);
    for (int rest = columns - live_columns(cut.data, cut.n); look == SCREEN_CURSOR && rest > 0; rest--)
        (void)CALL(waddnstr)(WINDOW_HERE, " ", 1);
    (void)CALL(wattrset)(WINDOW_HERE, A_NORMAL);
}

void screen_show(int at)
{
    int lines, columns;
    screen_size(&lines, &columns);
    if (at < lines) {
        (void)CALL(wmove)(WINDOW_HERE, at, 0);
        (void)CALL(wclrtobot)(WINDOW_HERE);
    }
    (void)CALL(wrefresh)(WINDOW_HERE);
}

int screen_key(void)
{
    static const struct {
        int theirs, ours;
    } keys[] = {{KEY_UP, SCREEN_UP},
                {KEY_DOWN, SCREEN_DOWN},
                {KEY_LEFT, SCREEN_LEFT},
                {KEY_RIGHT, SCREEN_RIGHT},
                {KEY_PPAGE, SCREEN_PAGE_UP},
                {KEY_NPAGE, SCREEN_PAGE_DOWN},
                {KEY_HOME, SCREEN_HOME},
                {KEY_END, SCREEN_END},
                {KEY_BTAB, SCREEN_BACK_TAB},
                {KEY_ENTER, '\n'},
                {'\r', '\n'}};
    int key = CALL(wgetch)(WINDOW_HERE);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (key == keys[i].theirs)
            return keys[i].ours;
    return key == ERR ? SCREEN_NO_KEY : key > 0xff ? SCREEN_OTHER : key;
}
