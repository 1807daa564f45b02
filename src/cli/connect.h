/* connect.h - commands that ask an API server: the options they share (data/commands/shared.tsv), and blocking requests */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H
#include "cli/output.h"
#include "kube/client.h"

struct connection {
    struct loop *loop;
    struct kubeconfig *config;
    struct kube_client *client;
    char *ns; /* the namespace to use; NULL with all_namespaces */
    bool guessed; /* no kubeconfig was there */
    struct map *warned; /* what a server has warned of, told already; NULL: nothing yet */
};
/* Opens what --kubeconfig, --context, --namespace and --all-namespaces of `o` say. may_guess: without any kubeconfig ask where `capstan up`
 * listens, as kubectl does. Prints what is wrong and what to do on stderr; returns 0 or the exit code. */
int connection_open(struct connection *c, const struct options *o, bool may_guess);
void connection_close(struct connection *c);

/* A command that prints one table: `rows` asks the server and adds them; what it leaves in `e` is told instead. Returns the exit code. */
int connection_print_table(const struct options *o, const struct output_column *columns, uint32_t columns_n,
                           void (*rows)(struct connection *c, struct output_table *t, const struct options *o, struct err *e));

/* GET path (loops until answered). NULL on failure with code and text in e. The tree lives in the arena. */
struct json *connection_get(struct connection *c, struct arena *a, const char *path, struct err *e);
/* Each item of the list at path, as it comes: `fn` has it during the call only. WHY not one tree: ten thousand pods are 40 MB of one.
 * Returns 0, or -code with the text in e; items may have been given before. */
int connection_each(struct connection *c, const char *path, void (*fn)(void *arg, const struct json *item), void *arg, struct err *e);
/* The same for writes. body NULL: none; content_type NULL: JSON. What the server warns of (Warning headers) is told on stderr, each once,
 * as kubectl tells it. */
struct json *connection_send(struct connection *c, struct arena *a, const char *method, const char *path, const char *content_type,
                             const struct json *body, struct err *e);
/* Of a kind that may not be installed: then NULL without an error. The first error stays in e. */
const struct json *connection_get_list(struct connection *c, struct arena *a, const char *path, struct err *e);
/* Print "capstan VERB: text" on stderr and return the exit code for the error. */
int connection_fail(const char *verb, const struct err *e);

#endif
