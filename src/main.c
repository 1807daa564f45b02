/* main.c - one door: picks the command. Also installed as kubectl-capstan, so that `kubectl capstan why job/x` works. */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include "base/bytes.h"
#include "base/collections/map.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/output.h"

static void print_help(FILE *out)
{
    fputs("capstan - queues, gangs, GPUs: the GPU layer of a Kubernetes cluster in one program\n\nUsage: capstan "
          "COMMAND [OPTIONS]\n\n",
          out);
#define X(name, text) fprintf(out, "  %-10s %s\n", #name, text);
    COMMANDS(X)
#undef X
    fputs("\nA minute on a laptop:      capstan demo\n"
          "To stay:                   capstan up --data-dir ./c1\n"
          "Help for one command:      capstan help COMMAND, man capstan-COMMAND\n"
          "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 would not fit\n",
          out);
}

/* WHY  Left alone, malloc learns from the first large list that 32 MB blocks are ordinary and keeps such blocks for ever:
 * large answers should go back to the system when they are sent. */
static void set_malloc(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 2 << 20); /* a failure costs memory only */
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int run(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "";
#define X(command, text)                                                                                               \
    if (text_equal(name, #command))                                                                                    \
        return command##_main(argc, argv);
    COMMANDS(X)
#undef X
    if (text_equal(name, "--version"))
        return version_main(argc, argv);
    if (text_equal(name, "help") && argc > 1) {
        char *asked[] = {argv[1], (char[]){"--help"}, NULL};
        return run(2, asked);
    }
    if (text_equal(name, "help") || text_equal(name, "--help") || text_equal(name, "-h")) {
        print_help(stdout);
        return 0;
    }
    if (*name)
        fprintf(stderr, "capstan: unknown command '%s'\n\n", name);
    print_help(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    set_malloc();
    hash_key_set(random_seed_from_system(), random_seed_from_system());
    return output_finish(argc > 1 ? argv[1] : "", run(argc - 1, argv + 1));
}
