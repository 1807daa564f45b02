#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"

/* What log_line writes on stderr for the call in `body`. */
#define CAPTURE(text, body)                                                                                                      \
    do {                                                                                                                         \
        int ends_[2], saved_ = dup(STDERR_FILENO);                                                                               \
        assert_int_equal(pipe(ends_), 0);                                                                                        \
        assert_true(dup2(ends_[1], STDERR_FILENO) >= 0);                                                                         \
        body;                                                                                                                    \
        assert_true(dup2(saved_, STDERR_FILENO) >= 0);                                                                           \
        close(saved_);                                                                                                           \
        close(ends_[1]);                                                                                                         \
        ssize_t n_ = read(ends_[0], (text), sizeof(text) - 1);                                                                   \
        (text)[n_ < 0 ? 0 : n_] = '\0';                                                                                          \
        close(ends_[0]);                                                                                                         \
    } while (0)

static void test_line(void **state)
{
    char text[8192];
    CAPTURE(text, log_info("bound pod=%s", "a/b\nforged=1"));
    assert_non_null(strstr(text, "Z info bound pod=a/b forged=1\n"));
    CAPTURE(text, log_info("name=%s", "caf\xc3\xa9 \xff\xc3"));
    assert_non_null(strstr(text, "Z info name=caf\xc3\xa9 ??\n"));
    assert_int_equal(text[4], '-');
    assert_int_equal(text[19], '.');
    CAPTURE(text, log_debug("hidden"));
    assert_string_equal(text, "");
    log_set_level(LOG_DEBUG);
    assert_int_equal(log_get_level(), LOG_DEBUG);
    CAPTURE(text, log_debug("seen"));
    assert_non_null(strstr(text, " debug seen\n"));
    log_set_level(LOG_INFO);
}

static void test_cut(void **state)
{
    char text[8192], longer[6000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CAPTURE(text, log_error("%s", longer));
    assert_int_equal(strlen(text), 4096);
    assert_string_equal(text + 4094, "+\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line), cmocka_unit_test(test_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
