/* connect.h - commands that ask an API server: the options they share, and blocking requests
 *
 *     --kubeconfig FILE   --context NAME   -n, --namespace NS   --output FORMAT   (-o)
 */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H
#include <getopt.h>
#include "cli/output.h"
#include "kube/client.h"

enum exit_code { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOT_FOUND = 3, EXIT_NO_FIT = 4 };

struct connect_options {
    const char *kubeconfig, *context, *ns; /* NULL = default */
    bool all_namespaces;
    bool may_guess; /* without any kubeconfig ask where `capstan up` listens, as kubectl does */
    enum output_format output;
};
/* What a command has beside the server and the format: the others of these options it refuses. */
enum connect_use { CONNECT_NAMESPACE = 1, CONNECT_ALL_NAMESPACES = 2, CONNECT_ARGUMENT = 4 };
/* Put into a command's long options; values 1000.. are handled by connect_option. */
#define CONNECT_LONG_OPTIONS                                                                                           \
    {"kubeconfig", required_argument, NULL, 1000}, {"context", required_argument, NULL, 1001},                         \
        {"namespace", required_argument, NULL, 'n'}, {"all-namespaces", no_argument, NULL, 'A'},                       \
        {"output", required_argument, NULL, 'o'},                                                                      \
    {                                                                                                                  \
        "help", no_argument, NULL, 'h'                                                                                 \
    }
#define CONNECT_SHORT_OPTIONS "n:Ao:h"
#define CONNECT_HELP_SERVER                                                                                            \
    "      --kubeconfig FILE   API server to ask (default: $KUBECONFIG, in a pod its own, ~/.kube/config, and without\n" \
    "                          any http://localhost:8080, where 'capstan up' listens)\n"                               \
    "      --context NAME      context of the kubeconfig\n"
#define CONNECT_HELP_NAMESPACE "  -n, --namespace NS      namespace (default: the context's)\n"
#define CONNECT_HELP_ALL "  -A, --all-namespaces    all namespaces\n"
#define CONNECT_HELP_OUTPUT "  -o, --output FORMAT     table, wide, json, yaml or csv\n"
#define CONNECT_HELP_HELP "  -h, --help              this text\n"
/* Take one getopt_long result. 1 = taken, 0 = not ours, -1 = wrong value (message printed; exit with EXIT_USAGE). */
int connect_option(struct connect_options *o, int option, const char *value);

struct connection {
    struct loop *loop;
    struct kubeconfig *config;
    struct kube_client *client;
    char *ns; /* the namespace to use; NULL with all_namespaces */
    bool guessed; /* no kubeconfig was there */
};
/* Prints what is wrong and what to do on stderr; returns 0 or the exit code. */
int connection_open(struct connection *c, const struct connect_options *o);
void connection_close(struct connection *c);

/* Both for a command that has only the shared options: parse argv (argv[0] is the command's name), open the connection. `use`: of enum
 * connect_use; CONNECT_ARGUMENT wants exactly one argument, which then stands at optind. -1 = go on; else the exit code. */
int connection_start(struct connection *c, struct connect_options *ret_options, int argc, char **argv, const char *help, int use);

/* A command that has only the shared options and prints one table: `rows` asks the server and adds them; what it leaves in `e` is told
 * instead. Returns the exit code. */
int connection_print_table(int argc, char **argv, const char *help, int use, const struct output_column *columns, uint32_t columns_n,
                           void (*rows)(struct connection *c, struct output_table *t, struct err *e));

/* GET path (loops until answered). NULL on failure with code and text in e. The tree lives in the arena. */
struct json *connection_get(struct connection *c, struct arena *a, const char *path, struct err *e);
/* Of a kind that may not be installed: then NULL without an error. The first error stays in e. */
const struct json *connection_get_list(struct connection *c, struct arena *a, const char *path, struct err *e);
/* Print "capstan VERB: text" on stderr and return the exit code for the error. */
int connection_fail(const char *verb, const struct err *e);

#endif
