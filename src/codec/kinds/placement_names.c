#include "codec/kinds/placement_names.h"
#include "base/bytes.h"

static const char *const names[] = {
#define X(name, text) text,
    PLACEMENTS(X)
#undef X
};
enum { NAMES_N = sizeof names / sizeof *names };

bool placement_named(const char *name, enum placement *ret_placement)
{
    for (int i = 0; i < NAMES_N; i++)
        if (text_equal(name, names[i])) {
            *ret_placement = (enum placement)i;
            return true;
        }
    return false;
}

const char *placement_name(enum placement placement)
{
    return (int)placement < NAMES_N ? names[placement] : "?";
}
