/* intent.c - capstan advise FILE: the questions of docs/advice.md, asked of each workload of the file */
#include "cli/advise/intent/intent.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/history/usage_read.h"
#include "kube/object.h"

#define PAST_SINCE_S (30 * 86400.0)
#define MIB (1 << 20)

/* ORDER  each sees what those before it have changed. */
static const struct {
    const char *name;
    void (*ask)(struct intent *p, struct intent_work *w);
} questions[] = {
    {"sharing", intent_sharing}, {"queue", intent_queue}, {"gang", intent_gang}, {"time", intent_time}, {"start", intent_start}};
enum { QUESTIONS_N = sizeof questions / sizeof *questions };

static void past_read(struct intent *p, const char *store)
{
    struct advise *x = p->x;
    struct usage_record *records;
    uint32_t n = 0;
    double now_s = (double)x->now_ms / 1000;
    struct err e = {0};
    int r = usage_read(store, x->a, now_s - PAST_SINCE_S, now_s, &records, &n, &x->store, &e);
    if (r < 0) /* advise_facts has said so */
        x->store = NULL;
    for (struct intent_work *w = p->first; w; w = w->next)
        intent_past_find(p, w, records, r < 0 ? 0 : n);
}

/* As it is when all questions have been asked. */
static void manifests_settle(struct intent *p)
{
    for (struct advise_finding *f = p->x->first; f; f = f->next)
        if (f->changes)
            json_append(f->manifests, intent_as_written(p, f->changes));
}

static void tell(struct intent *p, const struct options *o)
{
    if (option_flag(o, OPT_ADVISE_MANIFEST)) {
        for (const struct advise_finding *f = p->x->first; f; f = f->next)
            if (f->changes)
                advise_print_comment(arena_printf(p->x->a, "%s: %s: %s: %s", f->rule, f->about, f->text, f->todo));
        JSON_EACH (document, p->documents) {
            puts("---");
            output_json(intent_as_written(p, document), OUTPUT_YAML);
        }
    } else {
        advise_print_table(p->x, output_format_of(o));
    }
    if (p->left_out)
        fprintf(stderr, "capstan advise: no advice for: %s\n", p->left_out);
    if (p->x->unread)
        fprintf(stderr, "capstan advise: not looked at: %s\n", p->x->unread);
    fprintf(stderr, "capstan advise: %u answer%s, %u with a change%s\n", p->x->findings_n, p->x->findings_n == 1 ? "" : "s", p->changes_n,
            p->changes_n && !option_flag(o, OPT_ADVISE_MANIFEST) ? " (--manifest prints the file with it)" : "");
}

static int files_read(struct intent *p, const struct options *o, struct err *e)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < o->given_n; i++)
        if (o->given[i].id == OPT_ADVISE_FILE)
            r = intent_read(p, o->given[i].text, e);
    for (int i = 0; r == 0 && i < o->arguments_n; i++)
        r = intent_read(p, o->arguments[i], e);
    return r == 0 ? intent_works(p, e) : r;
}

static int wrong_options(const struct options *o, int64_t *ret_memory_mib)
{
    const char *list = option_text(o, OPT_ADVISE_RULE), *memory = option_text(o, OPT_ADVISE_GPU_MEMORY);
    struct quantity q;
    struct err e = {0};
    const char *names[QUESTIONS_N];
    for (int i = 0; i < QUESTIONS_N; i++)
        names[i] = questions[i].name;
    if (option_flag(o, OPT_ADVISE_REPLACE) || o->on_line[OPT_ADVISE_FOR])
        return options_wrong(o, "--replace and --for are of what is in the cluster; of a file --manifest prints it as it should be");
    if (memory && (quantity_parse(bytes_of(memory), &q, &e) < 0 || quantity_sign(q) <= 0))
        return options_wrong(o, "--gpu-memory: write an amount as 6Gi, not '%s'", memory);
    *ret_memory_mib = memory ? (quantity_whole(q) + MIB - 1) / MIB : 0;
    return advise_names_check(o, list, names, QUESTIONS_N);
}

/* WHY one namespace, where the file has but one  who may look no further is answered, too. */
static void facts_read(struct intent *p, const struct options *o)
{
    struct advise *x = p->x;
    char *home = x->c.ns;
    for (const struct intent_work *w = p->first; w && x->c.ns; w = w->next)
        x->c.ns = text_equal(w->ns, p->first->ns) ? (char *)p->first->ns : NULL;
    advise_facts(x, option_text(o, OPT_ADVISE_STORE));
    x->c.ns = home;
    past_read(p, option_text(o, OPT_ADVISE_STORE));
}

/* An answer that follows from what the work asks for says so. */
static void ask(struct intent *p, struct intent_work *w, int question)
{
    struct advise *x = p->x;
    struct advise_finding **found = x->last;
    x->rule = questions[question].name;
    questions[question].ask(p, w);
    for (struct advise_finding *f = *found; f; f = f->next)
        if (!f->first)
            advise_evidence(x, f, arena_printf(x->a, "%s, in the file", w->about), "%lld pod%s%s%s", (long long)w->pods_n,
                            w->pods_n == 1 ? "" : "s", w->resource ? ", each asks for " : "",
                            w->resource ? arena_printf(x->a, "%lld %s", (long long)w->devices_n, w->resource) : "");
}

int intent_main(struct advise *x, const struct options *o)
{
    struct intent p = {.x = x, .documents = json_new(x->a, JSON_ARRAY)};
    struct err e = {0};
    p.last = &p.first;
    int code = wrong_options(o, &p.memory_mib);
    if (code == EXIT_OK)
        code = connection_open(&x->c, o, true);
    if (code != EXIT_OK)
        return code;
    p.ns = x->c.ns ? x->c.ns : "default";
    if (files_read(&p, o, &e) < 0) {
        fprintf(stderr, "capstan advise: %s\n", e.text);
        code = EXIT_USAGE;
    } else if (!connection_get(&x->c, x->a, "/version", &e)) {
        code = connection_fail("advise", &e);
    } else {
        facts_read(&p, o);
        for (struct intent_work *w = p.first; w; w = w->next)
            for (int i = 0; i < QUESTIONS_N; i++)
                if (advise_is_named(option_text(o, OPT_ADVISE_RULE), questions[i].name))
                    ask(&p, w, i);
        manifests_settle(&p);
        tell(&p, o);
    }
    advise_facts_free(x);
    connection_close(&x->c);
    return code;
}
