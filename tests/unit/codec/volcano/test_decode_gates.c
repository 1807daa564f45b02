/* Scheduling gates of pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../decoder_world.h"

/* The gate of Volcano's queue is no hindrance to who asked for it and is ours. */
static void reads_gates(void **state)
{
    static const struct {
        const char *asks, *scheduler, *gates;
        bool gated;
    } cases[] = {
        {"true", "volcano", "[{\"name\":\"scheduling.volcano.sh/queue-allocation-gate\"}]", false},
        {"true", "volcano", "[]", false},
        {"true", "volcano", "[{\"name\":\"x\"},{\"name\":\"scheduling.volcano.sh/queue-allocation-gate\"}]", true},
        {"yes", "volcano", "[{\"name\":\"scheduling.volcano.sh/queue-allocation-gate\"}]", true},
        {"true", "foreign", "[{\"name\":\"scheduling.volcano.sh/queue-allocation-gate\"}]", true},
        {"true", "volcano", "[{}]", true},
        {"true", "volcano", "[7]", true},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pod_record p;
        struct err e = {0};
        const char *text = arena_printf(w->arena, "{\"spec\":{\"schedulerName\":\"%s\",\"schedulingGates\":%s},\"metadata\":{\"name\":\"p\","
                                        "\"namespace\":\"ns\",\"annotations\":{\"scheduling.volcano.sh/queue-allocation-gate\":\"%s\"}}}",
                                        cases[i].scheduler, cases[i].gates, cases[i].asks);
        assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
        assert_int_equal(p.gated, cases[i].gated);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(reads_gates, world_open, world_close)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
