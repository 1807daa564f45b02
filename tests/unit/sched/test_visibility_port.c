/* The port's certificate from files: which pair is served after what, with a listener of the test's in the place of the real one. */
#include "stage.h"
#include "base/file.h"
#include "../folder.h"
#include "net/http_server.h"
#include "sched/serve/visibility_port.h"

static struct {
    char cert[64]; /* that is served; "" nobody listens */
    int tries_n;
    int fails_n, fails_with; /* the next so many */
} seen;

int __wrap_http_server_new(struct loop *l, const struct http_server_config *config, struct http_server **ret_s, struct err *e);
void __wrap_http_server_free(struct http_server *s);
int __wrap_http_server_port(const struct http_server *s);

int __wrap_http_server_new(struct loop *l, const struct http_server_config *config, struct http_server **ret_s, struct err *e)
{
    (void)l;
    seen.tries_n++;
    if (seen.fails_n) {
        seen.fails_n--;
        return err_set(e, seen.fails_with, "not now");
    }
    snprintf(seen.cert, sizeof seen.cert, "%s", config->tls_cert_pem);
    *ret_s = (struct http_server *)&seen;
    return 0;
}

void __wrap_http_server_free(struct http_server *s)
{
    if (s)
        seen.cert[0] = '\0';
}

int __wrap_http_server_port(const struct http_server *s)
{
    (void)s;
    return 8082;
}

static char dir[64];
static const char *path(const char *name)
{
    return arena_printf(w.a, "%s/%s", dir, name);
}

static void pair(const char *text)
{
    struct err e = {0};
    assert_int_equal(file_replace(path("key"), bytes_of(text), 0600, &e) | file_replace(path("cert"), bytes_of(text), 0600, &e), 0);
}

static void test_which_pair_is_served(void **state)
{
    struct visibility_port *p = NULL;
    struct err e = {0};
    stage_open(NULL);
    log_set_level(LOG_ERROR + 1);
    folder_make(dir, sizeof dir, "port");
    pair("first");
    struct visibility_port_config config = {":8082", path("cert"), path("key")};
    assert_int_equal(visibility_port_new(w.loop, w.client, NULL, &config, &p, &e), 0);
    assert_string_equal(seen.cert, "first");
    pair("second");
    run(6000);
    assert_string_equal(seen.cert, "second");
    seen.fails_n = 1; /* the pair is no good: it is asked once */
    seen.fails_with = E_INVALID;
    seen.tries_n = 0;
    pair("bad");
    run(30000);
    assert_string_equal(seen.cert, "second");
    assert_int_equal(seen.tries_n, 2);
    seen.fails_n = 2; /* no descriptor is left: neither of them listens */
    seen.fails_with = E_IO;
    pair("third");
    run(6000);
    assert_string_equal(seen.cert, "");
    run(6000);
    assert_string_equal(seen.cert, "third");
    visibility_port_free(p);
    folder_remove(dir);
    (void)teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_which_pair_is_served)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
