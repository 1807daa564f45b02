/* main.c - one door: picks the command. Also installed as kubectl-capstan, so that `kubectl capstan why job/x` works. */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include "base/bytes.h"
#include "base/collections/map.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"

static int (*const mains[COMMANDS_N])(const struct options *o) = {
#define X(name) name##_main,
    COMMANDS(X)
#undef X
};

static void print_help(FILE *out)
{
    fputs("capstan - queues, gangs, GPUs: the GPU layer of a Kubernetes cluster in one program\n\nUsage: capstan "
          "COMMAND [OPTIONS]\n\n",
          out);
    for (int i = 0; i < COMMANDS_N; i++)
        fprintf(out, "  %-10s %s\n", command_rows[i].name, command_rows[i].summary);
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

static int run_command(int i, int argc, char **argv)
{
    _cleanup_options_ struct options o;
    int code = options_parse(&o, &command_rows[i], argc, argv);
    return code < 0 ? mains[i](&o) : code;
}

/* What other tools call it. */
static const struct {
    const char *name, *here;
} elsewhere[] = {{"gpus", "nodes --gpus"}, {"nvidia-smi", "nodes --gpus"}, {"sinfo", "nodes --summary"}, {"squeue", "jobs"},
                 {"ps", "jobs"},           {"list", "jobs"},               {"status", "jobs"},           {"sacct", "jobs --finished"},
                 {"history", "jobs --finished"}, {"sbatch", "submit"},     {"run", "submit"},            {"scancel", "cancel"},
                 {"delete", "cancel"},     {"kill", "cancel"},             {"stop", "hold --stop"},      {"start", "resume"},
                 {"explain", "why"},       {"describe", "why"},            {"usage", "report"},          {"validate", "lint"},
                 {"check", "doctor"}};

static int unknown_command(const char *name)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (text_equal(name, elsewhere[i].name)) {
            fprintf(stderr, "capstan: unknown command '%s'; that is capstan %s\n", name, elsewhere[i].here);
            return EXIT_USAGE;
        }
    _cleanup_buf_ struct buf names = {0};
    char near[64];
    for (int i = 0; i < COMMANDS_N; i++)
        buf_printf(&names, "%s ", command_rows[i].name);
    if (option_near(name, names.data, near))
        fprintf(stderr, "capstan: unknown command '%s'; did you mean %s?\n\n", name, near);
    else
        fprintf(stderr, "capstan: unknown command '%s'\n\n", name);
    print_help(stderr);
    return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "";
    int command = command_find(text_equal(name, "--version") ? "version" : name);
    if (command >= 0)
        return run_command(command, argc, argv);
    if (text_equal(name, "help") && argc > 1) {
        char *asked[] = {argv[1], (char[]){"--help"}, NULL};
        return run(2, asked);
    }
    if (text_equal(name, "help") || text_equal(name, "--help") || text_equal(name, "-h")) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (*name)
        return unknown_command(name);
    print_help(stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    set_malloc();
    hash_key_set(random_seed_from_system(), random_seed_from_system());
    return output_finish(argc > 1 ? argv[1] : "", run(argc - 1, argv + 1));
}
