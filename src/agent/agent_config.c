/* agent_config.c - which config counts: a file, or the entry of a ConfigMap that the node's label names; and when it changes
 *
 *     file ──(stat each second)──┐                                         accepted ─▶ a->loaded, <state_dir>/config (kept for restarts)
 *     ConfigMap + node label ────┴─▶ text, same as before? ─▶ parse ─┤
 *                                                                    refused  ─▶ the old one stays; log, event, condition GPUConfigValid
 *
 * SOURCE config-manager of NVIDIA's device plugin: no label: --config-default; without it the entry `default`, the only entry, the
 *        defaults. Unlike config-manager a missing entry ends nothing, and an edit under the same name is noticed.
 * WHY    A ConfigMap that is deleted and made again (helm upgrade) must not change what the node offers meanwhile: what was in use from an
 *        entry that is gone stays in use. The defaults are for a ConfigMap that was never there.
 */
#include <stdio.h>
#include <sys/stat.h>
#include "agent/agent_parts.h"
#include "agent/config/config_choice.h"
#include "base/file.h"
#include "base/log.h"
#include "kube/watch.h"

#define LIMIT_CONFIG_BYTES (1u << 20) /* a ConfigMap is at most 1 MiB */
#define CLUSTER_WAIT_MS 10000         /* without an answer of the API server the config of the last run is used */

struct agent_source {
    struct kube_watch *watch;
    char *fields; /* the selector of the ConfigMap */
    const char **keys; /* of the ConfigMap's entries, */
    char **texts;      /* and these */
    uint32_t entries_n, keys_cap, texts_cap;
    uint64_t tried;       /* hash of what was last looked at; 0: nothing, or it counts should it come again */
    char *name;           /* where it is from: "time-slicing-config/any", a path */
    char *used_key;       /* entry of the ConfigMap whose text is in use; NULL: none */
    struct err error;     /* of the last that was refused */
    struct timespec file_time;
    ino_t file_inode;
    off_t file_size;
    bool file_read, waits; /* waits: for the API server */
    int64_t start_ms;
    uint64_t loaded_n;
};

/* ---- accept and refuse ---- */

static void refuse(struct agent *a, const char *name, const char *reason, const struct err *e)
{
    struct agent_source *s = a->source;
    if (text_equal(s->error.text, e->text))
        return;
    s->error = *e;
    _cleanup_arena_ struct arena *m = arena_new();
    struct node_condition c = node_condition_refusal(m, reason, name, e->text, a->loaded != NULL);
    agent_log(a, LOG_ERROR, "config refused source=%s error=\"%s\" kept=%s", name ? name : "", e->text, a->loaded ? "previous" : "none");
    agent_node_event(a, true, "GPUConfigInvalid", c.message);
    agent_node_condition(a, AGENT_CONDITION_CONFIG, &c);
}

void agent_config_fits(struct agent *a, const struct err *e, bool kept)
{
    const struct agent_source *s = a->source;
    if (s->error.code) /* a newer config was refused: that is to be said */
        return;
    _cleanup_arena_ struct arena *m = arena_new();
    const struct node_condition c = e->code ? node_condition_refusal(m, "ConfigInvalid", s->name, e->text, kept)
                                            : (struct node_condition){true, "ConfigValid", s->name};
    agent_node_condition(a, AGENT_CONDITION_CONFIG, &c);
}

/* Kept for a start without the API server; failing costs only that. */
static void keep_copy(const struct agent *a, const char *text)
{
    if (!a->o.state_dir || !a->o.config_map || a->o.config_file)
        return;
    _cleanup_buf_ struct buf path = {0};
    struct err e = {0};
    buf_printf(&path, "%s/config", a->o.state_dir);
    if (file_replace(path.data, bytes_of(text), 0600, &e) < 0)
        log_debug("config copy not written error=\"%s\"", e.text);
}

static void say_warnings(const struct agent *a, struct buf *warnings)
{
    char *save = NULL;
    for (char *line = warnings->n ? strtok_r(warnings->data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        agent_log(a, LOG_WARNING, "config text=\"%s\"", line);
}

/* A change is told to people, and at a start what is not the usual. */
static void accept(struct agent *a, struct agent_loaded *c, const char *text, const char *name)
{
    struct agent_source *s = a->source;
    _cleanup_buf_ struct buf event = {0};
    buf_printf(&event, "GPU config in use: %s", name);
    if (a->loaded || *text)
        agent_node_event(a, false, "GPUConfigApplied", event.data);
    agent_loaded_unref(a->loaded);
    a->loaded = c;
    s->error = (struct err){0};
    agent_log(a, LOG_INFO, "config in use source=%s", name);
    agent_node_condition(a, AGENT_CONDITION_CONFIG, &(struct node_condition){true, "ConfigValid", name});
    keep_copy(a, text);
    a->above->project_later(a);
}

static void use_text_with(struct agent *a, const char *text, const char *name, const struct config_setting *settings, uint32_t settings_n)
{
    struct agent_source *s = a->source;
    uint64_t hash = config_hash(text, settings, settings_n);
    if (s->tried == hash && text_equal(s->name, name))
        return;
    bool same = s->tried == hash && a->loaded && !s->error.code;
    s->tried = hash;
    free(s->name);
    s->name = mem_text(name);
    s->waits = false;
    if (same) {
        agent_node_condition(a, AGENT_CONDITION_CONFIG, &(struct node_condition){true, "ConfigValid", name});
        return;
    }
    struct agent_loaded *c = NULL;
    struct buf warnings = {0};
    struct err e = {0};
    int r = agent_loaded_make(a->o.feed ? a->o.feed->configs : NULL, text, settings, settings_n, &c, &warnings, &e);
    if (r < 0) {
        refuse(a, name, "ConfigInvalid", &e);
    } else {
        if (!a->o.feed)
            c->number = ++s->loaded_n;
        say_warnings(a, &warnings);
        accept(a, c, text, name);
    }
    buf_free(&warnings);
}

static void use_text(struct agent *a, const char *text, const char *name)
{
    use_text_with(a, text, name, a->o.settings, a->o.settings_n);
}

static void use_nothing(struct agent *a, const char *name, const char *reason, struct err e)
{
    a->source->tried = 0; /* should the same text come again, it counts */
    a->source->waits = false;
    refuse(a, name, reason, &e);
}

/* ---- file ---- */

/* 0 and the text (the caller's), or a negative code. */
static int read_text(const char *path, char **ret_text, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    int r = file_read(path, LIMIT_CONFIG_BYTES, &text, e);
    if (r == 0 && memchr(text.data, '\0', text.n))
        r = err_set(e, E_INVALID, "%s: has a NUL byte: not a text", path);
    if (r == 0)
        *ret_text = buf_take(&text, NULL);
    return r;
}

static void check_file(struct agent *a, bool always)
{
    struct agent_source *s = a->source;
    struct stat st = {0};
    bool is_there = stat(a->o.config_file, &st) == 0;
    if (!always && s->file_read && is_there && st.st_ino == s->file_inode && st.st_size == s->file_size &&
        st.st_mtim.tv_sec == s->file_time.tv_sec && st.st_mtim.tv_nsec == s->file_time.tv_nsec)
        return;
    s->file_read = is_there;
    s->file_inode = st.st_ino;
    s->file_size = st.st_size;
    s->file_time = st.st_mtim;
    char *text = NULL;
    struct err e = {0};
    if (read_text(a->o.config_file, &text, &e) < 0) {
        s->tried = 0;
        refuse(a, a->o.config_file, "ConfigInvalid", &e);
        return;
    }
    use_text(a, text, a->o.config_file);
    free(text);
}

/* ---- ConfigMap ---- */

static void entry_is_missing(struct agent *a, const struct agent_config_map *m, const char *wanted)
{
    struct err e = {0};
    _cleanup_buf_ struct buf name = {0};
    buf_printf(&name, "ConfigMap %s", m->name);
    err_set(&e, E_NOTFOUND, m->n ? "has no entry '%s', which %s asks for: correct that or add the entry"
                                 : "does not exist, and with it entry '%s', which %s asks for: create it or correct that",
            wanted, text_equal(wanted, m->wish.label) ? "the node's label " AGENT_CONFIG_LABEL : a->o.feed ? "the default" : "--config-default");
    use_nothing(a, name.data, "ConfigInvalid", e);
}

/* The config in use is from an entry that has gone, and nobody asks for another one. */
static bool entry_has_gone(struct agent *a, const struct agent_config_map *m)
{
    struct agent_source *s = a->source;
    if (!s->used_key || !a->loaded || m->searched || config_entry_find(m->keys, m->n, s->used_key) < m->n)
        return false;
    _cleanup_buf_ struct buf name = {0};
    buf_printf(&name, "ConfigMap %s", m->name);
    struct err e = {0};
    err_set(&e, E_NOTFOUND,
            m->n ? "the entry '%s' that is in use has been removed: add it again, or name another one with the node's label "
                   AGENT_CONFIG_LABEL
                 : "has been deleted while its entry '%s' is in use: create it again; a restart of the agent goes to the defaults",
            s->used_key);
    use_nothing(a, name.data, "ConfigGone", e);
    return true;
}

static void remember_key(struct agent_source *s, const char *key)
{
    if (s->error.code || text_equal(s->used_key, key))
        return;
    free(s->used_key);
    s->used_key = mem_text(key);
}

/* What the label, the default and the fallbacks lead to. */
static void choose_of(struct agent *a, const struct agent_config_map *m)
{
    const char *wanted = NULL;
    uint32_t at;
    enum config_choice choice = config_choose(m->keys, m->n, m->wish, &at, &wanted);
    if (choice == CONFIG_CHOICE_MISSING)
        entry_is_missing(a, m, wanted);
    if (choice == CONFIG_CHOICE_MISSING || (choice == CONFIG_CHOICE_NONE && entry_has_gone(a, m)))
        return;
    const char *key = choice == CONFIG_CHOICE_ENTRY ? m->keys[at] : NULL;
    _cleanup_buf_ struct buf name = {0};
    buf_printf(&name, "%s%s%s", m->name ? m->name : "", m->name ? "/" : "", key ? key : NODE_CONDITION_DEFAULTS);
    use_text_with(a, key ? m->texts[at] : m->defaults, name.data, m->settings, m->settings_n);
    remember_key(a->source, key);
}

/* What is missing is refused, what was in use stays: at first that is what the node does by itself. */
static void choose_fed(struct agent *a)
{
    struct agent_config_map m = {.defaults = ""};
    struct err e = {0};
    if (!agent_node_seen(a))
        return;
    if (!a->loaded && a->o.feed->config(a->o.feed->arg, NULL, &m, NULL) >= 0) /* as before anybody asked for something */
        use_text_with(a, m.defaults, NODE_CONDITION_DEFAULTS, m.settings, m.settings_n);
    m = (struct agent_config_map){.defaults = ""};
    if (a->o.feed->config(a->o.feed->arg, agent_node_asks(a, AGENT_CONFIG_LABEL), &m, &e) < 0)
        use_nothing(a, NULL, "ConfigInvalid", e);
    else
        choose_of(a, &m);
}

static void choose_entry(struct agent *a)
{
    const struct agent_source *s = a->source;
    if (a->o.feed)
        choose_fed(a);
    else if (s->watch && kube_watch_synced(s->watch) && agent_node_seen(a))
        choose_of(a, &(struct agent_config_map){.name = a->o.config_map,
                                                .keys = s->keys,
                                                .texts = s->texts,
                                                .n = s->entries_n,
                                                .wish = {agent_node_asks(a, AGENT_CONFIG_LABEL), a->o.config_default},
                                                .defaults = "",
                                                .settings = a->o.settings,
                                                .settings_n = a->o.settings_n});
}

static void clear_entries(struct agent_source *s)
{
    for (uint32_t i = 0; i < s->entries_n; i++) {
        free((char *)s->keys[i]);
        free(s->texts[i]);
    }
    s->entries_n = 0;
}

static void on_map(void *arg, enum kube_event event, struct bytes object)
{
    struct agent *a = arg;
    struct agent_source *s = a->source;
    clear_entries(s);
    struct arena *m = arena_new();
    struct err e = {0};
    struct json *v = event == KUBE_DELETED ? NULL : json_parse(m, object, NULL, &e);
    JSON_EACH(one, json_get(v, "data")) {
        if (!json_is(one, JSON_STRING))
            continue;
        MEM_RESERVE(s->keys, s->keys_cap, s->entries_n + 1);
        MEM_RESERVE(s->texts, s->texts_cap, s->entries_n + 1);
        s->keys[s->entries_n] = mem_text(one->key);
        s->texts[s->entries_n++] = mem_text(one->text);
    }
    arena_free(m);
    choose_entry(a);
}

static void on_map_synced(void *arg)
{
    choose_entry(arg);
}

/* Without the API server: what was in use before this start, else the defaults. */
static void use_copy(struct agent *a, const char *why)
{
    _cleanup_buf_ struct buf path = {0};
    char *text = NULL;
    a->source->waits = false;
    buf_printf(&path, "%s/config", a->o.state_dir ? a->o.state_dir : "");
    bool is_there = a->o.state_dir && read_text(path.data, &text, NULL) == 0;
    log_warning("config not read config-map=%s reason=\"%s\" instead=\"%s\"", a->o.config_map, why,
                is_there ? "that of the last run" : "the defaults");
    use_text(a, is_there ? text : "", is_there ? path.data : NODE_CONDITION_DEFAULTS);
    free(text);
}

/* "namespace/name" */
static int start_watch(struct agent *a, struct err *e)
{
    struct agent_source *s = a->source;
    const char *slash = strchr(a->o.config_map, '/');
    if (!slash || slash == a->o.config_map || !slash[1] || strchr(slash + 1, '/'))
        return err_set(e, E_INVALID, "--config-map %s: write NAMESPACE/NAME", a->o.config_map);
    if (!a->kube) {
        use_copy(a, "no API server");
        return 0;
    }
    struct arena *m = arena_new();
    const char *ns = arena_text_n(m, a->o.config_map, (size_t)(slash - a->o.config_map));
    s->fields = mem_text(arena_printf(m, "metadata.name=%s", slash + 1));
    struct kube_watch_config c = {.path = kube_path(m, "", "v1", "configmaps", ns, NULL, NULL),
                                  .field_selector = s->fields,
                                  .objects_max = 1,
                                  .on_event = on_map,
                                  .on_synced = on_map_synced,
                                  .arg = a};
    s->watch = kube_watch_new(a->kube, &c);
    s->waits = true;
    arena_free(m);
    return 0;
}

/* ---- life ---- */

int agent_source_new(struct agent *a, struct err *e)
{
    struct agent_source *s = a->source = mem_zero(1, sizeof *s);
    s->start_ms = loop_now_ms(a->loop);
    if (a->o.feed)
        return 0;
    struct arena *m = arena_new();
    struct agent_config ignored;
    /* Flags and environment that are wrong by themselves: no file can make them right. Others may need the file (mps-root). */
    int r = a->o.config_file || a->o.config_map ? 0 : agent_config_parse(m, BYTES(""), a->o.settings, a->o.settings_n, &ignored, NULL, e);
    arena_free(m);
    if (r < 0)
        return r;
    if (a->o.config_file)
        check_file(a, true);
    else if (a->o.config_map)
        return start_watch(a, e);
    else
        use_text(a, "", NODE_CONDITION_DEFAULTS);
    return 0;
}

void agent_source_free(struct agent *a)
{
    struct agent_source *s = a->source;
    if (!s)
        return;
    kube_watch_free(s->watch);
    clear_entries(s);
    free(s->keys);
    free(s->texts);
    free(s->fields);
    free(s->name);
    free(s->used_key);
    free(s);
    a->source = NULL;
}

void agent_source_tick(struct agent *a)
{
    if (a->o.config_file)
        check_file(a, false);
    else if (a->source->waits && !a->loaded && loop_now_ms(a->loop) - a->source->start_ms > CLUSTER_WAIT_MS)
        use_copy(a, !agent_node_missing(a) ? "no answer of the API server"
                                           : "there is no Node object of this name yet: the kubelet makes it; is --node-name right?");
}

void agent_source_label(struct agent *a)
{
    choose_entry(a);
}

void agent_source_reload(struct agent *a)
{
    if (a->o.config_file)
        check_file(a, true);
    else
        choose_entry(a);
}

void agent_source_status(const struct agent *a, struct json *out, struct arena *m)
{
    const struct agent_source *s = a->source;
    json_set_text(m, out, "config", s->name ? s->name : "");
    if (s->error.code)
        json_set_text(m, out, "configError", s->error.text);
}
