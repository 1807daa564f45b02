/* http_carrier.c - the public calls of a client, passed to its carrier; waiting for one answer */
#include "net/http_carrier.h"

uint64_t http_client_send(struct http_client *c, const struct http_call *call)
{
    return c->ops->send(c, call);
}

void http_client_cancel(struct http_client *c, uint64_t id)
{
    c->ops->cancel(c, id);
}

uint32_t http_client_in_flight(const struct http_client *c)
{
    return c->ops->in_flight(c);
}

void http_client_free(struct http_client *c)
{
    if (c)
        c->ops->free(c);
}

struct fetch {
    struct loop *l;
    struct buf *out;
    struct err *e;
    int status;
    bool done;
};

static void fetch_answered(void *arg, const struct http_answer *answer)
{
    struct fetch *f = arg;
    f->done = true;
    f->status = answer->status;
    if (answer->status == 0 && f->e)
        *f->e = answer->error;
    if (answer->status != 0)
        buf_bytes(f->out, answer->body);
    loop_stop(f->l);
}

int http_client_fetch(struct http_client *c, const struct http_call *call, struct buf *out, int *ret_status,
                      struct err *e)
{
    struct err local = {0};
    struct fetch f = {.l = c->l, .out = out, .e = e ? e : &local};
    struct http_call mine = *call;
    mine.on_answer = fetch_answered;
    mine.arg = &f;
    uint64_t id = http_client_send(c, &mine);
    int r = loop_run(c->l, e);
    if (!f.done) {
        http_client_cancel(c, id);
        return r < 0 ? r : err_set(e, E_IO, "%s %s: stopped before the answer came", call->method, call->path);
    }
    if (f.status == 0)
        return f.e->code ? -f.e->code : -E_IO;
    *ret_status = f.status;
    return 0;
}
