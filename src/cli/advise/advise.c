/* advise.c - capstan advise: the rules, and what they find as manifests */
#include "cli/advise/advise.h"
#include <stdio.h>
#include <stdlib.h>
#include "cli/advise/intent/intent.h"
#include "cli/cli.h"
#include "wire/yaml.h"

/* What each says, in the order in which they are told. docs/advice.md has a paragraph of each. */
static const struct {
    const char *name;
    void (*look)(struct advise *x);
} rules[] = {
    {"idle-gpus", advise_idle},
    {"small-work", advise_small},
    {"gang-in-part", advise_part_of_gang},
    {"not-queued", advise_not_queued},
    {"no-quota", advise_no_quota},
    {"quota-without-nodes", advise_quota_without_nodes},
    {"nodes-without-flavor", advise_nodes_without_flavor},
    {"no-reclaim", advise_no_reclaim},
    {"strict-head", advise_strict_head},
    {"no-time-limit", advise_no_limit},
    {"moves", advise_moves},
};
enum { RULES_N = sizeof rules / sizeof *rules };

static void print_manifests(const struct advise *x, bool replaces)
{
    for (const struct advise_finding *f = x->first; f; f = f->next) {
        if (!f->manifests->n || f->replaces != replaces)
            continue;
        advise_print_comment(arena_printf(x->a, "%s: %s: %s", f->rule, f->about, f->text));
        advise_print_comment(f->todo);
        JSON_EACH (object, f->manifests) {
            puts("---");
            output_json(object, OUTPUT_YAML);
        }
    }
}

static int rules_check(const struct options *o, const char *list)
{
    const char *names[RULES_N];
    for (int i = 0; i < RULES_N; i++)
        names[i] = rules[i].name;
    return advise_names_check(o, list, names, RULES_N);
}

static void tell(struct advise *x, const struct options *o)
{
    bool manifest = option_flag(o, OPT_ADVISE_MANIFEST), replace = option_flag(o, OPT_ADVISE_REPLACE);
    if (manifest || replace)
        print_manifests(x, replace);
    else
        advise_print_table(x, output_format_of(o));
    if (x->unread)
        fprintf(stderr, "capstan advise: not looked at: %s\n", x->unread);
    fprintf(stderr, "capstan advise: %u finding%s\n", x->findings_n, x->findings_n == 1 ? "" : "s");
}

/* What goes with what; a code and a sentence where it does not. */
static int options_check(const struct options *o, bool of_file)
{
    bool manifest = option_flag(o, OPT_ADVISE_MANIFEST), replace = option_flag(o, OPT_ADVISE_REPLACE);
    if (manifest && replace)
        return options_wrong(o, "either --manifest or --replace: these two are applied by different commands");
    if ((manifest || replace) && o->on_line[OPT_ADVISE_OUTPUT])
        return options_wrong(o, "--output: manifests are YAML");
    if (of_file)
        return EXIT_OK;
    if (option_text(o, OPT_ADVISE_GPU_MEMORY))
        return options_wrong(o, "--gpu-memory: name the file of the work that needs so much, with --file");
    return rules_check(o, option_text(o, OPT_ADVISE_RULE));
}

static int look_at_cluster(struct advise *x, const struct options *o)
{
    int code = connection_open(&x->c, o, true);
    if (code != EXIT_OK)
        return code;
    if (!option_text(o, OPT_ADVISE_NAMESPACE)) { /* a cluster is more than the namespace of a context */
        free(x->c.ns);
        x->c.ns = NULL;
    }
    struct err e = {0};
    if (!connection_get(&x->c, x->a, "/version", &e)) {
        code = connection_fail("advise", &e);
    } else {
        advise_facts(x, option_text(o, OPT_ADVISE_STORE));
        for (int i = 0; i < RULES_N; i++)
            if (advise_is_named(option_text(o, OPT_ADVISE_RULE), rules[i].name)) {
                x->rule = rules[i].name;
                rules[i].look(x);
            }
        tell(x, o);
    }
    advise_facts_free(x);
    connection_close(&x->c);
    return code;
}

int advise_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct advise x = {.a = a, .long_ms = option_number(o, OPT_ADVISE_FOR, 0)};
    bool of_file = o->arguments_n || option_text(o, OPT_ADVISE_FILE);
    x.last = &x.first;
    int code = options_check(o, of_file);
    if (code != EXIT_OK)
        return code;
    return of_file ? intent_main(&x, o) : look_at_cluster(&x, o);
}
