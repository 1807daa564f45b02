/* table.h - a table of clusters: objects in, one decision out, and what is said to one who waits */
#ifndef TEST_TABLE_H
#define TEST_TABLE_H
#include "../stories.h"

struct table_case {
    const char *name, *objects, *decided;
    const char *waits, *says; /* of this gang part of what it is told; NULL: nobody is asked */
};

/* Who goes, or what is given. */
static inline const char *victims_or_flavors(struct world *w)
{
    return effects(w, EFFECT_EVICT) ? decided(w) : given(w);
}

/* `decision` of each case must be what the case says; every case that is wrong is told. */
static inline void check_table(const struct table_case *cases, size_t n, const char *(*decision)(struct world *w))
{
    uint32_t wrong_n = 0;
    for (size_t i = 0; i < n; i++) {
        struct world w = world_new();
        story(&w, cases[i].objects);
        step(&w);
        const char *told = cases[i].waits ? why(&w, cases[i].waits) : "";
        if (strcmp(decision(&w), cases[i].decided) != 0) {
            print_error("%s: decided \"%s\", expected \"%s\"\n", cases[i].name, decision(&w), cases[i].decided);
            wrong_n++;
        } else if (cases[i].waits && !strstr(told, cases[i].says)) {
            print_error("%s: %s is told \"%s\", not \"%s\"\n", cases[i].name, cases[i].waits, told, cases[i].says);
            wrong_n++;
        }
        world_free(&w);
    }
    assert_int_equal(wrong_n, 0);
}
#define CHECK_TABLE(cases, decision) check_table(cases, sizeof(cases) / sizeof *(cases), decision)

#endif
