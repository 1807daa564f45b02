/* agent_page.c - see agent_page.h */
#include "sim/kubelet/agent_page.h"
#include <stdlib.h>
#include "base/memory.h"
#include "net/http_client.h"

#define ANSWER_MS 10000

struct agent_page {
    struct http_client *client;
};

int agent_page_new(struct loop *l, const char *socket, struct agent_page **ret_p, struct err *e)
{
    _cleanup_buf_ struct buf url = {0};
    struct agent_page *p = mem_zero(1, sizeof *p);
    buf_printf(&url, "unix:%s", socket);
    int r = http_client_new(l, &(struct http_client_config){.base_url = url.data}, &p->client, e);
    if (r < 0) {
        free(p);
        return r;
    }
    *ret_p = p;
    return 0;
}

void agent_page_free(struct agent_page *p)
{
    if (!p)
        return;
    http_client_free(p->client);
    free(p);
}

static const char *type_of(const struct http_answer *answer)
{
    for (uint32_t i = 0; i < answer->headers_n; i++)
        if (text_equal(answer->headers[i].key, "content-type"))
            return answer->headers[i].value;
    return "text/plain";
}

static void on_answer(void *arg, const struct http_answer *answer)
{
    struct http_exchange *x = arg;
    if (answer->status)
        http_reply(x, answer->status, type_of(answer), blob_new(answer->body.data, answer->body.n));
    else
        http_reply_text(x, 503, "text/plain", "the agent of this node does not answer\n");
}

void agent_page_get(struct agent_page *p, struct http_exchange *x)
{
    const char *accept = http_header(&x->request, "accept");
    (void)http_client_send(p->client, &(struct http_call){.method = "GET", /* never cancelled */
                                                          .path = "/metrics",
                                                          .accept = accept ? accept : "*/*",
                                                          .timeout_ms = ANSWER_MS,
                                                          .on_answer = on_answer,
                                                          .arg = x});
}
