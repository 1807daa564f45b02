/* curses_library.h - ncurses, loaded when a screen is opened
 *
 * WHY  one command of many needs it: the others, and nodes without a terminal, do without (net/curl_library.h does the same).
 * Users include this instead of <curses.h>; the names of its functions then mean what was loaded.
 */
#ifndef CLI_TOP_CURSES_LIBRARY_H
#define CLI_TOP_CURSES_LIBRARY_H
#define NCURSES_NOMACROS
#include <curses.h>
#include "base/err.h"

#define CURSES_FUNCTIONS(X)                                                                                                                \
    X(cbreak)                                                                                                                              \
    X(curs_set)                                                                                                                            \
    X(delscreen)                                                                                                                           \
    X(endwin)                                                                                                                              \
    X(getmaxx)                                                                                                                             \
    X(getmaxy)                                                                                                                             \
    X(keypad)                                                                                                                              \
    X(newterm)                                                                                                                             \
    X(nodelay)                                                                                                                             \
    X(noecho)                                                                                                                              \
    X(resizeterm)                                                                                                                          \
    X(set_escdelay)                                                                                                                        \
    X(waddnstr)                                                                                                                            \
    X(wattrset)                                                                                                                            \
    X(wclear)                                                                                                                              \
    X(wclrtobot)                                                                                                                           \
    X(wclrtoeol)                                                                                                                           \
    X(wgetch)                                                                                                                              \
    X(wmove)                                                                                                                               \
    X(wrefresh)

struct curses_library {
#define X(name) __typeof__(name) *name##_fn;
    CURSES_FUNCTIONS(X)
#undef X
    WINDOW **screen; /* its stdscr */
};
extern struct curses_library curses_library;

/* Load it; once is enough, again is free. -E_IO says which package is missing. */
int curses_library_open(struct err *e);

#endif
