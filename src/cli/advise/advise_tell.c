/* advise_tell.c - findings as a table and as data; the names that --rule takes */
#include <stdio.h>
#include "cli/advise/advise.h"

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

void advise_print_table(struct advise *x, enum output_format format)
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
void advise_print_comment(const char *text)
{
    fputs("# ", stdout);
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stdout);
    fputc('\n', stdout);
}

bool advise_is_named(const char *list, const char *name)
{
    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        end = strchrnul(list, ',');
        if (bytes_is((struct bytes){list, (size_t)(end - list)}, name))
            return true;
    }
    return !list;
}

/* Every name of --rule is one of these. */
int advise_names_check(const struct options *o, const char *list, const char *const *names, int names_n)
{
    _cleanup_buf_ struct buf all = {0};
    char near[64];
    for (int i = 0; i < names_n; i++)
        buf_printf(&all, "%s%s", i ? " " : "", names[i]);
    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        end = strchrnul(list, ',');
        int found = 0;
        for (int i = 0; i < names_n; i++)
            found += bytes_is((struct bytes){list, (size_t)(end - list)}, names[i]);
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(end - list < 60 ? end - list : 60), list);
        if (!found && option_near(name, all.data, near))
            return options_wrong(o, "--rule: there is no rule '%s'; did you mean %s?", name, near);
        if (!found)
            return options_wrong(o, "--rule: there is no rule '%s'; write one of: %s", name, all.data);
    }
    return EXIT_OK;
}
