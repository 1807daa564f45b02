/* serve.c - the API server alone on a port, for trying clients against it: apiserver_serve ADDRESS:PORT [DATA-DIR [strict-kueue]]
 * DATA-DIR "": in memory. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/apiserver.h"
#include "net/http_server.h"

static void stop(void *arg)
{
    loop_stop(arg);
}

static int fail(const struct err *e)
{
    fprintf(stderr, "apiserver_serve: %s\n", e->text);
    return 1;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: apiserver_serve ADDRESS:PORT [DATA-DIR [strict-kueue]]\n");
        return 2;
    }
    struct loop *l = loop_new();
    struct apiserver_config config = {.data_dir = argc > 2 && argv[2][0] ? argv[2] : NULL, .strict_kueue = argc > 3 && strcmp(argv[3], "strict-kueue") == 0,
                                      .check_host = true};
    struct apiserver *s = NULL;
    struct http_server *server = NULL;
    int code = apiserver_new(l, &config, &s, &e) < 0 ? fail(&e) : 0;
    struct http_server_config listen = {.listen = argv[1], .handler = apiserver_handle, .ctx = s};
    if (code == 0 && http_server_new(l, &listen, &server, &e) < 0)
        code = fail(&e);
    struct loop_signal *term = loop_signal_new(l, SIGTERM, stop, l), *interrupt = loop_signal_new(l, SIGINT, stop, l);
    if (code == 0 && loop_run(l, &e) < 0)
        code = fail(&e);
    loop_signal_free(term);
    loop_signal_free(interrupt);
    http_server_free(server);
    apiserver_free(s);
    loop_free(l);
    return code;
}
