/* pending.c - queues/NAME/pendingworkloads of visibility.kueue.x-k8s.io: whoever decides is asked, nothing of it is stored */
#include "apiserver/request/status.h"
#include "apiserver/verbs/subresource.h"

void pending_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    _cleanup_buf_ struct buf out = {0};
    struct err e = {0};
    int r = -E_NOTFOUND;
    if (ri->verb != VERB_GET) {
        status_reply_method(x, ri);
        return;
    }
    if (s->pending)
        r = s->pending(s->pending_ctx, &x->request, ri->version, ri->ns, ri->name, &out, &e);
    if (r == 0)
        http_reply(x, 200, "application/json", blob_new(out.data, out.n));
    else if (s->pending)
        status_reply_err(x, ri, &e);
    else
        status_reply(x, 404, "NotFound", ri, NULL, "nobody decides here who is next");
}
