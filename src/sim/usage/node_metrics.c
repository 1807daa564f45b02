/* node_metrics.c - requests wait for the sample that they cause */
#include "sim/usage/node_metrics.h"
#include <stdlib.h>
#include "base/memory.h"
#include "net/http.h"

#define PREFIX "/api/v1/nodes/"
#define SUFFIX ":9400/proxy/metrics"
#define AGAIN_MS 50 /* a node whose GPUs are still being made */
#define TRIES_MAX 100

struct asking {
    struct asking *next;
    struct http_exchange *x;
    char *node;
    uint32_t tries_n;
    bool measured; /* its collection has begun */
};
struct node_metrics {
    const struct kubelets *kubelets;
    struct node_measure *measure;
    struct asking *asking;
    struct loop_timer *timer;
};

static void asking_free(struct asking *q)
{
    free(q->node);
    free(q);
}

static void answer(struct node_metrics *m, struct asking *q)
{
    const char *accept = http_header(&q->x->request, "accept");
    bool openmetrics = prometheus_accepts_openmetrics(bytes_of(accept ? accept : ""));
    struct bytes page = node_measure_page(m->measure, q->node, openmetrics);
    http_reply(q->x, 200,
               openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                           : "text/plain; version=0.0.4; charset=utf-8",
               blob_new(page.data, page.n));
}

static void on_sampled(void *arg, const char *node, const struct sample *s)
{
    struct node_metrics *m = arg;
    struct asking **at = &m->asking;
    while (*at) {
        struct asking *q = *at;
        if (!q->measured || !text_equal(q->node, node)) {
            at = &q->next;
            continue;
        }
        *at = q->next;
        answer(m, q);
        asking_free(q);
    }
}

/* Who waits for a sample of a collector that goes asks anew. */
static void on_gone(void *arg, const char *node)
{
    struct node_metrics *m = arg;
    for (struct asking *q = m->asking; q; q = q->next)
        if (text_equal(q->node, node)) {
            q->measured = false;
            loop_timer_start(m->timer, AGAIN_MS, 0);
        }
}

/* False: not now, but soon. */
static bool try_to_measure(struct node_metrics *m, struct asking *q)
{
    int r = node_measure_now(m->measure, q->node);
    q->measured = r == 0;
    if (r == -E_AGAIN && ++q->tries_n < TRIES_MAX)
        return false;
    if (r < 0)
        http_reply_text(q->x, r == -E_AGAIN ? 503 : 404, "text/plain",
                        r == -E_AGAIN ? "the GPUs of this node are not ready yet\n"
                                      : "there is no simulated GPU node of this name\n");
    return true;
}

static void on_timer(void *arg)
{
    struct node_metrics *m = arg;
    struct asking *old = m->asking;
    bool again = false;
    m->asking = NULL;
    while (old) { /* samples may come meanwhile: what is asked is in one list or the other */
        struct asking *q = old;
        old = q->next;
        q->next = m->asking;
        m->asking = q;
        if (q->measured)
            continue;
        if (!try_to_measure(m, q)) {
            again = true;
        } else if (!q->measured) {
            m->asking = q->next;
            asking_free(q);
        }
    }
    if (again)
        loop_timer_start(m->timer, AGAIN_MS, 0);
}

static bool on_request(void *ctx, struct http_exchange *x)
{
    struct node_metrics *m = ctx;
    const char *path = x->request.path;
    if (!text_ends(path, SUFFIX) || strlen(path) <= strlen(PREFIX SUFFIX) || !text_equal(x->request.method, "GET"))
        return false;
    _cleanup_free_ char *node = mem_text_n(path + strlen(PREFIX), strlen(path) - strlen(PREFIX SUFFIX));
    struct real_agent *real = kubelets_real(m->kubelets, node);
    if (real) {
        agent_page_get(real_agent_page(real), x);
        return true;
    }
    struct asking *q = mem_zero(1, sizeof *q);
    q->x = x;
    q->node = mem_text(node);
    q->next = m->asking;
    m->asking = q;
    loop_timer_start(m->timer, 0, 0);
    return true;
}

struct node_metrics *node_metrics_new(struct loop *l, struct apiserver *s, struct kubelets *k, struct node_measure *measure)
{
    struct node_metrics *m = mem_zero(1, sizeof *m);
    m->kubelets = k;
    m->measure = measure;
    m->timer = loop_timer_new(l, on_timer, m);
    node_measure_listen(measure, &(struct node_measure_listener){on_sampled, on_gone, m});
    apiserver_add_route(s, PREFIX, on_request, m);
    return m;
}

void node_metrics_free(struct node_metrics *m)
{
    if (!m)
        return;
    loop_timer_free(m->timer);
    while (m->asking) {
        struct asking *q = m->asking;
        m->asking = q->next;
        http_reply_text(q->x, 503, "text/plain", "the cluster ends\n");
        asking_free(q);
    }
    free(m);
}
