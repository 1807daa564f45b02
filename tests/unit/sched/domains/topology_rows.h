/* topology_rows.h - a topology as text, for tests: "a=b1/r1 b=b1/-" */
#ifndef TESTS_TOPOLOGY_ROWS_H
#define TESTS_TOPOLOGY_ROWS_H
#include "../../core/world.h"

static inline const char *topology_rows(struct world *w, const struct topology_record *r)
{
    const char *text = "";
    for (uint32_t i = 0; i < r->rows_n; i++) {
        text = arena_printf(w->records, "%s%s%s=", text, i ? " " : "", text_of(w, r->rows[i].node));
        for (uint32_t l = 0; l < r->levels_n; l++)
            text = arena_printf(w->records, "%s%s%s", text, l ? "/" : "",
                                r->rows[i].domains[l] ? text_of(w, r->rows[i].domains[l]) : "-");
    }
    return text;
}

#endif
