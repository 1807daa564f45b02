#include "codec/kinds/placement_names.h"
#include <string.h>
#include "base/bytes.h"

#define LOAD_SUFFIX "+load"
static const char *const names[] = {
#define X(name, text) text,
    PLACEMENTS(X)
#undef X
}, *const names_by_load[] = {
#define X(name, text) text LOAD_SUFFIX,
    PLACEMENTS(X)
#undef X
};
enum { NAMES_N = sizeof names / sizeof *names };

bool placement_named(const char *name, enum placement *ret_placement)
{
    for (unsigned i = 0; i < NAMES_N; i++) {
        if (text_equal(name, names[i])) {
            *ret_placement = (enum placement)i;
            return true;
        }
        if (text_equal(name, names_by_load[i]) && i != PLACEMENT_RANDOM) { /* which looks at nothing */
            *ret_placement = (enum placement)(i | PLACEMENT_BY_LOAD);
            return true;
        }
    }
    return false;
}

const char *placement_name(enum placement placement)
{
    enum placement alone = placement_alone(placement);
    return (unsigned)alone >= NAMES_N ? "?" : placement & PLACEMENT_BY_LOAD ? names_by_load[alone] : names[alone];
}
