/* test_device_list.c - devices of a pod as text: each once, whatever stands between them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "core/device_list.h"
#include "base/memory.h"
#include "base/random.h"

/* "resource=id resource=id ". */
static void listed(const char *text, const char *wanted)
{
    struct device_list l = {.rest = bytes_of(text)};
    _cleanup_buf_ struct buf all = {0};
    buf_text(&all, "");
    while (device_list_next(&l))
        buf_printf(&all, "%.*s=%.*s ", (int)l.resource.n, l.resource.data, (int)l.id.n, l.id.data);
    assert_string_equal(all.data, wanted);
}

static void each_device_is_read(void **state)
{
    (void)state;
    listed("", "");
    listed("a=x", "a=x ");
    listed("nvidia.com/gpu=GPU-a,GPU-b;keti.com/mpsgpu=GPU-a::3", "nvidia.com/gpu=GPU-a nvidia.com/gpu=GPU-b keti.com/mpsgpu=GPU-a::3 ");
    listed("a=x;b=y;a=z", "a=x b=y a=z ");
}

static void what_says_nothing_is_passed_over(void **state)
{
    (void)state;
    static const char *const nothing[] = {"a", ";", "=", ",", "a;b", "a=", "=x", "=x,y", "a=;b=", ",,;;==", "a,b"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        listed(nothing[i], "");
    listed("a;b=y", "b=y ");
    listed("a=,x,,y,;b=z;", "a=x a=y b=z ");
    listed("=x;b=y", "b=y ");
    listed("a=x=y", "a=x=y ");
}

/* What is written is read again. */
static void what_is_written_is_read(void **state)
{
    (void)state;
    static const char *const resources[] = {"a", "b", "c"}, *const ids[] = {"x", "y::1", "z"};
    struct random r = {3};
    for (int round = 0; round < 1000; round++) {
        _cleanup_buf_ struct buf text = {0}, wanted = {0};
        const char *last = NULL;
        buf_text(&text, "");
        buf_text(&wanted, "");
        for (uint64_t n = random_below(&r, 6); n > 0; n--) {
            const char *resource = resources[random_below(&r, 3)], *id = ids[random_below(&r, 3)];
            device_list_add(&text, last, resource, id);
            buf_printf(&wanted, "%s=%s ", resource, id);
            last = resource;
        }
        listed(text.data, wanted.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_device_is_read), cmocka_unit_test(what_says_nothing_is_passed_over),
                                       cmocka_unit_test(what_is_written_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
