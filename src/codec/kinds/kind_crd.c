/* kind_crd.c - kinds that come and go with CustomResourceDefinitions
 *
 * LIMIT  KIND_CUSTOM_MAX CRDs, VERSIONS_MAX versions, COLUMNS_MAX printer columns a version.
 */
#include <stdio.h>
#include "codec/kinds/kind_table.h"
#include "codec/schema/field_errors.h"

#define VERSIONS_MAX 32
#define COLUMNS_MAX 64
#define SELECTABLE_MAX 8 /* as apiextensions.k8s.io/v1 */
#define NAMES_MAX 32 /* short names, categories */

struct crd_reader {
    struct arena *arena;
    struct field_errors *errors;
    bool failed;
};

static void fail(struct crd_reader *r, enum field_error_type type, const char *path, const char *value, const char *detail)
{
    _cleanup_buf_ struct buf shown;
    buf_init(&shown);
    if (value)
        json_write_string(&shown, bytes_of(value));
    r->failed = true;
    if (r->errors)
        field_error_add(r->errors, type, path, value ? shown.data : NULL, "%s", detail);
}

/* Lower-case DNS names: letters, digits, '-', and '.' between labels. */
static bool is_dns(const char *text, bool dots)
{
    size_t n = strlen(text);
    if (n == 0 || n > (dots ? 253 : 63))
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool edge = i == 0 || i == n - 1 || text[i - 1] == '.' || text[i + 1] == '.';
        if (!alphanumeric && !(c == '-' && !edge) && !(dots && c == '.' && i > 0 && i < n - 1 && text[i - 1] != '.'))
            return false;
    }
    return true;
}

static bool is_kind_name(const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || n > 63 || !((text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= 'a' && text[0] <= 'z')))
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}

static const char *take_name(struct crd_reader *r, const struct json *parent, const char *key, const char *path, const char *fallback,
                             bool (*good)(const char *), const char *rule)
{
    const char *text = json_get_text(parent, key, fallback);
    if (!text || !text[0])
        fail(r, FIELD_REQUIRED, path, NULL, "");
    else if (!good(text))
        fail(r, FIELD_INVALID, path, text, rule);
    return arena_text(r->arena, text ? text : "");
}

static bool is_dns_label(const char *text)
{
    return is_dns(text, false);
}

static bool is_dns_name(const char *text)
{
    return is_dns(text, true) && strchr(text, '.');
}

static const char *const *take_names(struct crd_reader *r, const struct json *list, const char *path)
{
    const char **names = arena_zero(r->arena, (json_is(list, JSON_ARRAY) ? list->n : 0) + 1u, sizeof *names);
    uint32_t n = 0;
    if (json_is(list, JSON_ARRAY) && list->n > NAMES_MAX) {
        fail(r, FIELD_INVALID, path, NULL, "at most 32 names");
        return names;
    }
    JSON_EACH(name, list) {
        const char *text = json_text(name, "");
        if (is_dns_label(text))
            names[n++] = arena_text(r->arena, text);
        else
            fail(r, FIELD_INVALID, path, text, "must be a lower-case name of letters, digits and '-'");
    }
    return names;
}

static void take_columns(struct crd_reader *r, const struct json *list, struct kind_version *v)
{
    if (!json_is(list, JSON_ARRAY) || list->n == 0)
        return;
    struct kind_column *columns = arena_zero(r->arena, list->n < COLUMNS_MAX ? list->n : COLUMNS_MAX, sizeof *columns);
    JSON_EACH(column, list) {
        if (v->columns_n == COLUMNS_MAX)
            break;
        int64_t priority = json_get_int64(column, "priority", 0);
        columns[v->columns_n++] = (struct kind_column){
            .name = arena_text(r->arena, json_get_text(column, "name", "")),
            .type = arena_text(r->arena, json_get_text(column, "type", "string")),
            .json_path = arena_text(r->arena, json_get_text(column, "jsonPath", "")),
            .format = arena_text(r->arena, json_get_text(column, "format", "")),
            .priority = priority > 0 ? 1 : 0,
        };
    }
    v->columns = columns;
}

/* "example.com" -> "com.example", as type names are published. */
static void reverse_group(struct buf *out, const char *group)
{
    const char *end = group + strlen(group);
    while (end > group) {
        const char *dot = end;
        while (dot > group && dot[-1] != '.')
            dot--;
        buf_add(out, dot, (size_t)(end - dot));
        if (dot > group)
            buf_char(out, '.');
        end = dot > group ? dot - 1 : dot;
    }
}

static void take_schema(struct crd_reader *r, const struct kind *k, const struct json *version, struct kind_version *v, const char *path)
{
    _cleanup_buf_ struct buf name;
    struct err e = {0};
    buf_init(&name);
    reverse_group(&name, k->group);
    buf_printf(&name, ".%s.%s", v->version, k->kind);
    const struct json *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
    if (!schema) {
        fail(r, FIELD_REQUIRED, path, NULL, "schemas are required");
        return;
    }
    if (schema_from_openapi(r->arena, schema, name.data, &v->schema, &e) < 0)
        fail(r, FIELD_INVALID, path, NULL, e.text);
}

/* selectableFields: [{jsonPath: ".spec.color"}] */
static void take_selectable(struct crd_reader *r, const struct json *list, struct kind_version *v, const char *path)
{
    if (!json_is(list, JSON_ARRAY) || list->n == 0)
        return;
    if (list->n > SELECTABLE_MAX) {
        fail(r, FIELD_INVALID, path, NULL, "at most 8 selectable fields");
        return;
    }
    const char **fields = arena_zero(r->arena, list->n + 1u, sizeof *fields);
    uint32_t n = 0;
    JSON_EACH(item, list) {
        const char *text = json_get_text(item, "jsonPath", "");
        if (text[0] == '.' && text[1] && !strpbrk(text, "[]*@()?"))
            fields[n++] = arena_text(r->arena, text + 1);
        else
            fail(r, FIELD_INVALID, path, text, "must be a simple path to a field, such as .spec.color");
    }
    v->selectable = fields;
}

static void take_scale(struct crd_reader *r, struct kind *k, const struct json *scale)
{
    if (!json_is(scale, JSON_OBJECT))
        return;
    k->flags |= KIND_SCALE;
    k->scale_spec_path = arena_text(r->arena, json_get_text(scale, "specReplicasPath", ""));
    k->scale_status_path = arena_text(r->arena, json_get_text(scale, "statusReplicasPath", ""));
    k->scale_selector_path = arena_text(r->arena, json_get_text(scale, "labelSelectorPath", NULL));
}

static void take_version(struct crd_reader *r, struct kind *k, const struct json *version, struct kind_version *v, uint32_t index)
{
    char path[96];
    snprintf(path, sizeof path, "spec.versions[%u].name", index);
    v->version = take_name(r, version, "name", path, NULL, is_dns_label, "must be a version such as v1 or v1beta1");
    v->served = json_get_bool(version, "served", false);
    if (json_get_bool(version, "deprecated", false))
        v->deprecation_warning = arena_text(r->arena, json_get_text(version, "deprecationWarning", NULL));
    if (json_get_bool(version, "deprecated", false) && !v->deprecation_warning)
        v->deprecation_warning = arena_printf(r->arena, "%s/%s %s is deprecated", k->group, v->version, k->kind);
    take_columns(r, json_get(version, "additionalPrinterColumns"), v);
    const struct json *subresources = json_get(version, "subresources");
    if (json_get(subresources, "status"))
        k->flags |= KIND_STATUS;
    take_scale(r, k, json_get(subresources, "scale"));
    snprintf(path, sizeof path, "spec.versions[%u].selectableFields", index);
    take_selectable(r, json_get(version, "selectableFields"), v, path);
    snprintf(path, sizeof path, "spec.versions[%u].schema.openAPIV3Schema", index);
    take_schema(r, k, version, v, path);
}

/* Kubernetes' order of versions: v10 > v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > others by name. */
static int version_rank(const char *version, unsigned *ret_major, unsigned *ret_minor)
{
    int used = 0;
    *ret_major = *ret_minor = 0;
    if (sscanf(version, "v%9u%n", ret_major, &used) == 1 && version[used] == 0)
        return 3;
    if (sscanf(version, "v%9ubeta%9u%n", ret_major, ret_minor, &used) == 2 && version[used] == 0)
        return 2;
    if (sscanf(version, "v%9ualpha%9u%n", ret_major, ret_minor, &used) == 2 && version[used] == 0)
        return 1;
    *ret_major = *ret_minor = 0;
    return 0;
}

static int compare_versions(const void *a, const void *b)
{
    const struct kind_version *x = a, *y = b;
    unsigned x_major, x_minor, y_major, y_minor;
    int x_rank = version_rank(x->version, &x_major, &x_minor), y_rank = version_rank(y->version, &y_major, &y_minor);
    if (x_rank != y_rank)
        return y_rank - x_rank;
    if (x_major != y_major)
        return x_major < y_major ? 1 : -1;
    if (x_minor != y_minor)
        return x_minor < y_minor ? 1 : -1;
    return strcmp(x->version, y->version);
}

static void take_versions(struct crd_reader *r, struct kind *k, const struct json *list)
{
    if (!json_is(list, JSON_ARRAY) || list->n == 0) {
        fail(r, FIELD_REQUIRED, "spec.versions", NULL, "");
        return;
    }
    if (list->n > VERSIONS_MAX) {
        fail(r, FIELD_INVALID, "spec.versions", NULL, "at most 32 versions");
        return;
    }
    struct kind_version *versions = arena_zero(r->arena, list->n, sizeof *versions);
    const char *storage = NULL;
    JSON_EACH(version, list) {
        take_version(r, k, version, &versions[k->versions_n], k->versions_n);
        if (json_get_bool(version, "storage", false)) {
            if (storage)
                fail(r, FIELD_INVALID, "spec.versions", NULL, "must have exactly one version marked as storage version");
            storage = versions[k->versions_n].version;
        }
        for (uint32_t i = 0; i < k->versions_n; i++)
            if (strcmp(versions[i].version, versions[k->versions_n].version) == 0)
                fail(r, FIELD_DUPLICATE, "spec.versions", versions[i].version, "");
        k->versions_n++;
    }
    if (!storage)
        fail(r, FIELD_INVALID, "spec.versions", NULL, "must have exactly one version marked as storage version");
    qsort(versions, k->versions_n, sizeof *versions, compare_versions);
    for (uint32_t i = 0; storage && i < k->versions_n; i++)
        if (strcmp(versions[i].version, storage) == 0)
            k->storage = i;
    k->versions = versions;
}

static void take_kind(struct crd_reader *r, const struct json *crd, struct kind *k)
{
    const char *name_rule = "must be a lower-case name of letters, digits and '-'";
    const char *kind_rule = "must be a name of letters and digits such as TrainJob";
    const struct json *spec = json_get(crd, "spec"), *names = json_get(spec, "names");
    k->group = take_name(r, spec, "group", "spec.group", NULL, is_dns_name, "must be a domain with a dot such as example.com");
    k->plural = take_name(r, names, "plural", "spec.names.plural", NULL, is_dns_label, name_rule);
    k->kind = take_name(r, names, "kind", "spec.names.kind", NULL, is_kind_name, kind_rule);
    k->singular =
        take_name(r, names, "singular", "spec.names.singular", arena_text_lower(r->arena, k->kind), is_dns_label, name_rule);
    k->list_kind =
        take_name(r, names, "listKind", "spec.names.listKind", arena_printf(r->arena, "%sList", k->kind), is_kind_name, kind_rule);
    k->short_names = take_names(r, json_get(names, "shortNames"), "spec.names.shortNames");
    k->categories = take_names(r, json_get(names, "categories"), "spec.names.categories");
    k->flags = KIND_CUSTOM | KIND_GENERATION;
    const char *scope = json_get_text(spec, "scope", "");
    if (strcmp(scope, "Namespaced") == 0)
        k->flags |= KIND_NAMESPACED;
    else if (strcmp(scope, "Cluster") != 0)
        fail(r, FIELD_NOT_SUPPORTED, "spec.scope", scope, "supported values: \"Cluster\", \"Namespaced\"");
    const char *want = arena_printf(r->arena, "%s.%s", k->plural, k->group);
    const char *name = json_get_text(json_get(crd, "metadata"), "name", "");
    if (strcmp(name, want) != 0)
        fail(r, FIELD_INVALID, "metadata.name", name, arena_printf(r->arena, "must be spec.names.plural+\".\"+spec.group: %s", want));
    take_versions(r, k, json_get(spec, "versions"));
}

static uint32_t find_custom(const struct kind_table *t, const char *group, const char *plural)
{
    uint32_t i = 0;
    while (i < t->customs_n && (strcmp(t->customs[i].kind->group, group) != 0 || strcmp(t->customs[i].kind->plural, plural) != 0))
        i++;
    return i;
}

static const struct kind *find_built_in(const char *group, const char *plural)
{
    for (uint32_t i = 0; i < schema_kinds_n; i++)
        if (strcmp(schema_kinds[i].group, group) == 0 && strcmp(schema_kinds[i].plural, plural) == 0)
            return &schema_kinds[i];
    return NULL;
}

static bool is_built_in_group(const char *group)
{
    for (uint32_t i = 0; i < schema_kinds_n; i++)
        if (!(schema_kinds[i].flags & KIND_CUSTOM) && strcmp(schema_kinds[i].group, group) == 0)
            return true;
    return false;
}

/* Names that another kind of the group has. */
static void check_conflicts(struct crd_reader *r, const struct kind_table *t, const struct kind *k)
{
    for (uint32_t i = 0; i < t->order_n; i++) {
        const struct kind *other = t->order[i];
        if (strcmp(other->group, k->group) != 0 || strcmp(other->plural, k->plural) == 0)
            continue;
        if (strcmp(other->kind, k->kind) == 0 || strcmp(other->list_kind, k->kind) == 0)
            fail(r, FIELD_INVALID, "spec.names.kind", k->kind,
                 arena_printf(r->arena, "is already in use by %s.%s", other->plural, k->group));
        if (strcmp(other->singular, k->singular) == 0 || strcmp(other->plural, k->singular) == 0)
            fail(r, FIELD_INVALID, "spec.names.singular", k->singular,
                 arena_printf(r->arena, "is already in use by %s.%s", other->plural, k->group));
    }
    if (is_built_in_group(k->group))
        fail(r, FIELD_FORBIDDEN, "spec.group", NULL, "is a group of Kubernetes itself; choose a domain of your own");
}

/* The kind that a definition defines, in r->arena; *ret_at: its place among the custom ones. NULL: refused (r->failed), or built in. */
static struct kind *definition_take(struct crd_reader *r, const struct kind_table *t, const struct json *crd, uint32_t *ret_at)
{
    struct kind *k = arena_zero(r->arena, 1, sizeof *k);
    take_kind(r, crd, k);
    const struct kind *built_in = find_built_in(k->group, k->plural);
    if (built_in) {
        if (!r->failed && strcmp(built_in->kind, k->kind) != 0)
            fail(r, FIELD_INVALID, "spec.names.kind", k->kind,
                 arena_printf(r->arena, "this resource is built in as kind %s", built_in->kind));
        return NULL;
    }
    if (!r->failed)
        check_conflicts(r, t, k);
    *ret_at = find_custom(t, k->group, k->plural);
    if (*ret_at == KIND_CUSTOM_MAX)
        fail(r, FIELD_FORBIDDEN, "spec.group", NULL, "there are 1000 custom resource definitions already, which is the most");
    return r->failed ? NULL : k;
}

int kind_table_check_crd(const struct kind_table *t, const struct json *crd, struct field_errors *errors)
{
    struct crd_reader r = {.arena = arena_new(), .errors = errors};
    uint32_t at;
    (void)definition_take(&r, t, crd, &at); /* only whether it can be */
    arena_free(r.arena);
    return r.failed ? -E_INVALID : 0;
}

int kind_table_add_crd(struct kind_table *t, const struct json *crd, struct field_errors *errors)
{
    struct crd_reader r = {.arena = arena_new(), .errors = errors};
    uint32_t at;
    struct kind *k = definition_take(&r, t, crd, &at);
    if (!k) {
        arena_free(r.arena);
        return r.failed ? -E_INVALID : 0;
    }
    MEM_RESERVE(t->customs, t->customs_cap, at + 1);
    if (at < t->customs_n)
        kind_table_retire(t, t->customs[at].arena);
    else
        t->customs_n++;
    t->customs[at] = (struct kind_custom){r.arena, k};
    t->generation++;
    kind_table_index(t);
    return 0;
}

void kind_table_remove_crd(struct kind_table *t, const char *group, const char *plural)
{
    uint32_t at = find_custom(t, group, plural);
    if (at == t->customs_n)
        return;
    kind_table_retire(t, t->customs[at].arena);
    t->customs_n--;
    memmove(&t->customs[at], &t->customs[at + 1], (t->customs_n - at) * sizeof *t->customs);
    t->generation++;
    kind_table_index(t);
}
