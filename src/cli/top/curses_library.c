/* curses_library.c - dlopen and one dlsym a function */
#include "cli/top/curses_library.h"
#include <dlfcn.h>
#include <stdbool.h>

struct curses_library curses_library;

int curses_library_open(struct err *e)
{
    static bool is_open;
    const char *missing = NULL;
    if (is_open)
        return 0;
    void *handle = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(e, E_IO, "%s: install Debian's libncursesw6, or use --once", dlerror());
#define X(name)                                                                                                                            \
    curses_library.name##_fn = (__typeof__(curses_library.name##_fn))dlsym(handle, #name);                                                 \
    missing = curses_library.name##_fn ? missing : #name;
    CURSES_FUNCTIONS(X)
#undef X
    curses_library.screen = dlsym(handle, "stdscr");
    missing = curses_library.screen ? missing : "stdscr";
    if (missing)
        return err_set(e, E_IO, "libncursesw has no %s: 6.0 or newer is needed", missing);
    is_open = true;
    return 0;
}
