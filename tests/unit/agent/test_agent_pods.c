/* The pods that an agent keeps of its node: not more than it has room for, whatever the API server lists */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "agent/agent_parts.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/http_local.h"
#include "sim/driver/driver_model.h"

#define PAGE 500
#define PAGES 34 /* 17,000 pods */

static void add_pods(struct buf *out, int page)
{
    for (int i = 0; i < PAGE; i++) {
        int n = page * PAGE + i;
        /* the number backwards: names differ early */
        buf_printf(out, "%s{\"metadata\":{\"namespace\":\"d\",\"name\":\"%d-%d\",\"uid\":\"%d-%d\",\"resourceVersion\":\"1\"},"
                        "\"status\":{\"phase\":\"Succeeded\"}}", i ? "," : "", n % 1000, n, n % 1000, n);
    }
}

static void serve(void *ctx, struct http_exchange *x)
{
    int *pages_n = ctx;
    _cleanup_buf_ struct buf out = {0};
    bool more = false;
    buf_text(&out, "{\"items\":[");
    if (text_equal(x->request.path, "/api/v1/pods") && *pages_n < PAGES) {
        add_pods(&out, *pages_n);
        more = ++*pages_n < PAGES;
    }
    buf_printf(&out, "],\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"%s\"}}", more ? "on" : "");
    http_reply_text(x, 200, "application/json", out.data);
}

static const struct agent_pod *pod(const struct agent *a, int n)
{
    char uid[32];
    (void)snprintf(uid, sizeof uid, "%d-%d", n % 1000, n);
    return agent_pods_by_uid(a, uid);
}

static void test_keeps_no_more_than_its_limit(void **state)
{
    int pages_n = 0;
    struct err e = {0};
    struct agent *a = NULL;
    log_set_level(getenv("TEST_LOG") ? LOG_DEBUG : LOG_ERROR);
    struct loop *loop = loop_new_virtual(1767225600000);
    struct kube_client *client = kube_client_wrap(loop, http_local_client_new(loop, serve, &pages_n, NULL, 1));
    struct driver *driver = driver_model_new(loop, gpu_model_find("t4"), 1, "n1");
    struct agent_options options = {.node_name = "n1", .root = "/nonexistent"};
    assert_int_equal(agent_new(loop, driver, client, &options, &a, &e), 0);
    assert_int_equal(loop_run_for(loop, 10000, NULL), 0);
    assert_int_equal(pages_n, PAGES);
    assert_non_null(pod(a, 0));
    assert_non_null(pod(a, LIMIT_NODE_PODS - 1));
    assert_null(pod(a, LIMIT_NODE_PODS));
    assert_null(pod(a, PAGES * PAGE - 1));
    agent_free(a);
    kube_client_free(client);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps_no_more_than_its_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
