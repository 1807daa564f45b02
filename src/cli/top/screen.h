/* screen.h - lines of text on a terminal, and its keys
 *
 * OWNER  one screen a process: the terminal is the process's.
 * BAD INPUT  what would move the cursor or is no UTF-8 is shown as '?'; what is too wide is cut with '>'.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H
#include <stdbool.h>
#include "base/err.h"

enum screen_look { SCREEN_PLAIN, SCREEN_HEAD, SCREEN_CURSOR, SCREEN_DIM };
enum screen_key { /* other keys are their characters */
                  SCREEN_NO_KEY = -1,
                  SCREEN_UP = 0x100000,
                  SCREEN_DOWN,
                  SCREEN_LEFT,
                  SCREEN_RIGHT,
                  SCREEN_PAGE_UP,
                  SCREEN_PAGE_DOWN,
                  SCREEN_HOME,
                  SCREEN_END,
                  SCREEN_BACK_TAB,
                  SCREEN_OTHER,
};

/* -E_IO: ncurses is not here; -E_INVALID: nothing that it can draw on. */
int screen_open(struct err *e);
void screen_close(void); /* the terminal as it was; again is free */
void screen_size(int *ret_lines, int *ret_columns);
void screen_resized(void); /* after SIGWINCH */
/* One line, from its column `shift` on; as wide as the screen. `text` ends at a line end, too. */
void screen_line(int at, const char *text, int shift, enum screen_look look);
/* Lines from `at` on are empty; then all is shown. */
void screen_show(int at);
/* The next key; SCREEN_NO_KEY: none was pressed. */
int screen_key(void);

#endif
