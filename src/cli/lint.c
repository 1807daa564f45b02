#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "codec/admission/validate_manifest.h"

#define FILE_BYTES_MAX (16u << 20) /* manifests are texts that people write */

static void print_lines(FILE *to, const struct manifest_report *r)
{
    _cleanup_buf_ struct buf out = {0};
    manifest_print_findings(&out, r);
    if (out.n)
        fwrite(out.data, 1, out.n, to);
}

static void print_data(const struct manifest_report *r, enum output_format format)
{
    struct json *list = json_new(r->arena, JSON_ARRAY);
    for (const struct manifest_finding *f = r->first; f; f = f->next) {
        struct json *item = json_new(r->arena, JSON_OBJECT);
        json_set_text(r->arena, item, "file", f->file);
        json_set_int64(r->arena, item, "document", f->document);
        json_set_text(r->arena, item, "object", f->object);
        json_set_text(r->arena, item, "path", f->path);
        json_set_text(r->arena, item, "severity", f->refused ? "error" : "warning");
        json_set_text(r->arena, item, "problem", f->problem);
        json_append(list, item);
    }
    output_json(list, format);
}

static int print_fixed(const struct manifest_report *r)
{
    _cleanup_buf_ struct buf out = {0};
    manifest_print_fixed(&out, r);
    if (out.n)
        fwrite(out.data, 1, out.n, stdout);
    print_lines(stderr, r);
    if (r->left_out_n)
        fprintf(stderr, "%u document(s) left out: no Kubernetes objects\n", r->left_out_n);
    if (r->remaining_n)
        fprintf(stderr,
                "%u problem(s) of the above are left for you: they cannot be corrected without knowing what is meant\n",
                r->remaining_n);
    return r->remaining_n || r->left_out_n;
}

int lint_main(const struct options *o)
{
    enum output_format format = output_format_of(o);
    int code;
    _cleanup_arena_ struct arena *arena = arena_new();
    struct kind_table *kinds = kind_table_new();
    struct manifest_report report;
    manifest_report_init(&report, arena, kinds, option_flag(o, OPT_LINT_STRICT_KUEUE));
    bool readable = true;
    for (int i = 0; i < o->arguments_n; i++) {
        _cleanup_buf_ struct buf text = {0};
        struct err e = {0};
        if (file_read_input(o->arguments[i], FILE_BYTES_MAX, &text, &e) < 0) {
            fprintf(stderr, "capstan lint: %s\n", e.text);
            readable = false;
            continue;
        }
        manifest_check(&report, text_equal(o->arguments[i], "-") ? "(standard input)" : o->arguments[i], buf_view(&text));
    }
    code = report.findings_n > 0;
    if (option_flag(o, OPT_LINT_FIX))
        code = print_fixed(&report);
    else if (format == OUTPUT_TABLE)
        print_lines(stdout, &report);
    else
        print_data(&report, format);
    kind_table_free(kinds);
    return readable ? code : 2;
}
