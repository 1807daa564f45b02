#include "codec/admission/validate_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "codec/admission/admission.h"
#include "codec/admission/device_limits.h"
#include "codec/admission/near_keys.h"
#include "codec/kinds/queued_kinds.h"
#include "codec/schema/validate_suggest.h"
#include "wire/yaml.h"

#define API_VERSION_MAX 320

void manifest_report_init(struct manifest_report *r, struct arena *a, const struct kind_table *kinds, bool strict_kueue)
{
    *r = (struct manifest_report){.arena = a, .kinds = kinds, .strict_kueue = strict_kueue};
    r->fixed = json_new(a, JSON_ARRAY);
}

/* ---- findings ---- */

struct manifest_subject {
    struct manifest_report *report;
    const char *file, *object;
    uint32_t document;
    const struct json *written; /* as it stands in the file; NULL: it is none */
    const struct yaml_places *places;
    const struct kind *kind;
    const struct kind_version *version;
    bool known; /* by a room above */
    const struct manifest_finding *before; /* the last one of what stands in front of it; NULL: none */
};

/* ---- lines ---- */

/* The member whose key the path begins with: the longest one, since keys may have dots in them. */
static const struct json *member_at(const struct json *object, const char **path)
{
    const struct json *found = NULL;
    JSON_EACH (member, json_is(object, JSON_OBJECT) ? object : NULL) {
        char after = strncmp(*path, member->key, member->key_n) == 0 ? (*path)[member->key_n] : 'x';
        bool fits = after == '\0' || strchr(".[]", after);
        if (fits && (!found || member->key_n > found->key_n))
            found = member;
    }
    if (found) {
        *path += found->key_n;
        return found;
    }
    char name[LIMIT_NAME + 1]; /* a key that is written otherwise, and was read as if it were right */
    size_t n = strcspn(*path, ".[]");
    (void)snprintf(name, sizeof name, "%.*s", (int)(n < LIMIT_NAME ? n : LIMIT_NAME), *path);
    JSON_EACH (member, json_is(object, JSON_OBJECT) ? object : NULL)
        if (suggest_distance(member->key, name, 2) <= 2)
            found = member;
    *path += found ? n : 0;
    return found;
}

static uint32_t line_at(const struct manifest_subject *s, const struct json *v, uint32_t otherwise)
{
    struct yaml_place place = v && s->places ? yaml_place_of(s->places, v) : (struct yaml_place){0};
    return place.key_line ? place.key_line : place.line ? place.line : otherwise;
}

/* SHAPE  spec.tasks[0].template, limits[nvidia.com/gpu]. Where the path leads nowhere, what was reached last. */
static uint32_t line_of(const struct manifest_subject *s, const char *path)
{
    const struct json *at = s->written;
    uint32_t line = line_at(s, at, 0);
    while (at && *path) {
        if (*path == '.' || *path == ']') {
            path++;
            continue;
        }
        if (*path == '[' && json_is(at, JSON_ARRAY)) {
            char *end;
            unsigned long index = strtoul(path + 1, &end, 10);
            at = *end == ']' ? json_item(at, index) : NULL;
            path = end;
        } else {
            path += *path == '[';
            at = member_at(at, &path);
        }
        line = line_at(s, at, line);
    }
    return line;
}

static void finding_add(const struct manifest_subject *s, bool refused, const char *path, const char *problem)
{
    struct manifest_report *r = s->report;
    struct manifest_finding *f = arena_zero(r->arena, 1, sizeof *f);
    f->file = s->file;
    f->document = s->document;
    f->line = line_of(s, path ? path : "");
    f->object = s->object ? s->object : "";
    f->path = arena_text(r->arena, path ? path : "");
    f->problem = arena_text(r->arena, problem);
    f->refused = refused;
    if (r->last)
        r->last->next = f;
    else
        r->first = f;
    r->last = f;
    r->findings_n++;
    r->refused_n += refused;
}

/* The line of a path in a text that a field holds, from 1 as in a file of its own. */
static uint32_t line_inside(const struct manifest_report *r, struct bytes text, const char *path)
{
    struct json *docs = NULL;
    struct yaml_places *places = yaml_places_new();
    (void)yaml_parse_places(r->arena, text, &docs, NULL, places, NULL);
    const struct manifest_subject inside = {.places = places, .written = json_item(docs, 0)};
    uint32_t line = docs ? line_of(&inside, path) : 0;
    yaml_places_free(places);
    return line;
}

void manifest_tell(struct manifest_subject *s, const char *field, struct bytes text, const struct manifest_told *told)
{
    struct manifest_report *r = s->report;
    s->report->remaining_n += told->refused;
    if (!*field) {
        finding_add(s, told->refused, told->path, told->problem);
        return;
    }
    finding_add(s, told->refused, field, told->problem);
    if (*told->path)
        r->last->path = arena_printf(r->arena, "%s.%s", field, told->path);
    if (r->last->line && memchr(text.data, '\n', text.n)) /* the lines of a block begin below its key */
        r->last->line += told->line ? told->line : *told->path ? line_inside(r, text, told->path) : 0;
}

/* "path: text" as one finding: the path ends at the first ": ", when it looks like one. */
static void finding_split(const struct manifest_subject *s, bool refused, const char *text)
{
    const char *end = strstr(text, ": ");
    size_t n = end ? (size_t)(end - text) : 0;
    if (end && n < 200 && !memchr(text, ' ', n))
        finding_add(s, refused, arena_text_n(s->report->arena, text, n), end + 2);
    else if (end && n < 250 && text_starts(text, "spec.") && memchr(text, '(', n)) /* "spec.tasks[0] (worker): ..." */
        finding_add(s, refused, arena_text_n(s->report->arena, text, strcspn(text, " ")), end + 2);
    else
        finding_add(s, refused, "", text);
}

static void findings_take(const struct manifest_subject *s, const struct admission *x)
{
    for (uint32_t i = 0; i < x->warnings_n; i++)
        finding_split(s, false, x->warnings[i]);
    for (const struct field_error *error = x->errors.first; error; error = error->next) {
        _cleanup_buf_ struct buf text = {0};
        struct field_error rest = *error;
        char *line_end = strchr(error->detail, '\n');
        rest.path = NULL;
        if (line_end) { /* the corrected form follows */
            size_t n = (size_t)(line_end - error->detail);
            n -= n && error->detail[n - 1] == ':';
            rest.detail = arena_printf(s->report->arena, "%.*s (--fix prints it)", (int)n, error->detail);
        }
        field_error_text(&text, &rest);
        finding_add(s, true, error->path, text.data ? text.data : "");
    }
}

/* ---- one object ---- */

static void unknown_fields_report(const struct manifest_subject *s, const struct json *written,
                                  const struct schema_findings *found)
{
    for (uint32_t i = 0; i < found->unknown_n && i < 32; i++) {
        const char *meant = suggest_field(s->version->schema, written, found->unknown[i]);
        const char *text = meant ? arena_printf(s->report->arena, "unknown field; write %s", meant)
                                 : "unknown field; remove it: servers drop it or refuse the object";
        finding_add(s, true, found->unknown[i], text);
    }
}

#define SETTLE_PASSES 6 /* a misspelt field hides what is inside it: one pass a level */

/* Correct types and names of fields until the schema has nothing to say; findings are told on the way when `tell`. */
static bool object_settle(const struct manifest_subject *s, struct json *object, bool tell)
{
    struct arena *a = s->report->arena;
    const struct schema *schema = s->version->schema;
    char last[ERR_TEXT_MAX] = "";
    for (int pass = 0; schema && pass < SETTLE_PASSES; pass++) {
        struct schema_findings found = {0};
        struct err e = {0};
        if (schema_prune(a, schema, json_clone(a, object), &found, &e) < 0) {
            if (text_equal(e.text, last))
                return false;
            if (tell)
                finding_split(s, true, e.text);
            memcpy(last, e.text, sizeof last);
            suggest_types(a, schema, object);
            continue;
        }
        if (tell)
            unknown_fields_report(s, object, &found);
        if (found.unknown_n == 0)
            return true;
        for (uint32_t i = 0; i < found.unknown_n && i < 32; i++)
            suggest_apply(a, schema, object, found.unknown[i]);
    }
    return schema == NULL;
}

/* The way of an object into a server. `object` is changed. */
/* Names of what is made of it are judged, too. */
static void name_as_generated(struct arena *a, struct json *object)
{
    const char *name = admission_generated_name(a, object);
    if (*name)
        json_set_text(a, json_get(object, "metadata"), "name", name);
}

static void object_run(const struct manifest_subject *s, struct json *object)
{
    struct manifest_report *r = s->report;
    struct admission x = {.arena = r->arena, .object = object, .strict_kueue = r->strict_kueue};
    struct schema_findings found = {0};
    const struct schema *schema = s->version->schema;
    field_errors_init(&x.errors, r->arena);
    admission_repair(&x, s->kind, s->version->version);
    findings_take(s, &x);
    if (x.errors.n || !object_settle(s, object, true))
        return;
    if (schema && schema_prune(r->arena, schema, object, &found, NULL) < 0)
        return; /* told by object_settle */
    const struct kind *stored = kind_stored(s->kind);
    const struct kind_version *storage = kind_storage(s->kind);
    struct admission y = {.arena = r->arena, .object = object, .asked = s->kind, .strict_kueue = r->strict_kueue};
    field_errors_init(&y.errors, r->arena);
    kind_convert(r->arena, stored, object, storage->version);
    if (storage->schema)
        schema_default(r->arena, storage->schema, object);
    admission_metadata(&y, stored);
    name_as_generated(r->arena, object);
    if (storage->schema)
        schema_validate(storage->schema, object, &y.errors);
    admission_run(&y, stored);
    findings_take(s, &y);
}

static void object_fix(const struct manifest_subject *s, struct admission *x)
{
    struct json *fixed = admission_fix(x, s->kind);
    if (fixed)
        x->object = fixed;
    (void)object_settle(s, x->object, false); /* what cannot be corrected stays, and is told by object_run */
}

static struct json *object_fixed(const struct manifest_subject *s, const struct json *object)
{
    struct admission x = {.arena = s->report->arena, .object = json_clone(s->report->arena, object)};
    field_errors_init(&x.errors, s->report->arena);
    object_fix(s, &x);
    object_fix(s, &x); /* once more, on fields that have their right names now */
    admission_repair(&x, s->kind, s->version->version);
    device_limits_fix(x.arena, x.object);
    return x.object;
}

static void near_key(void *context, const char *path, const char *text)
{
    finding_add(context, false, path, text);
}

struct device_limits {
    const struct manifest_subject *subject;
    struct map *told; /* paths of `resources` of which the kind's own check has found something */
};

static void device_limit(void *context, const char *path, const char *part, const char *text)
{
    const struct device_limits *d = context;
    if (!map_find_text(d->told, path))
        finding_add(d->subject, false, arena_printf(d->subject->report->arena, "%s.%s", path, part), text);
}

static void device_limits_check(const struct manifest_subject *s, const struct json *object)
{
    struct device_limits d = {s, map_new(sizeof(bool))};
    for (const struct manifest_finding *f = s->before ? s->before->next : s->report->first; f; f = f->next) {
        const char *at = strstr(f->path, ".resources.");
        if (at)
            (void)map_put(d.told, (struct bytes){f->path, (size_t)(at - f->path) + sizeof ".resources" - 1}, NULL);
    }
    device_limits_look(s->report->arena, object, device_limit, &d);
    map_free(d.told);
}

static void object_check(const struct manifest_subject *s, struct json *object)
{
    struct manifest_report *r = s->report;
    near_keys_look(r->arena, object, near_key, (void *)(uintptr_t)s); /* it is only read */
    struct json *fixed = object_fixed(s, object);
    json_append(r->fixed, fixed);
    r->objects_n++;
    object_run(s, json_clone(r->arena, object));
    device_limits_check(s, object);
    struct manifest_report after;
    manifest_report_init(&after, r->arena, r->kinds, r->strict_kueue);
    struct manifest_subject again = *s;
    again.report = &after;
    object_run(&again, json_clone(r->arena, fixed));
    r->remaining_n += after.refused_n;
}

/* ---- one document ---- */

static const char *not_an_object(const struct json *doc)
{
    const struct json *first = json_item(doc, 0);
    if (json_get(first, "alert") || json_get(first, "record") || json_get(first, "rules"))
        return "not a Kubernetes object: these are Prometheus rules without their groups; they belong under "
               "groups[].rules of a rule file";
    if (!json_is(doc, JSON_OBJECT))
        return "not a Kubernetes object: expected a mapping with apiVersion, kind and metadata";
    if (json_is(json_get(doc, "groups"), JSON_ARRAY))
        return "not a Kubernetes object: these are Prometheus rules; give them to Prometheus (rule_files), or put them "
               "under spec of a PrometheusRule";
    if (json_get(doc, "apiVersion") || json_get(doc, "kind"))
        return "not a Kubernetes object: needs both apiVersion and kind";
    if (json_is(json_get(doc, "steps"), JSON_ARRAY) && json_get(doc, "nodes"))
        return "not a Kubernetes object: this is a scenario; capstan sim run takes it, and checks it";
    return "not a Kubernetes object: no apiVersion and kind (values of a Helm chart, or part of a manifest?)";
}

/* The kind whose name is nearest, of those in this group, or in the one whose name is. */
static const struct kind *kind_guess(const struct manifest_report *r, const char *group, const char *kind)
{
    enum { NAME_FAR = 2, GROUP_FAR = 9, NONE = (NAME_FAR + 1) * (GROUP_FAR + 2) };
    const struct kind *best = NULL;
    size_t least = NONE;
    for (uint32_t i = 0; i < kind_count(r->kinds); i++) {
        const struct kind *k = kind_at(r->kinds, i);
        size_t name = suggest_distance(kind, k->kind, NAME_FAR), other = suggest_distance(group, k->group, GROUP_FAR);
        size_t distance = name > NAME_FAR ? NONE : name * (GROUP_FAR + 2) + other;
        if (distance < least) {
            best = k;
            least = distance;
        }
    }
    return best;
}

/* Sets kind and version of the subject, and corrects the document where the name is near one that exists. */
static bool kind_resolve(struct manifest_subject *s, struct json *doc, const char *api_version, const char *kind)
{
    struct manifest_report *r = s->report;
    const char *slash = strchr(api_version, '/'), *version = slash ? slash + 1 : api_version;
    const char *group = slash ? arena_text_n(r->arena, api_version, (size_t)(slash - api_version)) : "";
    s->kind = kind_find_kind(r->kinds, group, kind);
    bool of_others = queued_kind_of_owner(doc); /* Ray's and Spark's, which no API server of ours has */
    if (!s->kind && (s->known || of_others || !(s->kind = kind_guess(r, group, kind)))) {
        if (!s->known && !of_others)
            finding_add(s, false, "",
                        arena_printf(r->arena, "%s %s is not known here: not checked (it needs its CustomResourceDefinition)", api_version,
                                     kind));
        return false;
    }
    s->version = kind_version_find(s->kind, version);
    if (!s->version)
        s->version = &s->kind->versions[0];
    const char *wanted =
        arena_printf(r->arena, "%s%s%s", s->kind->group, s->kind->group[0] ? "/" : "", s->version->version);
    if (text_equal(s->kind->kind, kind) && text_equal(wanted, api_version))
        return true;
    if (!text_equal(s->kind->kind, kind))
        finding_add(s, true, "kind",
                    arena_printf(r->arena, "no kind %s in %s; write kind: %s, apiVersion: %s", kind, api_version,
                                 s->kind->kind, wanted));
    else
        finding_add(s, true, "apiVersion",
                    arena_printf(r->arena, "%s is not served as %s; write %s", kind, api_version, wanted));
    json_set_text(r->arena, doc, "apiVersion", wanted);
    json_set_text(r->arena, doc, "kind", s->kind->kind);
    return true;
}

static void document_check(struct manifest_report *r, const char *file, uint32_t number, const struct yaml_places *places, struct json *doc,
                           const struct json *written)
{
    const char *api_version = json_get_text(doc, "apiVersion", ""), *kind = json_get_text(doc, "kind", "");
    struct manifest_subject s = {
        .report = r, .file = file, .document = number, .places = places, .written = written, .before = r->last};
    if (!api_version[0] || !kind[0] || strlen(api_version) > API_VERSION_MAX || strlen(kind) > LIMIT_NAME) {
        if (!r->more || !r->more(&s, doc))
            finding_add(&s, true, "", not_an_object(doc));
        r->left_out_n++;
        return;
    }
    if (text_ends(kind, "List") && json_is(json_get(doc, "items"), JSON_ARRAY)) {
        const struct json *stands = json_first(json_get(written, "items"));
        JSON_EACH (item, json_get(doc, "items")) {
            document_check(r, file, number, places, item, stands);
            stands = stands ? stands->next : NULL;
        }
        return;
    }
    json_remove_nulls(doc);
    const struct json *metadata = json_get(doc, "metadata");
    const char *name = json_get_text(metadata, "name", json_get_text(metadata, "generateName", "?"));
    s.object = arena_printf(r->arena, "%s/%s", kind, name);
    s.known = r->more && r->more(&s, doc);
    if (!kind_resolve(&s, doc, api_version, kind)) {
        struct json *fixed = json_clone(r->arena, doc);
        near_keys_look(r->arena, doc, near_key, &s);
        device_limits_check(&s, doc);
        device_limits_fix(r->arena, fixed);
        json_append(r->fixed, fixed);
        r->objects_n++;
        return;
    }
    object_check(&s, doc);
}

/* What people who meet this mistake often have in hand; "": nothing is known. */
static const char *unreadable_hint(struct bytes text, unsigned line)
{
    if (text.n && memmem(text.data, text.n, "{{", 2))
        return "; is it a template? Render it first, as helm template does";
    const char *at = text.data, *end = text.n ? at + text.n : at;
    for (unsigned i = 1; i < line && at && at < end; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    for (; at && at < end && (*at == ' ' || *at == '\t'); at++)
        if (*at == '\t')
            return "; YAML is indented by spaces, and there is a tab";
    return "";
}

static void unreadable(const struct manifest_subject *s, struct bytes text, const char *problem)
{
    unsigned line = 0;
    int read_n = 0;
    (void)sscanf(problem, "line %u, %n", &line, &read_n); /* it stands in front of the finding */
    finding_add(s, true, "", arena_printf(s->report->arena, "%s%s", problem + read_n, unreadable_hint(text, line)));
    s->report->last->line = line;
    s->report->left_out_n++;
}

void manifest_check(struct manifest_report *r, const char *file, struct bytes text)
{
    struct json *docs, *written = NULL;
    struct json_parse_info info = {0};
    struct err e = {0};
    struct yaml_places *places = yaml_places_new();
    struct manifest_subject s = {.report = r, .file = arena_text(r->arena, file)};
    uint32_t number = 0;
    if (yaml_parse(r->arena, text, &docs, &info, &e) < 0) {
        unreadable(&s, text, e.text);
        yaml_places_free(places);
        return;
    }
    /* WHY again  JSON means what JSON says, and has lines where YAML can read it. */
    (void)yaml_parse_places(r->arena, text, &written, NULL, places, NULL);
    for (uint32_t i = 0; i < info.duplicate_n && i < 8; i++) {
        finding_add(&s, true, info.duplicate[i], "the key stands twice; the last one counts, remove the other");
        r->last->line = info.line[i];
    }
    JSON_EACH (doc, docs) {
        const struct json *stands = json_item(written, number);
        document_check(r, s.file, ++number, places, doc, stands);
    }
    if (number == 0)
        finding_add(&s, true, "", "holds no document");
    yaml_places_free(places);
}

void manifest_print_findings(struct buf *out, const struct manifest_report *r)
{
    for (const struct manifest_finding *f = r->first; f; f = f->next) {
        buf_text(out, f->file);
        if (f->line)
            buf_printf(out, ":%u", f->line);
        if (f->object[0])
            buf_printf(out, " %s", f->object);
        buf_printf(out, ": %s%s%s%s\n", f->refused ? "" : "warning: ", f->path, f->path[0] ? ": " : "", f->problem);
    }
}

void manifest_print_fixed(struct buf *out, const struct manifest_report *r)
{
    JSON_EACH (object, r->fixed) {
        if (object != r->fixed->first)
            buf_text(out, "---\n");
        yaml_write(out, object);
    }
}
