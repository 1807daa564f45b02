/* main.c - one door: picks the command. Also installed as kubectl-capstan, so that `kubectl capstan why job/x` works. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include "base/bytes.h"
#include "cli/cli.h"

static void print_help(FILE *out)
{
    fputs("capstan - queues, gangs, GPUs: the GPU layer of a Kubernetes cluster in one program\n\nUsage: capstan COMMAND [OPTIONS]\n\n", out);
#define X(name, text) fprintf(out, "  %-10s %s\n", #name, text);
    COMMANDS(X)
#undef X
    fputs("\nA minute on a laptop:      capstan demo\n"
          "To stay:                   capstan up --data-dir ./c1\n"
          "Help for one command:      capstan COMMAND --help, man capstan-COMMAND\n"
          "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 would not fit\n",
          out);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    const char *name = argc > 1 ? argv[1] : "";
#define X(command, text)                                                                                                         \
    if (text_equal(name, #command))                                                                                              \
        return command##_main(argc - 1, argv + 1);
    COMMANDS(X)
#undef X
    if (text_equal(name, "--version"))
        return version_main(1, argv);
    if (text_equal(name, "help") || text_equal(name, "--help") || text_equal(name, "-h")) {
        print_help(stdout);
        return 0;
    }
    if (*name)
        fprintf(stderr, "capstan: unknown command '%s'\n\n", name);
    print_help(stderr);
    return 2;
}
