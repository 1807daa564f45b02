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

/* SOURCE kubectl asks this address when it has no kubeconfig; `capstan up` listens there. */
static struct kubeconfig *kubeconfig_guess(void)
{
    struct kubeconfig *k = mem_zero(1, sizeof *k);
    k->server = mem_text("http://localhost:8080");
    k->default_namespace = mem_text("default");
    return k;
}

/* Nobody has said where the cluster is. */
static bool is_unsaid(const struct connect_options *o)
{
    const char *env = getenv("KUBECONFIG");
    return !o->kubeconfig && !o->context && !(env && *env);
}

int connection_open(struct connection *c, const struct connect_options *o)
{
    struct err e = {0};
    *c = (struct connection){0};
    if (kubeconfig_load(o->kubeconfig, o->context, true, &c->config, &e) < 0) {
        if (!o->may_guess || e.code != E_NOTFOUND || !is_unsaid(o)) {
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
    if (!o->all_namespaces)
        c->ns = mem_text(o->ns ? o->ns : c->config->default_namespace);
    return EXIT_OK;
}

/* What the command has no use for, NULL when all is well. */
static const char *useless(const struct connect_options *o, int arguments_n, int use)
{
    if (o->ns && !(use & CONNECT_NAMESPACE))
        return "these are in no namespace: leave out --namespace";
    if (o->all_namespaces && !(use & CONNECT_ALL_NAMESPACES))
        return use & CONNECT_NAMESPACE ? "name one namespace with --namespace" : "these are in no namespace: leave out --all-namespaces";
    if (arguments_n != 1 && (use & CONNECT_ARGUMENT))
        return "name one object, for example job/training-job";
    return NULL;
}

int connection_start(struct connection *c, struct connect_options *ret_options, int argc, char **argv, const char *help, int use)
{
    static const struct option options[] = {CONNECT_LONG_OPTIONS, {0}};
    *ret_options = (struct connect_options){.output = OUTPUT_TABLE, .may_guess = true};
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
    const char *wrong = useless(ret_options, argc - optind, use);
    if (wrong || (optind < argc && !(use & CONNECT_ARGUMENT))) {
        if (wrong)
            fprintf(stderr, "capstan %s: %s\n", argv[0], wrong);
        else
            fprintf(stderr, "capstan %s: unexpected argument %s\n", argv[0], argv[optind]);
        fprintf(stderr, "Try 'capstan %s --help'.\n", argv[0]);
        return EXIT_USAGE;
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
    if (c->guessed && e->code == E_IO)
        (void)err_wrap(e, "no kubeconfig is there (KUBECONFIG, --kubeconfig), and kubectl's default does not answer");
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

int connection_print_table(int argc, char **argv, const char *help, int use, const struct output_column *columns, uint32_t columns_n,
                           void (*rows)(struct connection *c, struct output_table *t, struct err *e))
{
    struct connect_options o;
    struct connection c;
    struct output_table t;
    struct err e = {0};
    int code = connection_start(&c, &o, argc, argv, help, use);
    if (code >= 0)
        return code;
    _cleanup_arena_ struct arena *a = arena_new();
    output_init(&t, a, columns, columns_n);
    t.format = o.output;
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
