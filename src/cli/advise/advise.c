/* advise.c - capstan advise: the rules, and findings as a table, as data, and as manifests */
#include "cli/advise/advise.h"
#include <stdio.h>
#include <stdlib.h>
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
    {"no-quota", advise_no_quota},
    {"quota-without-nodes", advise_quota_without_nodes},
    {"nodes-without-flavor", advise_nodes_without_flavor},
    {"no-reclaim", advise_no_reclaim},
    {"strict-head", advise_strict_head},
    {"no-time-limit", advise_no_limit},
};
enum { RULES_N = sizeof rules / sizeof *rules };

static const struct output_column columns[] = {
    {"rule", "RULE", .is_key = true},
    {"about", "ABOUT", .is_key = true},
    {"finding", "FINDING", .is_number = false},
    {"evidence", "EVIDENCE", .wide = true, .place = OUTPUT_FOR_PEOPLE},
    {"evidence", "EVIDENCE", .place = OUTPUT_FOR_PROGRAMS},
    {"todo", "WHAT TO DO", .is_number = false},
    {"apply", "APPLY", .place = OUTPUT_FOR_PROGRAMS},
    {"manifest", "MANIFEST", .place = OUTPUT_FOR_PROGRAMS},
};

static const char *const apply_command = "kubectl apply -f -", *const replace_command = "kubectl replace --force -f -";

static const char *evidence_text(struct arena *a, const struct advise_finding *f)
{
    const char *text = "";
    for (const struct advise_evidence *e = f->first; e; e = e->next)
        text = arena_printf(a, "%s%s%s (%s)", text, *text ? "; " : "", e->text, e->from);
    return text;
}

static const char *json_of(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    return arena_text_n(a, out.data, out.n);
}

static const char *evidence_json(struct arena *a, const struct advise_finding *f)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (const struct advise_evidence *e = f->first; e; e = e->next) {
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_text(a, one, "what", e->text);
        json_set_text(a, one, "from", e->from);
        json_append(list, one);
    }
    return json_of(a, list);
}

static void print_table(struct advise *x, enum output_format format)
{
    struct output_table t;
    output_init(&t, x->a, columns, sizeof columns / sizeof *columns);
    for (const struct advise_finding *f = x->first; f; f = f->next) {
        const struct json *apply =
            !f->manifests->n ? json_new(x->a, JSON_NULL) : json_new_text(x->a, f->replaces ? replace_command : apply_command);
        const char *cells[] = {f->rule,
                               f->about,
                               f->text,
                               evidence_text(x->a, f),
                               evidence_json(x->a, f),
                               f->todo,
                               json_of(x->a, apply),
                               json_of(x->a, f->manifests)};
        output_row(&t, cells);
    }
    if (t.rows_n || format > OUTPUT_WIDE)
        output_print(&t, format);
    output_fini(&t);
}

/* What is said in a comment stays one. */
static void print_comment(const char *text)
{
    fputs("# ", stdout);
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stdout);
    fputc('\n', stdout);
}

static void print_manifests(const struct advise *x, bool replaces)
{
    for (const struct advise_finding *f = x->first; f; f = f->next) {
        if (!f->manifests->n || f->replaces != replaces)
            continue;
        print_comment(arena_printf(x->a, "%s: %s: %s", f->rule, f->about, f->text));
        print_comment(f->todo);
        JSON_EACH (object, f->manifests) {
            puts("---");
            output_json(object, OUTPUT_YAML);
        }
    }
}

static bool is_named(const char *list, const char *name)
{
    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        end = strchrnul(list, ',');
        if (bytes_is((struct bytes){list, (size_t)(end - list)}, name))
            return true;
    }
    return !list;
}

/* Every name of --rule is one of a rule. */
static int rules_check(const struct options *o, const char *list)
{
    _cleanup_buf_ struct buf names = {0};
    char near[64];
    for (int i = 0; i < RULES_N; i++)
        buf_printf(&names, "%s%s", i ? " " : "", rules[i].name);
    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        end = strchrnul(list, ',');
        int found = 0;
        for (int i = 0; i < RULES_N; i++)
            found += bytes_is((struct bytes){list, (size_t)(end - list)}, rules[i].name);
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(end - list < 60 ? end - list : 60), list);
        if (!found && option_near(name, names.data, near))
            return options_wrong(o, "--rule: there is no rule '%s'; did you mean %s?", name, near);
        if (!found)
            return options_wrong(o, "--rule: there is no rule '%s'; write one of: %s", name, names.data);
    }
    return EXIT_OK;
}

static void tell(struct advise *x, const struct options *o)
{
    bool manifest = option_flag(o, OPT_ADVISE_MANIFEST), replace = option_flag(o, OPT_ADVISE_REPLACE);
    if (manifest || replace)
        print_manifests(x, replace);
    else
        print_table(x, output_format_of(o));
    if (x->unread)
        fprintf(stderr, "capstan advise: not looked at: %s\n", x->unread);
    fprintf(stderr, "capstan advise: %u findings\n", x->findings_n);
}

int advise_main(const struct options *o)
{
    const char *list = option_text(o, OPT_ADVISE_RULE);
    _cleanup_arena_ struct arena *a = arena_new();
    struct advise x = {.a = a, .long_ms = option_number(o, OPT_ADVISE_FOR, 0)};
    x.last = &x.first;
    int code = rules_check(o, list);
    if (code == EXIT_OK && option_flag(o, OPT_ADVISE_MANIFEST) && option_flag(o, OPT_ADVISE_REPLACE))
        code = options_wrong(o, "either --manifest or --replace: these two are applied by different commands");
    if (code == EXIT_OK && (option_flag(o, OPT_ADVISE_MANIFEST) || option_flag(o, OPT_ADVISE_REPLACE)) && o->on_line[OPT_ADVISE_OUTPUT])
        code = options_wrong(o, "--output: manifests are YAML");
    if (code == EXIT_OK)
        code = connection_open(&x.c, o, true);
    if (code != EXIT_OK)
        return code;
    if (!option_text(o, OPT_ADVISE_NAMESPACE)) { /* a cluster is more than the namespace of a context */
        free(x.c.ns);
        x.c.ns = NULL;
    }
    struct err e = {0};
    if (!connection_get(&x.c, a, "/version", &e)) {
        code = connection_fail("advise", &e);
    } else {
        advise_facts(&x, option_text(o, OPT_ADVISE_STORE));
        for (int i = 0; i < RULES_N; i++)
            if (is_named(list, rules[i].name)) {
                x.rule = rules[i].name;
                rules[i].look(&x);
            }
        tell(&x, o);
    }
    advise_facts_free(&x);
    connection_close(&x.c);
    return code;
}
