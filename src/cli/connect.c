/* connect.c - shared options of the asking commands, and one blocking request at a time */
#include "cli/connect.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"

int connect_option(struct connect_options *o, int option, const char *value)
{
    int format;
    switch (option) {
    case 1000:
        o->kubeconfig = value;
        return 1;
    case 1001:
        o->context = value;
        return 1;
    case 'n':
        o->ns = value;
        return 1;
    case 'A':
        o->all_namespaces = true;
        return 1;
    case 'o':
        format = output_format_parse(value);
        if (format < 0)
            return -1;
        o->output = (enum output_format)format;
        return 1;
    default:
        return 0;
    }
}

int connection_open(struct connection *c, const struct connect_options *o)
{
    struct err e = {0};
    *c = (struct connection){0};
    if (kubeconfig_load(o->kubeconfig, o->context, true, &c->config, &e) < 0) {
        fprintf(stderr, "capstan: %s\n", e.text);
        return EXIT_USAGE;
    }
    c->loop = loop_new();
    if (kube_client_new(c->loop, c->config, "capstan/" CAPSTAN_VERSION, &c->client, &e) < 0) {
        fprintf(stderr, "capstan: %s\n", e.text);
        connection_close(c);
        return EXIT_USAGE;
    }
    if (!o->all_namespaces)
        c->ns = mem_text(o->ns ? o->ns : c->config->default_namespace);
    return EXIT_OK;
}

int connection_start(struct connection *c, struct connect_options *ret_options, int argc, char **argv, const char *help)
{
    static const struct option options[] = {CONNECT_LONG_OPTIONS, {0}};
    *ret_options = (struct connect_options){.output = OUTPUT_TABLE};
    for (int option; (option = getopt_long(argc, argv, CONNECT_SHORT_OPTIONS, options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_OK;
        }
        if (connect_option(ret_options, option, optarg) != 1) {
            fprintf(stderr, "Try 'capstan %s --help'.\n", argv[0]);
            return EXIT_USAGE;
        }
    }
    int code = connection_open(c, ret_options);
    return code == EXIT_OK ? -1 : code;
}

void connection_close(struct connection *c)
{
    kube_client_free(c->client);
    loop_free(c->loop);
    kubeconfig_free(c->config);
    free(c->ns);
    *c = (struct connection){0};
}

struct pending_get {
    struct loop *loop;
    struct arena *arena;
    struct json *value;
    struct err *error;
    bool done;
};

static void get_answered(void *arg, const struct kube_answer *answer)
{
    struct pending_get *g = arg;
    g->done = true;
    if (answer->code != 0)
        /* E_IO is left for "nobody answered": connection_fail tells that apart from an answer that says 500 */
        err_set(g->error, answer->status && answer->code == -E_IO ? E_PROTO : -answer->code, "%s", answer->error.text);
    else
        g->value = json_parse(g->arena, answer->body, NULL, g->error);
    loop_stop(g->loop);
}

struct json *connection_get(struct connection *c, struct arena *a, const char *path, struct err *e)
{
    struct pending_get g = {.loop = c->loop, .arena = a, .error = e};
    kube_get(c->client, path, get_answered, &g);
    while (!g.done)
        if (loop_run(c->loop, e) < 0)
            return NULL;
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

int connection_print_table(int argc, char **argv, const char *help, const struct output_column *columns,
                           uint32_t columns_n,
                           void (*rows)(struct connection *c, struct output_table *t, struct err *e))
{
    struct connect_options o;
    struct connection c;
    struct output_table t;
    struct err e = {0};
    int code = connection_start(&c, &o, argc, argv, help);
    if (code >= 0)
        return code;
    _cleanup_arena_ struct arena *a = arena_new();
    output_init(&t, a, columns, columns_n);
    rows(&c, &t, &e);
    code = e.code ? connection_fail(argv[0], &e) : EXIT_OK;
    if (code == EXIT_OK)
        output_print(&t, o.output);
    output_fini(&t);
    connection_close(&c);
    return code;
}

int connection_fail(const char *verb, const struct err *e)
{
    fprintf(stderr, "capstan %s: %s\n", verb, e->text);
    if (e->code == E_IO) /* the address in the kubeconfig is wrong, or its server is not there */
        return EXIT_USAGE;
    return e->code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
}
