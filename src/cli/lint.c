#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/lint/config_files.h"
#include "cli/output.h"
#include "codec/admission/validate_manifest.h"

#define FILE_BYTES_MAX (16u << 20) /* manifests are texts that people write */
enum { FILES_MAX = 10000, FOLDERS_DEEP = 32 };

static void print_lines(FILE *to, const struct manifest_report *r)
{
    _cleanup_buf_ struct buf out = {0};
    manifest_print_findings(&out, r);
    if (out.n)
        output_say(to, "%s", out.data);
}

static void print_data(const struct manifest_report *r, enum output_format format)
{
    struct json *list = json_new(r->arena, JSON_ARRAY);
    for (const struct manifest_finding *f = r->first; f; f = f->next) {
        struct json *item = json_new(r->arena, JSON_OBJECT);
        json_set_text(r->arena, item, "file", f->file);
        json_set_int64(r->arena, item, "document", f->document);
        json_set(r->arena, item, "line", f->line ? json_new_int64(r->arena, f->line) : json_new(r->arena, JSON_NULL));
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

/* ---- files ---- */

static bool is_manifest(const char *name)
{
    return text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json");
}

static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool file_check(struct manifest_report *r, const char *path)
{
    _cleanup_buf_ struct buf text = {0};
    struct err e = {0};
    if (file_read_input(path, FILE_BYTES_MAX, &text, &e) < 0) {
        fprintf(stderr, "capstan lint: %s\n", e.text);
        return false;
    }
    manifest_check(r, text_equal(path, "-") ? "(standard input)" : path, buf_view(&text));
    return true;
}

/* Every manifest below a folder, by name. Links are not followed: they may lead round. */
static bool folder_check(struct manifest_report *r, const char *path, int depth, uint32_t *files_n)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_wanted, alphasort);
    bool readable = n >= 0;
    if (n < 0)
        fprintf(stderr, "capstan lint: %s: %s\n", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        _cleanup_buf_ struct buf child = {0};
        struct stat st;
        buf_printf(&child, "%s%s%s", path, text_ends(path, "/") ? "" : "/", entries[i]->d_name);
        memset(&st, 0, sizeof st);
        if (lstat(child.data, &st) == 0 && S_ISDIR(st.st_mode) && depth < FOLDERS_DEEP) {
            readable &= folder_check(r, child.data, depth + 1, files_n);
        } else if (is_manifest(entries[i]->d_name) && S_ISREG(st.st_mode) && ++*files_n <= FILES_MAX) {
            readable &= file_check(r, child.data);
        }
        free(entries[i]);
    }
    free(entries);
    return readable;
}

static bool argument_check(struct manifest_report *r, const char *path)
{
    struct stat st;
    uint32_t files_n = 0;
    if (text_equal(path, "-") || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return file_check(r, path);
    bool readable = folder_check(r, path, 0, &files_n);
    if (!files_n)
        fprintf(stderr, "capstan lint: %s: no .yaml, .yml or .json file is in it\n", path);
    else if (files_n > FILES_MAX)
        fprintf(stderr, "capstan lint: %s: %u files, of which %d were looked at\n", path, files_n, FILES_MAX);
    return readable && files_n && files_n <= FILES_MAX;
}

int lint_main(const struct options *o)
{
    enum output_format format = output_format_of(o);
    int code;
    _cleanup_arena_ struct arena *arena = arena_new();
    struct kind_table *kinds = kind_table_new();
    struct manifest_report report;
    manifest_report_init(&report, arena, kinds, option_flag(o, OPT_LINT_STRICT_KUEUE));
    report.more = config_files_look;
    bool readable = true;
    for (int i = 0; i < o->arguments_n; i++)
        readable &= argument_check(&report, o->arguments[i]);
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
