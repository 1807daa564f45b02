#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "codec/admission/validate_manifest.h"

#define FILE_BYTES_MAX (16u << 20) /* manifests are texts that people write */

static const char help[] =
    "usage: capstan lint FILE... [--fix] [--strict-kueue] [--output table|json|yaml]\n"
    "\n"
    "Says what is wrong in manifests of GPU jobs and queues (Kubernetes, Kueue, Volcano, coscheduling, Kubeflow), "
    "without a cluster.\n"
    "FILE may be - for standard input. One line a finding: FILE:DOCUMENT KIND/NAME: PATH: PROBLEM.\n"
    "\n"
    "  --fix             print all objects, corrected, as one YAML stream; findings go to standard error (comments are "
    "not kept)\n"
    "  --strict-kueue    refuse what Kueue itself refuses, also where the meaning is plain\n"
    "  -o, --output F    table (one line a finding), json or yaml\n"
    "  -h, --help        this text\n"
    "\n"
    "Exit code: 0 nothing found (with --fix: nothing left to correct by hand), 1 findings, 2 usage or unreadable "
    "file.\n"
    "\n"
    "example: capstan lint queue.yaml --fix | kubectl apply -f -\n";

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

struct lint_options {
    bool fix, strict_kueue;
    enum output_format format;
};

/* -1 = go on, else the exit code. */
static int options_parse(int argc, char **argv, struct lint_options *o)
{
    static const struct option options[] = {{"fix", no_argument, NULL, 'f'},
                                            {"strict-kueue", no_argument, NULL, 's'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        int format = c == 'o' ? output_format_parse(optarg) : 0;
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c == '?' || format < 0)
            return 2;
        o->fix |= c == 'f';
        o->strict_kueue |= c == 's';
        if (c == 'o')
            o->format = (enum output_format)format;
    }
    if (o->format == OUTPUT_WIDE || o->format == OUTPUT_CSV) {
        fputs("capstan lint: --output: write table, json or yaml\n", stderr);
        return 2;
    }
    if (optind < argc)
        return -1;
    fputs("capstan lint: name a file, or - for standard input (--help says more)\n", stderr);
    return 2;
}

int lint_main(int argc, char **argv)
{
    struct lint_options o = {.format = OUTPUT_TABLE};
    int code = options_parse(argc, argv, &o);
    if (code >= 0)
        return code;
    _cleanup_arena_ struct arena *arena = arena_new();
    struct kind_table *kinds = kind_table_new();
    struct manifest_report report;
    manifest_report_init(&report, arena, kinds, o.strict_kueue);
    bool readable = true;
    for (int i = optind; i < argc; i++) {
        _cleanup_buf_ struct buf text = {0};
        struct err e = {0};
        if (file_read_input(argv[i], FILE_BYTES_MAX, &text, &e) < 0) {
            fprintf(stderr, "capstan lint: %s\n", e.text);
            readable = false;
            continue;
        }
        manifest_check(&report, text_equal(argv[i], "-") ? "(standard input)" : argv[i], buf_view(&text));
    }
    code = report.findings_n > 0;
    if (o.fix)
        code = print_fixed(&report);
    else if (o.format == OUTPUT_TABLE)
        print_lines(stdout, &report);
    else
        print_data(&report, o.format);
    kind_table_free(kinds);
    return readable ? code : 2;
}
