/* scenario.c - scenarios of `capstan sim run`: refused with a place, or steps in the order of their times whose every text can be read */
#include <string.h>
#include "../fuzz.h"
#include "base/limits.h"
#include "sim/run/scenario.h"

/* A file that is named holds what the scenario itself does. */
static int read_itself(void *arg, struct arena *a, const char *path, struct bytes *ret_text, struct err *e)
{
    (void)a;
    (void)e;
    MUST_HOLD(strlen(path) > 0);
    *ret_text = *(const struct bytes *)arg;
    return 0;
}

static void check_text(const char *text)
{
    MUST_HOLD(!text || strlen(text) < LIMIT_SCENARIO_BYTES);
}

static void check_objects(const struct scenario_step *s)
{
    for (uint32_t i = 0; i < s->objects_n; i++) {
        _cleanup_buf_ struct buf out = {0};
        MUST_HOLD(json_is(s->objects[i].object, JSON_OBJECT));
        json_write(&out, s->objects[i].object);
        check_text(s->objects[i].place.file);
    }
}

static void check_expects(const struct scenario_step *s)
{
    for (uint32_t i = 0; i < s->expects_n; i++) {
        const struct scenario_expect *x = &s->expects[i];
        MUST_HOLD(!!x->job + !!x->queue + !!x->node == 1 && x->state < SCENARIO_STATES_N && x->place.line);
        check_text(x->reason);
        JSON_EACH (name, x->nodes)
            check_text(name->text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes text = {(const char *)data, size};
    struct scenario s;
    struct err e = {0};
    int64_t before_ms = 0;
    if (size > LIMIT_SCENARIO_BYTES)
        return 0;
    if (scenario_parse(a, "fuzz/a.yaml", text, read_itself, &text, &s, &e) < 0) {
        MUST_HOLD(e.code == E_INVALID || e.code == E_LIMIT);
        MUST_HOLD(strlen(e.text) > 0);
        return 0;
    }
    check_text(s.title);
    MUST_HOLD(s.nodes_n > 0);
    for (uint32_t i = 0; i < s.steps_n; i++) {
        MUST_HOLD(s.steps[i].at_ms >= before_ms && s.steps[i].at_ms <= LIMIT_SCENARIO_MS);
        before_ms = s.steps[i].at_ms;
        check_text(s.steps[i].what);
        check_objects(&s.steps[i]);
        check_expects(&s.steps[i]);
    }
    return 0;
}
