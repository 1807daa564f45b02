/* admission_world.h - the way of an object into the server, for tests of admission; cases are YAML as people write it */
#ifndef TEST_ADMISSION_WORLD_H
#define TEST_ADMISSION_WORLD_H
#include "codec/admission/admission.h"
#include "wire/yaml.h"

struct world {
    struct arena *arena;
    struct kind_table *kinds;
    unsigned shares;    /* that are kept where objects go */
    const struct json *others; /* the objects of the kind that the server has; NULL: it is not asked */
    struct admission x; /* of the last admit */
    struct json *object;
    char *errors;       /* all, one text; "" when none */
};

static inline int world_open(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    w->arena = arena_new();
    w->kinds = kind_table_new();
    *state = w;
    return 0;
}

static inline int world_close(void **state)
{
    struct world *w = *state;
    kind_table_free(w->kinds);
    arena_free(w->arena);
    free(w);
    return 0;
}

static inline struct json *parse(struct world *w, const char *yaml)
{
    struct json *docs;
    struct err e = {0};
    if (yaml_parse(w->arena, bytes_of(yaml), &docs, NULL, &e) < 0)
        fail_msg("%s\n%s", e.text, yaml);
    return json_item(docs, 0);
}

static inline const struct json *reader(void *ctx, const char *group, const char *plural, const char *ns, const char *name)
{
    struct world *w = ctx;
    if (text_equal(plural, "priorityclasses") && text_equal(name, "high")) {
        struct json *v = json_new(w->arena, JSON_OBJECT);
        json_set_int64(w->arena, v, "value", 1000);
        return v;
    }
    if (text_equal(plural, "queues") && text_equal(name, "lab"))
        return json_new(w->arena, JSON_OBJECT);
    if (text_equal(plural, "namespaces") && text_equal(name, "research"))
        return parse(w, "metadata: {name: research, annotations: {scheduling.volcano.sh/queue-name: lab}}");
    if (text_equal(plural, "clustertrainingruntimes") && text_equal(name, "torch-distributed"))
        return json_new(w->arena, JSON_OBJECT);
    return NULL;
}

static inline const struct json *lister(void *ctx, const char *group, const char *plural, const char *ns)
{
    struct world *w = ctx;
    (void)group, (void)plural, (void)ns;
    return w->others;
}

/* The way of an object into the server; errors as one text. */
static inline const char *admit_as(struct world *w, const char *yaml, const struct json *old, bool strict, bool can_read)
{
    struct json *v = parse(w, yaml);
    const char *api = json_get_text(v, "apiVersion", ""), *slash = strchr(api, '/');
    const struct kind *k =
        kind_find_kind(w->kinds, slash ? arena_text_n(w->arena, api, (size_t)(slash - api)) : "", json_get_text(v, "kind", ""));
    assert_non_null(k);
    const struct kind_version *kv = kind_version_find(k, slash ? slash + 1 : api);
    struct schema_findings found = {0};
    struct err e = {0};
    w->x = (struct admission){.arena = w->arena,
                              .old = old,
                              .object = v,
                              .strict_kueue = strict,
                              .shares = w->shares,
                              .read = can_read ? reader : NULL,
                              .list = w->others ? lister : NULL,
                              .ctx = w};
    field_errors_init(&w->x.errors, w->arena);
    admission_repair(&w->x, k, kv->version);
    if (w->x.errors.n == 0) {
        if (schema_prune(w->arena, kv->schema, v, &found, &e) < 0)
            return arena_text(w->arena, e.text);
        kind_convert(w->arena, k, v, k->versions[k->storage].version);
        schema_default(w->arena, k->versions[k->storage].schema, v);
        admission_metadata(&w->x, k);
        schema_validate(k->versions[k->storage].schema, v, &w->x.errors);
        admission_run(&w->x, k);
    }
    _cleanup_buf_ struct buf text = {0};
    field_errors_text(&text, &w->x.errors);
    w->object = v;
    return w->errors = arena_text(w->arena, text.data ? text.data : "");
}

static inline const char *admit(struct world *w, const char *yaml)
{
    return admit_as(w, yaml, NULL, false, true);
}

#endif
