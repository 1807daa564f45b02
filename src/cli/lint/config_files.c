/* config_files.c - see config_files.h */
#include "cli/lint/config_files.h"
#include <stdio.h>
#include "agent/config/config.h"
#include "agent/mig/mig_config.h"
#include "agent/mig/mig_intent.h"
#include "codec/configuration/configuration.h"
#include "gpu/mig_plan.h"
#include "gpu/model.h"
#include "wire/yaml.h"

struct file {
    struct manifest_subject *subject;
    struct arena *arena;
    const char *field; /* "data[any]"; "": alone */
    struct bytes text;
};

/* "path: problem", "line 3, problem", or a problem alone. */
static void tell(const struct file *f, bool refused, const char *text)
{
    unsigned line = 0;
    int read_n = 0;
    (void)sscanf(text, "line %u%*[,:] %n", &line, &read_n);
    text += line ? read_n : 0;
    const char *end = strstr(text, ": ");
    size_t n = end ? (size_t)(end - text) : 0;
    bool has_path = n && !line && !memchr(text, ' ', n);
    manifest_tell(f->subject, f->field, f->text,
                  &(struct manifest_told){.path = has_path ? arena_text_n(f->arena, text, n) : "",
                                          .line = line,
                                          .refused = refused,
                                          .problem = has_path ? end + 2 : text});
}

static void tell_lines(const struct file *f, bool refused, const struct buf *lines)
{
    const char *at = lines->data, *end = lines->n ? at + lines->n : at;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        if (n)
            tell(f, refused, arena_text_n(f->arena, at, n));
        at += n + 1;
    }
}

static void look_plugin(const struct file *f)
{
    struct agent_config config;
    _cleanup_buf_ struct buf warnings = {0};
    struct err e = {0};
    if (agent_config_parse(f->arena, f->text, NULL, 0, &config, &warnings, &e) < 0)
        tell(f, true, e.text);
    tell_lines(f, false, &warnings);
}

/* Can one of these GPUs be cut like that? fits: yes; else what is wrong on the one that has the names, or on the last. */
static bool entry_fits(const struct mig_config_entry *entry, bool *named, struct err *ret_e)
{
    static const struct mig_state whole = {0};
    *named = false;
    for (uint32_t m = 0; m < gpu_models_n; m++) {
        struct mig_wish wishes[MIG_WISHES_MAX];
        struct mig_plan plan;
        struct err e = {0};
        int r = gpu_models[m].mig_slices ? 0 : -E_NOTFOUND;
        for (uint32_t i = 0; r == 0 && i < entry->wishes_n; i++) {
            r = mig_wish_parse(&gpu_models[m], entry->wishes[i].profile, &wishes[i], &e);
            wishes[i].n = entry->wishes[i].n;
        }
        if (r < 0)
            continue;
        if (mig_plan_make(&gpu_models[m], &whole, true, wishes, entry->wishes_n, &plan, &e) == 0)
            return true;
        *ret_e = *named ? *ret_e : e;
        *named = true;
    }
    return false;
}

/* A layout that no GPU of data/gpu has room for fails on each node; it may be meant for one that is not known here. */
static void look_geometry(const struct file *f, const struct mig_config *config)
{
    for (uint32_t l = 0; l < config->layouts_n; l++)
        for (uint32_t i = 0; i < config->layouts[l].entries_n; i++) {
            const struct mig_config_entry *entry = &config->layouts[l].entries[i];
            struct err e = {0};
            bool named;
            if (!entry->mig_enabled || !entry->wishes_n || entry->wishes_n > MIG_WISHES_MAX || entry_fits(entry, &named, &e))
                continue;
            tell(f, false,
                 arena_printf(f->arena, "mig-configs.%s[%u].mig-devices: %s", config->layouts[l].name, i,
                              named ? e.text : "no GPU that is known here has all of these profiles"));
        }
}

static void look_layouts(const struct file *f)
{
    struct mig_config config;
    struct err e = {0};
    if (mig_config_parse(f->arena, f->text, &config, &e) < 0)
        tell(f, true, e.text);
    else
        look_geometry(f, &config);
}

static void look_configuration(const struct file *f)
{
    struct configuration c;
    _cleanup_buf_ struct buf warnings = {0}, problems = {0};
    (void)configuration_parse(f->arena, f->text, &c, &warnings, &problems);
    tell_lines(f, true, &problems);
    tell_lines(f, false, &warnings);
}

/* False: it is none of these files. */
static bool look_at(const struct file *f, const struct json *file)
{
    if (json_get(file, "mig-configs"))
        look_layouts(f);
    else if (text_starts(json_get_text(file, "apiVersion", ""), "config.kueue.x-k8s.io/"))
        look_configuration(f);
    else if (!*json_get_text(file, "kind", "") &&
             (json_path(file, "sharing", "timeSlicing", NULL) || json_path(file, "sharing", "mps", NULL) ||
              json_path(file, "flags", "migStrategy", NULL)))
        look_plugin(f);
    else
        return false;
    return true;
}

static void look_inside(const struct file *f)
{
    struct json *docs = NULL;
    struct err e = {0};
    if (yaml_parse(f->arena, f->text, &docs, NULL, &e) == 0) {
        (void)look_at(f, json_item(docs, 0));
        return;
    }
    static const char *const words[] = {"mig-configs:", "timeSlicing:", "migStrategy:", "config.kueue.x-k8s.io/"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(f->text.data, f->text.n, words[i], strlen(words[i])))
            return tell(f, true, e.text);
}

bool config_files_look(struct manifest_subject *s, const struct json *object)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *kind = json_get_text(object, "kind", "");
    if (!*kind || text_equal(kind, "Configuration")) {
        _cleanup_buf_ struct buf text = {0};
        yaml_write(&text, object);
        return look_at(&(struct file){s, a, "", buf_view(&text)}, object);
    }
    if (!text_equal(kind, "ConfigMap"))
        return false;
    JSON_EACH (entry, json_get(object, "data")) {
        struct bytes text = json_bytes(entry);
        if (text.n && text.n <= CONFIGURATION_MAX_BYTES)
            look_inside(&(struct file){s, a, arena_printf(a, "data[%s]", entry->key), text});
    }
    return true;
}
