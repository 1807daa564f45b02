/* Bytes of messages as protobuf.dev gives them, round trips, and what is malformed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/random.h"
#include "wire/protobuf.h"

static void expect_bytes(const struct buf *b, const char *bytes, size_t n)
{
    assert_int_equal(b->n, n);
    if (n)
        assert_memory_equal(b->data, bytes, n);
}
#define EXPECT(b, literal) expect_bytes((b), (literal), sizeof(literal) - 1)

static void test_write_nothing(void **state)
{
    _cleanup_buf_ struct buf b = {0};
    protobuf_uint(&b, 1, 0);
    protobuf_int(&b, 2, 0);
    protobuf_bool(&b, 3, false);
    protobuf_text(&b, 4, "");
    EXPECT(&b, "");
}

static void test_write_fields(void **state)
{
    _cleanup_buf_ struct buf b = {0};
    protobuf_uint(&b, 1, 150);
    EXPECT(&b, "\x08\x96\x01");
    protobuf_text(&b, 2, "testing");
    EXPECT(&b, "\x08\x96\x01\x12\x07testing");
    buf_clear(&b);
    protobuf_int(&b, 1, -2);
    EXPECT(&b, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    buf_clear(&b);
    protobuf_text_always(&b, 1, "");
    protobuf_bool(&b, 16, true);
    EXPECT(&b, "\x0a\x00\x80\x01\x01");
    buf_clear(&b);
    protobuf_map_text(&b, 1, "k", "");
    EXPECT(&b, "\x0a\x05\x0a\x01k\x12\x00");
}

static void test_embedded_lengths(void **state)
{
    /* Around every length at which the length itself grows. */
    static const size_t sizes[] = {0, 1, 124, 125, 126, 127, 128, 129, 16380, 16384, 16390, 2097150, 2097160};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        _cleanup_buf_ struct buf b = {0};
        size_t outer = protobuf_begin(&b, 3), inner = protobuf_begin(&b, 1);
        memset(buf_reserve(&b, sizes[i]), 'x', sizes[i]);
        b.n += sizes[i];
        protobuf_end(&b, inner);
        protobuf_uint(&b, 2, 7);
        protobuf_end(&b, outer);
        struct protobuf_field f;
        struct protobuf_reader r = protobuf_reader(buf_view(&b));
        assert_int_equal(protobuf_next(&r, &f), 1);
        assert_int_equal(f.number, 3);
        assert_int_equal(protobuf_next(&r, &(struct protobuf_field){0}), 0);
        r = protobuf_reader(f.bytes);
        assert_int_equal(protobuf_next(&r, &f), 1);
        assert_int_equal(f.bytes.n, sizes[i]);
        assert_int_equal(protobuf_next(&r, &f), 1);
        assert_int_equal(f.value, 7);
        assert_int_equal(protobuf_next(&r, &f), 0);
    }
}

static int read_all(const char *bytes, size_t n)
{
    struct protobuf_field f;
    struct protobuf_reader r = protobuf_reader((struct bytes){bytes, n});
    int got, fields_n = 0;
    while ((got = protobuf_next(&r, &f)) > 0)
        fields_n++;
    return got < 0 ? got : fields_n;
}
#define READ(literal) read_all((literal), sizeof(literal) - 1)

static void test_read_all_types(void **state)
{
    struct protobuf_field f;
    struct bytes m = BYTES("\x08\x05\x11\x01\x00\x00\x00\x00\x00\x00\x80\x1a\x02hi\x25\x04\x03\x02\x01");
    struct protobuf_reader r = protobuf_reader(m);
    assert_int_equal(protobuf_next(&r, &f), 1);
    assert_true(f.number == 1 && f.type == 0 && f.value == 5);
    assert_int_equal(protobuf_next(&r, &f), 1);
    assert_true(f.number == 2 && f.type == 1 && f.value == 0x8000000000000001u);
    assert_int_equal(protobuf_next(&r, &f), 1);
    assert_true(f.number == 3 && f.type == 2 && bytes_is(f.bytes, "hi"));
    assert_int_equal(protobuf_next(&r, &f), 1);
    assert_true(f.number == 4 && f.type == 5 && f.value == 0x01020304);
    assert_int_equal(protobuf_next(&r, &f), 0);
}

static void test_read_empty(void **state)
{
    struct protobuf_field f;
    struct protobuf_reader r = protobuf_reader((struct bytes){NULL, 0});
    assert_int_equal(protobuf_next(&r, &f), 0);
    assert_int_equal(READ(""), 0);
}

static void test_read_malformed(void **state)
{
    assert_int_equal(READ("\x08"), -E_PROTO);                                                 /* no value */
    assert_int_equal(READ("\x80"), -E_PROTO);                                                 /* half a key */
    assert_int_equal(READ("\x00\x01"), -E_PROTO);                                             /* field 0 */
    assert_int_equal(READ("\x0a\x05hi"), -E_PROTO);                                           /* shorter than it says */
    assert_int_equal(READ("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -E_PROTO);         /* length 2^64-1 */
    assert_int_equal(READ("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -E_PROTO);     /* 11 bytes */
    assert_int_equal(READ("\x0b\x0c"), -E_PROTO);                                             /* groups */
    assert_int_equal(READ("\x0e\x01"), -E_PROTO);                                             /* type 6 */
    assert_int_equal(READ("\x0d\x01\x02\x03"), -E_PROTO);                                     /* 3 of 4 bytes */
    assert_int_equal(READ("\x09\x01\x02\x03\x04\x05\x06\x07"), -E_PROTO);                     /* 7 of 8 bytes */
    assert_int_equal(READ("\x80\x80\x80\x80\x10\x01"), -E_PROTO);                             /* number 2^29 */
    assert_int_equal(READ("\xf8\xff\xff\xff\x0f\x01"), 1);                                    /* number 2^29-1 */
}

static void test_arena_text(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    assert_string_equal(protobuf_arena_text(a, BYTES("GPU-1")), "GPU-1");
    assert_string_equal(protobuf_arena_text(a, (struct bytes){NULL, 0}), "");
    assert_null(protobuf_arena_text(a, (struct bytes){"a\0b", 3}));
}

/* Random fields written and read again; every cut of the bytes ends in a field less or an error, never beyond. */
static void test_random_round_trips(void **state)
{
    struct random random = {7};
    for (int round = 0; round < 2000; round++) {
        _cleanup_buf_ struct buf b = {0};
        uint64_t values[8];
        uint32_t numbers[8], n = (uint32_t)random_below(&random, 8);
        for (uint32_t i = 0; i < n; i++) {
            numbers[i] = 1 + (uint32_t)random_below(&random, (1u << 29) - 1);
            values[i] = (random_next(&random) >> random_below(&random, 64)) | 1;
            protobuf_uint(&b, numbers[i], values[i]);
        }
        struct protobuf_field f;
        struct protobuf_reader r = protobuf_reader(buf_view(&b));
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(protobuf_next(&r, &f), 1);
            assert_true(f.number == numbers[i] && f.value == values[i]);
        }
        assert_int_equal(protobuf_next(&r, &f), 0);
        for (size_t cut = 0; cut < b.n; cut++) {
            char *part = mem_text_n(b.data, cut);
            assert_true(read_all(part, cut) <= (int)n);
            free(part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_nothing),   cmocka_unit_test(test_write_fields),
        cmocka_unit_test(test_embedded_lengths), cmocka_unit_test(test_read_all_types),
        cmocka_unit_test(test_read_empty),      cmocka_unit_test(test_read_malformed),
        cmocka_unit_test(test_arena_text),      cmocka_unit_test(test_random_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
