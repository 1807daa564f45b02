/* tree.h - an arena for a group of tests, and JSON trees in it. Include after cmocka.h. */
#ifndef TEST_TREE_H
#define TEST_TREE_H
#include "base/arena.h"
#include "wire/json.h"

static struct arena *a; /* between setup and teardown */

static inline int setup(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static inline struct json *parse(const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(a, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s: %s", e.text, text);
    return v;
}
#endif
