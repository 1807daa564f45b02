/* evict.c - the set of pods, and one request at a time */
#include "agent/node/evict.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/memory.h"
#include "wire/json.h"

#define LOOK_MS 1000

struct leaver {
    char *ns, *name;
    char *uid; /* NULL: not seen yet */
    char why[200];
    bool wanted, left;
    bool asked, accepted, told; /* asked: without an answer as yet */
    int64_t again_ms;           /* not before */
    char answer[ERR_TEXT_MAX];
};
struct evict {
    struct evict_config config;
    int64_t next_ms;
    bool in_flight;
    struct leaver *list;
    uint32_t n, cap;
    struct loop_timer *timer; /* of evict_wait */
    int64_t until_ms;
    driver_done_fn done;
    void *done_arg;
};

static void on_look(void *arg);

struct evict *evict_new(const struct evict_config *config)
{
    struct evict *v = mem_zero(1, sizeof *v);
    v->config = *config;
    v->timer = loop_timer_new(config->loop, on_look, v);
    return v;
}

static void leaver_free(struct leaver *l)
{
    free(l->ns);
    free(l->name);
    free(l->uid);
}

void evict_begin(struct evict *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        v->list[i].wanted = false;
}

void evict_pod(struct evict *v, const char *ns, const char *name, const char *why)
{
    for (uint32_t i = 0; i < v->n; i++) {
        if (text_equal(v->list[i].name, name) && text_equal(v->list[i].ns, ns)) {
            v->list[i].wanted = true;
            return;
        }
    }
    MEM_RESERVE(v->list, v->cap, v->n + 1);
    struct leaver *l = &v->list[v->n++];
    *l = (struct leaver){.ns = mem_text(ns), .name = mem_text(name), .wanted = true, .answer = "not asked yet"};
    (void)snprintf(l->why, sizeof l->why, "%s", why);
}

static void tell(struct evict *v, const struct leaver *l, const char *reason, const char *words)
{
    char text[sizeof l->why + ERR_TEXT_MAX + 8];
    (void)snprintf(text, sizeof text, "%s%s%s", l->why, *words ? ": " : "", words);
    v->config.tell(v->config.arg, l->ns, l->name, l->uid, reason, text);
}

static void on_evicted(void *arg, const struct kube_answer *answer)
{
    struct evict *v = arg;
    uint32_t at = 0;
    v->in_flight = false;
    while (at < v->n && !v->list[at].asked)
        at++;
    if (at == v->n)
        return; /* forgotten meanwhile */
    struct leaver *l = &v->list[at];
    l->asked = false;
    l->accepted = answer->code == 0 || answer->code == -E_NOTFOUND;
    l->again_ms = loop_now_ms(v->config.loop) + EVICT_AGAIN_MS;
    (void)snprintf(l->answer, sizeof l->answer, "%s", l->accepted ? "still ending" : answer->error.text);
    if (answer->code == 0)
        tell(v, l, "GPUEviction", "");
    if (l->accepted || l->told)
        return; /* it goes, or went by itself; that it waits is told once a pod */
    log_info("eviction not possible yet pod=%s/%s error=\"%s\"", l->ns, l->name, l->answer);
    tell(v, l, "GPUEvictionWaits", l->answer);
    l->told = true;
}

static void ask(struct evict *v, struct leaver *l)
{
    struct arena *m = arena_new();
    struct json *body = json_new(m, JSON_OBJECT);
    json_set_text(m, body, "apiVersion", "policy/v1");
    json_set_text(m, body, "kind", "Eviction");
    struct json *meta = json_ensure_object(m, body, "metadata");
    json_set_text(m, meta, "name", l->name);
    json_set_text(m, meta, "namespace", l->ns);
    json_set_text(m, json_ensure_object(m, json_ensure_object(m, body, "deleteOptions"), "preconditions"), "uid", l->uid);
    struct buf text = {0};
    json_write(&text, body);
    if (!l->told)
        log_info("evicting pod=%s/%s why=\"%s\"", l->ns, l->name, l->why);
    l->asked = v->in_flight = true;
    kube_create(v->config.kube, kube_path(m, "", "v1", "pods", l->ns, l->name, "eviction"), buf_view(&text), on_evicted, v);
    buf_free(&text);
    arena_free(m);
}

static bool has_left(const struct evict *v, struct leaver *l)
{
    const char *uid = v->config.uid_of(v->config.arg, l->ns, l->name);
    if (!l->uid && uid)
        l->uid = mem_text(uid);
    return !uid || !text_equal(uid, l->uid);
}

static void forget_unwanted(struct evict *v)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->list[i].wanted)
            v->list[kept_n++] = v->list[i];
        else
            leaver_free(&v->list[i]);
    }
    v->n = kept_n;
}

uint32_t evict_step(struct evict *v)
{
    int64_t now_ms = loop_now_ms(v->config.loop);
    struct leaver *next = NULL;
    uint32_t here_n = 0;
    forget_unwanted(v);
    for (uint32_t i = 0; i < v->n; i++) {
        struct leaver *l = &v->list[i];
        l->left = has_left(v, l);
        here_n += !l->left;
        if (!l->left && !l->accepted && !l->asked && now_ms >= l->again_ms && (!next || l->again_ms < next->again_ms))
            next = l;
    }
    if (next && !v->in_flight && v->config.kube && now_ms >= v->next_ms) {
        v->next_ms = now_ms + v->config.every_ms;
        ask(v, next);
    }
    return here_n;
}

/* -E_AGAIN and which pod is still here, and why; 0 when none is. */
static int left(const struct evict *v, struct err *e)
{
    for (uint32_t i = 0; i < v->n; i++) {
        if (!v->list[i].left)
            return err_set(e, E_AGAIN, "pod %s/%s did not leave: %s", v->list[i].ns, v->list[i].name, v->list[i].answer);
    }
    return 0;
}

static void on_look(void *arg)
{
    struct evict *v = arg;
    struct err e = {0};
    if (evict_step(v) > 0 && loop_now_ms(v->config.loop) < v->until_ms) {
        loop_timer_start(v->timer, LOOK_MS, 0);
        return;
    }
    int code = left(v, &e);
    driver_done_fn done = v->done;
    v->done = NULL;
    evict_begin(v);
    forget_unwanted(v); /* a pod of the same name may come, and be another one */
    if (done)
        done(v->done_arg, code, &e);
}

void evict_wait(struct evict *v, driver_done_fn done, void *arg)
{
    v->done = done;
    v->done_arg = arg;
    v->until_ms = loop_now_ms(v->config.loop) + EVICT_TIMEOUT_MS;
    loop_timer_start(v->timer, 0, 0);
}

void evict_free(struct evict *v)
{
    if (!v)
        return;
    struct err e = {0};
    if (v->done)
        v->done(v->done_arg, err_set(&e, E_GONE, "evictions end with their agent"), &e);
    if (v->config.kube)
        kube_client_forget(v->config.kube, on_evicted, v);
    for (uint32_t i = 0; i < v->n; i++)
        leaver_free(&v->list[i]);
    loop_timer_free(v->timer);
    free(v->list);
    free(v);
}
