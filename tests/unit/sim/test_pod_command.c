/* test_pod_command.c - what commands say about their own end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/arena.h"
#include "sim/kubelet/pod_command.h"

#define FALLBACK_MS 10000

static struct pod_command read_spec(const char *containers, int64_t fallback_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *spec = json_parse(a, bytes_of(arena_printf(a, "{\"containers\":[%s]}", containers)), NULL, NULL);
    assert_non_null(spec);
    return pod_command_read(spec, fallback_ms);
}

static void check(const char *container, int64_t run_ms, int exit_code)
{
    struct pod_command got = read_spec(container, FALLBACK_MS);
    if (got.run_ms != run_ms || got.exit_code != exit_code)
        fail_msg("%s: %lld ms, exit %d", container, (long long)got.run_ms, got.exit_code);
}

/* sh -c `script` in busybox */
static void check_script(const char *script, int64_t run_ms, int exit_code)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *container = json_new(a, JSON_OBJECT), *words = json_ensure_array(a, container, "command");
    json_append(words, json_new_text(a, "/bin/sh"));
    json_append(words, json_new_text(a, "-c"));
    json_append(words, json_new_text(a, script));
    json_set_text(a, container, "image", "docker.io/library/busybox:1.36");
    struct buf text = {0};
    json_write(&text, container);
    check(text.data, run_ms, exit_code);
    buf_free(&text);
}

static void programs_of_their_own(void **state)
{
    (void)state;
    check("{\"image\":\"i\",\"command\":[\"sleep\",\"5\"]}", 5000, 0);
    check("{\"image\":\"i\",\"command\":[\"/bin/sleep\",\"1.5m\"]}", 90000, 0);
    check("{\"image\":\"i\",\"command\":[\"sleep\",\"infinity\"]}", -1, 0);
    check("{\"image\":\"i\",\"command\":[\"sleep\",\"soon\"]}", 0, 1);
    check("{\"image\":\"i\",\"command\":[\"/bin/true\"]}", 0, 0);
    check("{\"image\":\"i\",\"command\":[\"false\"]}", 0, 1);
    check("{\"image\":\"i\",\"command\":[\"tail\",\"-f\",\"/dev/null\"]}", -1, 0);
    check("{\"image\":\"busybox\",\"args\":[\"sleep\",\"2\"]}", 2000, 0);
    check("{\"image\":\"mine\",\"args\":[\"sleep\",\"2\"]}", FALLBACK_MS, 0);
    check("{\"image\":\"i\",\"command\":[\"python\",\"train.py\"]}", FALLBACK_MS, 0);
    check("{\"image\":\"i\",\"command\":[\"\",\"\"]}", FALLBACK_MS, 0);
    check("{\"image\":\"i\",\"command\":[1,null]}", FALLBACK_MS, 0);
}

static void a_signal_is_ignored(void **state)
{
    static const struct {
        const char *script;
        bool ignores;
    } cases[] = {{"trap '' TERM; sleep 9", true}, {"trap \\\"\\\" INT SIGTERM && sleep 9", true}, {"trap '' 15\\nsleep 9", true},
                 {"trap 'exit 0' TERM; sleep 9", false}, {"trap '' INT; sleep 9", false}, {"echo trap '' TERM; sleep 9", false},
                 {"false && trap '' TERM; sleep 9", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct pod_command got = read_spec(
            arena_printf(a, "{\"image\":\"busybox\",\"command\":[\"sh\",\"-c\",\"%s\"]}", cases[i].script), FALLBACK_MS);
        if (got.ignores_term != cases[i].ignores || got.run_ms != 9000)
            fail_msg("%s: %d, %lld ms", cases[i].script, got.ignores_term, (long long)got.run_ms);
    }
}

static void scripts(void **state)
{
    (void)state;
    check_script("sleep 10s && exit 3", 10000, 3);
    check_script("echo started; sleep 2; sleep 3", 5000, 0);
    check_script("echo 'a; exit 4' \"b\" && true", 0, 0);
    check_script("false || sleep 1", 1000, 0);
    check_script("false && sleep 1", 0, 1);
    check_script("false; sleep 1", 1000, 0);
    check_script("set -e; false; sleep 1", 0, 1);
    check_script("N=3 sleep 1 # then\n\nexit 258\n", 1000, 2);
    check_script("echo $(date) >/tmp/x 2>&1; exit", 0, 0);
    check_script("exec sleep 4; exit 9", 4000, 0);
    check_script("while true; do date; sleep 1; done", -1, 0);
    check_script("mkdir -p /run/sshd; /usr/sbin/sshd -D;", -1, 0);
    check_script("", 0, 0);
    check_script("sleep", 0, 1);
    check_script("sleep 1 \\\n && exit 7", 1000, 7);
}

static void what_is_not_understood_takes_the_default(void **state)
{
    (void)state;
    check_script("for i in 1 2 3; do sleep 1; done; exit 3", FALLBACK_MS, 0);
    check_script("echo a | tee b; exit 3", FALLBACK_MS, 0);
    check_script("sleep 5 & wait", FALLBACK_MS, 0);
    check_script("sleep $N", FALLBACK_MS, 0);
    check_script("exit $CODE", FALLBACK_MS, 0);
    check_script("echo \"open", 0, 0);
    check_script("sleep 2; /app/train; /app/test; exit 3", 2000 + FALLBACK_MS, 3);
}

static void known_images_have_known_programs(void **state)
{
    (void)state;
    check_script("sleep 10s && xyz", 10000, 127);
    check_script("sh fake.sh", 0, 2);
    check_script("wget http://a", FALLBACK_MS, 0);
    check("{\"image\":\"busybox\",\"command\":[\"sh\",\"my.sh\"],\"volumeMounts\":[{\"name\":\"v\"}]}", FALLBACK_MS, 0);
    check("{\"image\":\"mine\",\"command\":[\"sh\",\"-c\",\"xyz\"]}", FALLBACK_MS, 0);
}

static void servers_run_until_deleted(void **state)
{
    (void)state;
    check("{\"image\":\"nginx\"}", -1, 0);
    check("{\"image\":\"registry:5000/library/nginx:1.27@sha256:00\"}", -1, 0);
    check("{\"image\":\"nginx\",\"command\":[\"nginx\",\"-g\",\"daemon off;\"]}", -1, 0);
    check("{\"image\":\"nginx\",\"command\":[\"sleep\",\"1\"]}", 1000, 0);
    check("{\"image\":\"mine\"}", FALLBACK_MS, 0);
    check("{}", FALLBACK_MS, 0);
}

static void containers_together(void **state)
{
    (void)state;
    check("{\"command\":[\"sleep\",\"3\"]},{\"command\":[\"sh\",\"-c\",\"exit 5\"]}", 3000, 5);
    check("{\"command\":[\"sleep\",\"3\"]},{\"image\":\"nginx\"}", -1, 0);
    assert_int_equal(read_spec("{\"image\":\"mine\"}", -1).run_ms, -1);
    assert_int_equal(read_spec("{\"command\":[\"sleep\",\"3\"]}", -1).run_ms, 3000);
    assert_int_equal(read_spec("", -1).run_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_their_own),
        cmocka_unit_test(a_signal_is_ignored),
        cmocka_unit_test(scripts),
        cmocka_unit_test(what_is_not_understood_takes_the_default),
        cmocka_unit_test(known_images_have_known_programs),
        cmocka_unit_test(servers_run_until_deleted),
        cmocka_unit_test(containers_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
