/* connect.c - the connection of the asking commands, and one blocking request at a time */
#include "cli/connect.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object_meta.h"
#include "wire/json_reader.h"

enum { ITEM_MAX_BYTES = 16 << 20 };

/* SOURCE kubectl asks this address when it has no kubeconfig; `capstan up` listens there. */
static struct kubeconfig *kubeconfig_guess(void)
{
    struct kubeconfig *k = mem_zero(1, sizeof *k);
    k->server = mem_text("http://localhost:8080");
    k->default_namespace = mem_text("default");
    return k;
}

int connection_open(struct connection *c, const struct options *o, bool may_guess)
{
    const char *file = option_shared(o, "kubeconfig"), *context = option_shared(o, "context"), *env = getenv("KUBECONFIG"),
               *ns = option_shared(o, "namespace");
    bool is_unsaid = !file && !context && !(env && *env); /* nobody has said where the cluster is */
    struct err e = {0};
    *c = (struct connection){0};
    if (kubeconfig_load(file, context, true, &c->config, &e) < 0) {
        if (!may_guess || e.code != E_NOTFOUND || !is_unsaid) {
            fprintf(stderr, "capstan: %s\n", e.text);
            return EXIT_USAGE;
        }
        c->config = kubeconfig_guess();
        c->guessed = true;
    }
    c->loop = loop_new();
    if (kube_client_new(c->loop, c->config, "capstan/" CAPSTAN_VERSION, &c->client, &e) < 0) {
        fprintf(stderr, "capstan: %s\n", e.text);
        connection_close(c);
        return EXIT_USAGE;
    }
    if (!option_shared(o, "all-namespaces"))
        c->ns = mem_text(ns ? ns : c->config->default_namespace);
    return EXIT_OK;
}

void connection_close(struct connection *c)
{
    kube_client_free(c->client);
    loop_free(c->loop);
    kubeconfig_free(c->config);
    map_free(c->warned);
    free(c->ns);
    *c = (struct connection){0};
}

struct pending_get {
    struct loop *loop;
    struct connection *warns; /* who is told of warnings; NULL nobody */
    struct arena *arena;
    struct json *value;
    struct err *error;
    bool done;
};

/* WHY  E_IO is left for "nobody answered": connection_fail tells that apart from an answer that says 500. */
static void error_take(struct err *e, const struct kube_answer *answer)
{
    err_set(e, answer->status && answer->code == -E_IO ? E_PROTO : -answer->code, "%s", answer->error.text);
}

static void get_answered(void *arg, const struct kube_answer *answer)
{
    struct pending_get *g = arg;
    g->done = true;
    if (answer->code != 0)
        error_take(g->error, answer);
    else
        g->value = json_parse(g->arena, answer->body, NULL, g->error);
    loop_stop(g->loop);
}

/* WHY  which members a list was asked for says nothing to whoever reads that it failed. */
static void leave_out_fields(struct err *e)
{
    char *from = strstr(e->text, "?fields="), *to = from ? strstr(from, ": ") : NULL;
    if (to)
        memmove(from, to, strlen(to) + 1);
}

static void wait_for(struct connection *c, const bool *done, struct err *e)
{
    while (!*done)
        if (loop_run(c->loop, e) < 0)
            return;
    leave_out_fields(e);
    if (c->guessed && e->code == E_IO)
        (void)err_wrap(e, "no kubeconfig is there (KUBECONFIG, --kubeconfig), and kubectl's default does not answer");
}

struct json *connection_get(struct connection *c, struct arena *a, const char *path, struct err *e)
{
    struct pending_get g = {.loop = c->loop, .arena = a, .error = e};
    kube_get(c->client, path, get_answered, &g);
    wait_for(c, &g.done, e);
    return g.value;
}

struct pending_list {
    struct loop *loop;
    struct json_splitter *splitter;
    struct arena *item;
    void (*fn)(void *arg, const struct json *item);
    void *arg;
    struct err *error;
    struct buf without_nul;
    uint32_t unread_n; /* objects that are more than we read, as nested ones are: the others are as they are */
    struct err unread; /* what is wrong with the last of them */
    bool done;
};

static int list_item(void *arg, struct bytes text)
{
    struct pending_list *p = arg;
    arena_reset(p->item);
    const struct json *item = json_parse(p->item, object_text_without_nul(text, &p->without_nul), NULL, &p->unread);
    if (item)
        p->fn(p->arg, item);
    p->unread_n += !item;
    return 0;
}

static bool list_chunk(void *arg, struct bytes chunk)
{
    struct pending_list *p = arg;
    return json_splitter_feed(p->splitter, chunk, p->error) == 0;
}

static void list_answered(void *arg, const struct kube_answer *answer)
{
    struct pending_list *p = arg;
    p->done = true;
    if (answer->code != 0)
        error_take(p->error, answer);
    else if (!p->error->code)
        (void)json_splitter_finish(p->splitter, NULL, p->error);
    loop_stop(p->loop);
}

int connection_each(struct connection *c, const char *path, void (*fn)(void *arg, const struct json *item), void *arg, struct err *e)
{
    _cleanup_arena_ struct arena *item = arena_new();
    struct pending_list p = {.loop = c->loop, .item = item, .fn = fn, .arg = arg, .error = e};
    p.splitter = json_splitter_new(JSON_SPLIT_LIST, ITEM_MAX_BYTES, list_item, &p);
    kube_send(c->client, &(struct kube_call){.lane = KUBE_LANE_READ,
                                             .method = "GET",
                                             .path = path,
                                             .on_chunk = list_chunk,
                                             .on_answer = list_answered,
                                             .arg = &p});
    wait_for(c, &p.done, e);
    json_splitter_free(p.splitter);
    buf_free(&p.without_nul);
    if (p.unread_n)
        fprintf(stderr, "capstan: %u object(s) of %s cannot be read and are left out: %s\n", p.unread_n, path, p.unread.text);
    return -e->code;
}

/* ---- what the server warns of ---- */

/* SHAPE  299 - "text", 299 agent "an \"other\""; a date in quotes may follow each. Takes the next text out of it; false: there is none. */
static bool warning_next(const char **at, struct buf *ret_text)
{
    const char *p = strchr(*at, '"');
    buf_clear(ret_text);
    if (!p)
        return false;
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1])
            p++;
        buf_char(ret_text, (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p); /* nothing that a terminal obeys */
    }
    p += *p == '"';
    if (*p == ' ' && p[1] == '"') /* the date */
        p += 2 + strcspn(p + 2, "\"");
    *at = p + (*p == '"');
    return true;
}

static void warnings_tell(struct connection *c, const char *header)
{
    _cleanup_buf_ struct buf text = {0};
    while (warning_next(&header, &text)) {
        bool is_new = false;
        c->warned = c->warned ? c->warned : map_new(1);
        (void)map_put(c->warned, buf_view(&text), &is_new);
        if (is_new && text.n)
            output_say(stderr, "Warning: %s\n", text.data);
    }
}

static void send_answered(void *arg, const struct kube_answer *answer)
{
    struct pending_get *g = arg;
    for (uint32_t i = 0; i < answer->headers_n; i++)
        if (text_equal(answer->headers[i].key, "warning"))
            warnings_tell(g->warns, answer->headers[i].value);
    get_answered(arg, answer);
}

struct json *connection_send(struct connection *c, struct arena *a, const char *method, const char *path, const char *content_type,
                             const struct json *body, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    struct pending_get g = {.loop = c->loop, .warns = c, .arena = a, .error = e};
    if (body)
        json_write(&text, body);
    kube_send(c->client, &(struct kube_call){.lane = KUBE_LANE_STATUS,
                                             .method = method,
                                             .path = path,
                                             .content_type = content_type ? content_type : "application/json",
                                             .body = buf_view(&text),
                                             .on_answer = send_answered,
                                             .arg = &g});
    wait_for(c, &g.done, e);
    return g.value;
}

const struct json *connection_get_list(struct connection *c, struct arena *a, const char *path, struct err *e)
{
    struct err one = {0};
    const struct json *list = connection_get(c, a, path, &one);
    if (!list && one.code != E_NOTFOUND && e->code == 0)
        *e = one;
    return list;
}

/* An empty table looks like a failure: where it is of one namespace, the others are named. For people only. */
static void say_nothing_found(const struct connection *c, const struct output_table *t, const struct options *o)
{
    if (t->rows_n || t->format > OUTPUT_WIDE)
        return;
    int all = option_find(o->command, "all-namespaces", 14);
    const char *text = t->empty ? t->empty : "nothing to show";
    if (!c->ns || all < 0 || o->command->options[all].role != OPTION_IS_OPTION)
        fprintf(stderr, "capstan %s: %s\n", o->command->name, text);
    else if (t->empty)
        fprintf(stderr, "capstan %s: %s; --all-namespaces shows the others\n", o->command->name, text);
    else
        fprintf(stderr, "capstan %s: nothing in namespace %s; --all-namespaces shows the others\n", o->command->name, c->ns);
}

int connection_print_table(const struct options *o, const struct output_column *columns, uint32_t columns_n,
                           void (*rows)(struct connection *c, struct output_table *t, const struct options *o, struct err *e))
{
    struct connection c;
    struct output_table t;
    struct err e = {0};
    int code = connection_open(&c, o, true);
    if (code != EXIT_OK)
        return code;
    _cleanup_arena_ struct arena *a = arena_new();
    output_init(&t, a, columns, columns_n);
    t.format = output_format_of(o);
    rows(&c, &t, o, &e);
    code = e.code ? connection_fail(o->command->name, &e) : EXIT_OK;
    if (code == EXIT_OK) {
        if (t.note)
            fprintf(stderr, "capstan %s: %s\n", o->command->name, t.note);
        output_print(&t, t.format);
        say_nothing_found(&c, &t, o);
    }
    output_fini(&t);
    connection_close(&c);
    return code;
}

int connection_fail(const char *verb, const struct err *e)
{
    output_say(stderr, "capstan %s: %s\n", verb, e->text);
    if (e->code == E_IO) /* the address in the kubeconfig is wrong, or its server is not there */
        return EXIT_USAGE;
    return e->code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
}
