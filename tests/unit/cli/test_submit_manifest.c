/* test_submit_manifest.c - what a line of options becomes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/drive/submit_manifest.h"

static void pods_and_gpus(void **state)
{
    static const char *const wrong[] = {"", "x", "8x", "x4", "-1", "8x-4", "+8", "0x4", "8x4x2", "8X4", " 8", "1e3", "20001x1", "1000001", "99999999999999999999"};
    int64_t pods, gpus;
    (void)state;
    assert_true(submission_gpus("4", &pods, &gpus) && pods == 1 && gpus == 4);
    assert_true(submission_gpus("8x4", &pods, &gpus) && pods == 8 && gpus == 4);
    assert_true(submission_gpus("2x0", &pods, &gpus) && pods == 2 && gpus == 0);
    assert_true(submission_gpus("20000x1000000", &pods, &gpus) && pods == 20000 && gpus == 1000000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(submission_gpus(wrong[i], &pods, &gpus));
}

/* Whatever the image is called, it is a name that a Job can have, and that of its pods besides. */
static void names(void **state)
{
    static const char *const images[] = {"busybox", "a/B_usy.box:1.2", "ghcr.io/x/y@sha256:abc", "", "/", ":", "---", "\xc3\xbc", "a\nb",
                                         "an-image-with-a-name-that-goes-on-for-longer-than-any-label-may-be-and-then-some"};
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    _cleanup_arena_ struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        const char *name = submission_name(a, images[i], i);
        size_t n = strlen(name);
        assert_true(n >= 7 && n <= 46 && strspn(name, in_names) == n && name[0] != '-' && name[n - 1] != '-');
    }
    assert_string_equal(arena_text_n(a, submission_name(a, "a/B_usy.box:1.2", 1), 10), "b-usy-box-");
    assert_string_not_equal(submission_name(a, "x", 1), submission_name(a, "x", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pods_and_gpus), cmocka_unit_test(names)};
    return cmocka_run_group_tests_name("submit_manifest", tests, NULL, NULL);
}
