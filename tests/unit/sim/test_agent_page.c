/* test_agent_page.c - an agent's page through an exchange of the API server's: its format, an error of the agent's, nobody at the socket */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "../folder.h"
#include "net/http_local.h"
#include "net/http_server.h"
#include "sim/kubelet/agent_page.h"

static struct loop *loop;
static struct agent_page *page;
static struct http_server *agent;
static struct http_client *user;
static char dir[64], socket_path[96];

static void on_agent_asked(void *ctx, struct http_exchange *x)
{
    const char *accept = http_header(&x->request, "accept");
    if (!text_equal(x->request.path, "/metrics"))
        http_reply_text(x, 404, "text/plain", "not here\n");
    else
        http_reply_text(x, 200, "text/plain; version=0.0.4", accept ? accept : "");
}

static void on_user_asks(void *ctx, struct http_exchange *x)
{
    agent_page_get(page, x);
}

static int setup(void **state)
{
    loop = loop_new();
    folder_make(dir, sizeof dir, "page");
    (void)snprintf(socket_path, sizeof socket_path, "%s/metrics.sock", dir);
    assert_int_equal(agent_page_new(loop, socket_path, &page, NULL), 0);
    user = http_local_client_new(loop, on_user_asks, NULL, NULL, 1);
    return 0;
}

static int teardown(void **state)
{
    http_server_free(agent);
    agent = NULL;
    agent_page_free(page);
    http_client_free(user);
    loop_free(loop);
    (void)unlink(socket_path); /* gone already, or never made */
    return rmdir(dir);
}

struct outcome {
    int status;
    char type[64], body[128];
};

static void on_answer(void *arg, const struct http_answer *answer)
{
    struct outcome *o = arg;
    o->status = answer->status;
    (void)snprintf(o->body, sizeof o->body, "%.*s", (int)answer->body.n, answer->body.data);
    for (uint32_t i = 0; i < answer->headers_n; i++)
        if (text_equal(answer->headers[i].key, "content-type"))
            (void)snprintf(o->type, sizeof o->type, "%s", answer->headers[i].value);
}

static struct outcome ask(void)
{
    struct outcome o = {0};
    (void)http_client_send(user, &(struct http_call){.method = "GET",
                                                     .path = "/api/v1/nodes/n:9400/proxy/metrics",
                                                     .accept = "application/openmetrics-text",
                                                     .on_answer = on_answer,
                                                     .arg = &o});
    for (int i = 0; i < 1000 && !o.status; i++)
        loop_run_for(loop, 10, NULL);
    return o;
}

static void the_page_is_forwarded_as_it_is(void **state)
{
    _cleanup_buf_ struct buf listen = {0};
    buf_printf(&listen, "unix:%s", socket_path);
    struct http_server_config config = {.listen = listen.data, .handler = on_agent_asked};
    assert_int_equal(http_server_new(loop, &config, &agent, NULL), 0);
    struct outcome o = ask();
    assert_int_equal(o.status, 200);
    assert_string_equal(o.type, "text/plain; version=0.0.4");
    assert_string_equal(o.body, "application/openmetrics-text"); /* the agent was told what is wanted */
}

static void an_agent_that_is_not_there_is_said(void **state)
{
    struct outcome o = ask();
    assert_int_equal(o.status, 503);
    assert_non_null(strstr(o.body, "does not answer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_page_is_forwarded_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(an_agent_that_is_not_there_is_said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
