/* decoder_world.h - a decoder with what it needs, for the tests that read objects: "high" is priority 1000, pods of "volcano" and of
 * "default-scheduler" are ours. After cmocka.h. */
#ifndef TESTS_DECODER_WORLD_H
#define TESTS_DECODER_WORLD_H
#include "codec/decode/decode.h"

struct world {
    struct intern *names;
    struct arena *arena;
    name_id ours[2];
    struct decoder d;
};

static inline int32_t priority_of(void *ctx, const char *class_name)
{
    (void)ctx;
    return text_equal(class_name, "high") ? 1000 : 0;
}

static inline int world_open(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    w->names = intern_new();
    w->arena = arena_new();
    w->ours[0] = intern_text_id(w->names, "volcano");
    w->ours[1] = intern_text_id(w->names, "default-scheduler");
    w->d = (struct decoder){w->names, w->arena, w->ours, 2, priority_of, NULL};
    *state = w;
    return 0;
}

static inline int world_close(void **state)
{
    struct world *w = *state;
    intern_free(w->names);
    arena_free(w->arena);
    free(w);
    return 0;
}

static inline struct json *tree(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(w->arena, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s", e.text);
    return v;
}

#endif
