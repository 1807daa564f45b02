#include "apiserver/store/selector.h"


#include "wire/json_reader.h"

#define SELECTOR_PATH_MAX 8 /* members inside each other */

struct selector_field {
    const char *group, *plural; /* "*": every kind */
    const char *name;
    const char *path[SELECTOR_PATH_MAX]; /* from the root, as the object is stored; NULL ended */
    const char *fallback; /* value when absent */
    const char *instead;  /* member of the root that counts when this one has no text; NULL = none */
};
static const struct selector_field selector_fields[] = {
    {"*", "*", "metadata.name", {"metadata", "name"}, ""},
    {"*", "*", "metadata.namespace", {"metadata", "namespace"}, ""},
    {"", "pods", "spec.nodeName", {"spec", "nodeName"}, ""},
    {"", "pods", "spec.restartPolicy", {"spec", "restartPolicy"}, ""},
    {"", "pods", "spec.schedulerName", {"spec", "schedulerName"}, ""},
    {"", "pods", "spec.serviceAccountName", {"spec", "serviceAccountName"}, ""},
    {"", "pods", "spec.hostNetwork", {"spec", "hostNetwork"}, "false"},
    {"", "pods", "status.phase", {"status", "phase"}, ""},
    {"", "pods", "status.podIP", {"status", "podIP"}, ""},
    {"", "pods", "status.podIPs", {"status", "podIP"}, ""},
    {"", "pods", "status.nominatedNodeName", {"status", "nominatedNodeName"}, ""},
    {"", "nodes", "spec.unschedulable", {"spec", "unschedulable"}, "false"},
    {"", "namespaces", "status.phase", {"status", "phase"}, ""},
    {"", "secrets", "type", {"type"}, ""},
    {"certificates.k8s.io", "certificatesigningrequests", "spec.signerName", {"spec", "signerName"}, ""},
    {"", "replicationcontrollers", "status.replicas", {"status", "replicas"}, "0"},
    {"apps", "replicasets", "status.replicas", {"status", "replicas"}, "0"},
    {"kueue.x-k8s.io", "workloads", "status.admission.clusterQueue", {"status", "admission", "clusterQueue"}, ""},
    {"batch", "jobs", "status.successful", {"status", "succeeded"}, "0"},
    {"", "events", "involvedObject.kind", {"involvedObject", "kind"}, ""},
    {"", "events", "involvedObject.namespace", {"involvedObject", "namespace"}, ""},
    {"", "events", "involvedObject.name", {"involvedObject", "name"}, ""},
    {"", "events", "involvedObject.uid", {"involvedObject", "uid"}, ""},
    {"", "events", "involvedObject.apiVersion", {"involvedObject", "apiVersion"}, ""},
    {"", "events", "involvedObject.resourceVersion", {"involvedObject", "resourceVersion"}, ""},
    {"", "events", "involvedObject.fieldPath", {"involvedObject", "fieldPath"}, ""},
    {"", "events", "reportingComponent", {"reportingComponent"}, ""},
    {"", "events", "source", {"source", "component"}, "", "reportingComponent"},
    {"events.k8s.io", "events", "regarding.kind", {"involvedObject", "kind"}, ""},
    {"events.k8s.io", "events", "regarding.namespace", {"involvedObject", "namespace"}, ""},
    {"events.k8s.io", "events", "regarding.name", {"involvedObject", "name"}, ""},
    {"events.k8s.io", "events", "regarding.uid", {"involvedObject", "uid"}, ""},
    {"events.k8s.io", "events", "regarding.apiVersion", {"involvedObject", "apiVersion"}, ""},
    {"events.k8s.io", "events", "regarding.resourceVersion", {"involvedObject", "resourceVersion"}, ""},
    {"events.k8s.io", "events", "regarding.fieldPath", {"involvedObject", "fieldPath"}, ""},
    {"events.k8s.io", "events", "reportingController", {"reportingComponent"}, ""},
    {"*", "events", "reason", {"reason"}, ""},
    {"*", "events", "type", {"type"}, ""},
};

struct parser {
    struct arena *arena;
    const char *start, *at;
    struct err *e;
};

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static const char *word(struct parser *p)
{
    skip_space(p);
    size_t n = strcspn(p->at, "=!,() \t");
    const char *text = arena_text_n(p->arena, p->at, n);
    p->at += n;
    skip_space(p);
    return text;
}

static int parse_fail(struct parser *p, const char *what)
{
    return err_set(p->e, E_INVALID, "unable to parse requirement: %s at position %zu of \"%.200s\"", what,
                   (size_t)(p->at - p->start), p->start);
}

static void value_add(struct parser *p, struct selector_term *t, const char *value)
{
    const char **values = arena_alloc(p->arena, (t->values_n + 1) * sizeof *values);
    if (t->values_n)
        memcpy(values, t->values, t->values_n * sizeof *values);
    values[t->values_n++] = value;
    t->values = values;
}

static int set_parse(struct parser *p, struct selector_term *t)
{
    if (*p->at != '(')
        return parse_fail(p, "found no '(' after 'in' or 'notin'");
    p->at++;
    for (;;) {
        value_add(p, t, word(p));
        if (*p->at == ',') {
            p->at++;
            continue;
        }
        if (*p->at != ')')
            return parse_fail(p, "expected ',' or ')'");
        p->at++;
        skip_space(p);
        return 0;
    }
}

static bool label_key_ok(const char *key)
{
    const char *slash = strrchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    size_t n = strlen(name);
    if (n == 0 || n > 63 || (slash && (slash == key || slash - key > 253)))
        return false;
    for (const char *c = key; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-_./", *c)))
            return false;
    return true;
}

static int operator_parse(struct parser *p, struct selector_term *t)
{
    if (*p->at == '=' || (*p->at == '!' && p->at[1] == '=')) {
        t->op = *p->at == '!' ? SELECTOR_NOT_IN : SELECTOR_IN;
        p->at += p->at[1] == '=' ? 2 : 1;
        value_add(p, t, word(p));
        return 0;
    }
    if (*p->at == 0 || *p->at == ',') {
        t->op = SELECTOR_EXISTS;
        return 0;
    }
    const char *name = word(p);
    if (strcmp(name, "in") != 0 && strcmp(name, "notin") != 0)
        return parse_fail(p, "expected one of: in, notin, =, ==, !=, ','");
    t->op = *name == 'i' ? SELECTOR_IN : SELECTOR_NOT_IN;
    return set_parse(p, t);
}

static int labels_parse(struct parser *p, struct selector_term **ret_terms)
{
    struct selector_term **link = ret_terms;
    for (skip_space(p); *p->at; skip_space(p)) {
        struct selector_term *t = arena_zero(p->arena, 1, sizeof *t);
        if (*p->at == '!') {
            p->at++;
            t->key = word(p);
            t->op = SELECTOR_NOT_EXISTS;
        } else {
            t->key = word(p);
            if (!label_key_ok(t->key))
                return parse_fail(p, "expected a label key");
            int r = operator_parse(p, t);
            if (r < 0)
                return r;
        }
        if (!label_key_ok(t->key))
            return parse_fail(p, "expected a label key");
        *link = t;
        link = &t->next;
        if (*p->at == ',')
            p->at++;
        else if (*p->at)
            return parse_fail(p, "expected ',' or the end");
    }
    return 0;
}

static const struct selector_field *field_find(const char *name, const char *group, const char *plural)
{
    for (size_t i = 0; i < sizeof selector_fields / sizeof *selector_fields; i++) {
        const struct selector_field *f = &selector_fields[i];
        bool kind =
            (*f->group == '*' || strcmp(f->group, group) == 0) && (*f->plural == '*' || strcmp(f->plural, plural) == 0);
        if (kind && strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

/* A field that the kind's definition names: "spec.color". */
static const struct selector_field *field_of_definition(struct arena *a, const char *name, const char *const *selectable)
{
    for (; selectable && *selectable; selectable++) {
        if (strcmp(*selectable, name) != 0)
            continue;
        struct selector_field *f = arena_zero(a, 1, sizeof *f);
        f->name = name;
        f->fallback = "";
        for (size_t i = 0; i < SELECTOR_PATH_MAX && *name; i++) {
            size_t n = strcspn(name, ".");
            f->path[i] = arena_text_n(a, name, n);
            name += n + (name[n] == '.');
        }
        return f;
    }
    return NULL;
}

/* A value of a field selector: up to an unescaped ','; backslash escapes '\\', ',' and '='. */
static const char *field_value(struct parser *p)
{
    _cleanup_buf_ struct buf out = {0};
    for (; *p->at && *p->at != ','; p->at++) {
        if (*p->at == '\\' && p->at[1])
            p->at++;
        buf_char(&out, *p->at);
    }
    return arena_text_n(p->arena, out.data ? out.data : "", out.n);
}

/* k NULL: the terms are wanted for what they say, and match nothing. */
static int fields_parse(struct parser *p, const struct selector_kind *k, struct selector_term **ret_terms)
{
    struct selector_term **link = ret_terms;
    while (*p->at) {
        if (*p->at == ',') {
            p->at++;
            continue;
        }
        struct selector_term *t = arena_zero(p->arena, 1, sizeof *t);
        size_t n = strcspn(p->at, "=!,");
        t->key = arena_text_n(p->arena, p->at, n);
        p->at += n;
        if (*p->at != '=' && !(*p->at == '!' && p->at[1] == '='))
            return err_set(p->e, E_INVALID, "invalid selector: '%.200s'; can't understand '%.100s'", p->start, t->key);
        t->op = *p->at == '!' ? SELECTOR_NOT_IN : SELECTOR_IN;
        p->at += p->at[1] == '=' ? 2 : 1;
        value_add(p, t, field_value(p));
        t->field = k ? field_find(t->key, k->group, k->plural) : NULL;
        if (k && !t->field)
            t->field = field_of_definition(p->arena, t->key, k->selectable);
        if (k && !t->field)
            return err_set(p->e, E_INVALID, "field label not supported: %.100s", t->key);
        *link = t;
        link = &t->next;
    }
    return 0;
}

int selector_parse(struct arena *a, const char *label_text, const char *field_text, const struct selector_kind *k,
                   struct selector *ret_s, struct err *e)
{
    struct selector s = {0};
    struct parser labels = {a, label_text ? label_text : "", label_text ? label_text : "", e};
    int r = labels_parse(&labels, &s.labels);
    if (r < 0)
        return r;
    struct parser fields = {a, field_text ? field_text : "", field_text ? field_text : "", e};
    r = fields_parse(&fields, k, &s.fields);
    if (r < 0)
        return r;
    *ret_s = s;
    return 0;
}

/* ---- a LabelSelector ---- */

static struct selector_term *term_add(struct arena *a, struct selector_term **terms, const char *key, enum selector_op op)
{
    struct selector_term *t = arena_zero(a, 1, sizeof *t);
    t->key = key;
    t->op = op;
    t->next = *terms;
    return *terms = t;
}

static bool operator_of(const char *text, enum selector_op *ret_op)
{
    static const char *const names[] = {[SELECTOR_IN] = "In", [SELECTOR_NOT_IN] = "NotIn", [SELECTOR_EXISTS] = "Exists",
                                        [SELECTOR_NOT_EXISTS] = "DoesNotExist"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *ret_op = (enum selector_op)i;
            return true;
        }
    return false;
}

bool selector_of_object(struct arena *a, const struct json *label_selector, struct selector *ret_s)
{
    struct parser p = {.arena = a};
    *ret_s = (struct selector){0};
    if (!json_is(label_selector, JSON_OBJECT))
        return false;
    JSON_EACH (want, json_get(label_selector, "matchLabels"))
        value_add(&p, term_add(a, &ret_s->labels, want->key, SELECTOR_IN), json_text(want, ""));
    JSON_EACH (x, json_get(label_selector, "matchExpressions")) {
        enum selector_op op;
        if (!operator_of(json_get_text(x, "operator", ""), &op))
            return false;
        struct selector_term *t = term_add(a, &ret_s->labels, json_get_text(x, "key", ""), op);
        JSON_EACH (v, json_get(x, "values"))
            value_add(&p, t, json_text(v, ""));
    }
    return true;
}

bool selector_empty(const struct selector *s)
{
    return !s->labels && !s->fields;
}

enum selector_reach selector_reach(const struct selector *s, const char *member)
{
    bool inside = false, outside = s->labels != NULL;
    for (const struct selector_term *t = s->fields; t; t = t->next) {
        bool is = t->field && strcmp(t->field->path[0], member) == 0;
        inside = inside || is;
        outside = outside || !is || t->field->instead;
    }
    return !inside ? SELECTOR_READS_NONE : outside ? SELECTOR_READS_SOME : SELECTOR_READS_ONLY;
}

enum selector_reach selector_reach_members(const struct selector *s, const struct json *members)
{
    bool inside = false, outside = false;
    for (const struct selector_term *t = s->fields; t; t = t->next) {
        bool is = json_get(members, t->field->path[1]);
        inside = inside || is;
        outside = outside || !is;
    }
    return !inside ? SELECTOR_READS_NONE : outside ? SELECTOR_READS_SOME : SELECTOR_READS_ONLY;
}

const char *selector_name(const struct selector *s)
{
    for (const struct selector_term *t = s->fields; t; t = t->next)
        if (t->op == SELECTOR_IN && t->values_n == 1 && strcmp(t->key, "metadata.name") == 0)
            return t->values[0];
    return NULL;
}

const char *selector_name_of_text(struct arena *a, const char *field_text)
{
    struct selector s = {0};
    struct parser fields = {a, field_text, field_text, NULL};
    return fields_parse(&fields, NULL, &s.fields) < 0 ? NULL : selector_name(&s);
}

static bool term_match(const struct selector_term *t, bool present, struct bytes value)
{
    bool equal = false;
    for (uint32_t i = 0; present && i < t->values_n && !equal; i++)
        equal = bytes_is(value, t->values[i]);
    switch (t->op) {
    case SELECTOR_IN:
        return equal;
    case SELECTOR_NOT_IN:
        return !equal;
    case SELECTOR_EXISTS:
        return present;
    case SELECTOR_NOT_EXISTS:
        return !present;
    }
    return false;
}

static bool label_value(struct bytes object, const char *key, struct buf *scratch, struct bytes *ret_value)
{
    struct json_reader r;
    json_reader_init(&r, object);
    return json_reader_member(&r, "metadata") && json_reader_member(&r, "labels") && json_reader_member(&r, key) &&
           json_reader_string(&r, scratch, ret_value);
}

static void field_text(struct bytes object, const struct selector_field *f, struct buf *scratch,
                       struct bytes *ret_value)
{
    struct json_reader r;
    bool flag;
    json_reader_init(&r, object);
    *ret_value = bytes_of(f->fallback);
    for (size_t i = 0; i < SELECTOR_PATH_MAX && f->path[i]; i++)
        if (!json_reader_member(&r, f->path[i]))
            return;
    switch (json_reader_peek(&r)) {
    case JSON_STRING:
        (void)json_reader_string(&r, scratch, ret_value);
        break;
    case JSON_NUMBER:
        (void)json_reader_number(&r, ret_value);
        break;
    case JSON_BOOL:
        if (json_reader_bool(&r, &flag))
            *ret_value = bytes_of(flag ? "true" : "false");
        break;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
}

static bool label_of_tree(const struct json *object, const char *key, struct bytes *ret_value)
{
    const struct json *label = json_path(object, "metadata", "labels", key, NULL);
    if (json_is(label, JSON_STRING))
        *ret_value = json_bytes(label);
    return json_is(label, JSON_STRING);
}

static void field_of_tree(const struct json *object, const struct selector_field *f, struct bytes *ret_value)
{
    const struct json *v = object;
    for (size_t i = 0; i < SELECTOR_PATH_MAX && f->path[i]; i++)
        v = json_get(v, f->path[i]);
    if (json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER))
        *ret_value = json_bytes(v);
    else
        *ret_value = bytes_of(!json_is(v, JSON_BOOL) ? f->fallback : v->truth ? "true" : "false");
}

/* The text that a matching object must contain; NULL: none is known. Only what JSON writes as it is. */
static const char *term_word(const struct selector_term *t)
{
    if (t->op != SELECTOR_IN || t->values_n != 1 || *t->field->fallback || !*t->values[0])
        return NULL;
    for (const char *c = t->values[0]; *c; c++)
        if (*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
            return NULL;
    return t->values[0];
}

/* WHY  most objects lack the one value that is looked for, and a search is cheaper than a walk to the field. Labels stand near the
 * beginning: the walk is the cheaper one there. */
static bool lacks_word(const struct selector *s, struct bytes object)
{
    for (const struct selector_term *t = s->fields; t; t = t->next) {
        const char *word = term_word(t);
        if (word && !memmem(object.data, object.n, word, strlen(word)))
            return true;
    }
    return false;
}

/* The object's text, or its tree. */
struct source {
    struct bytes text;
    const struct json *tree;
};

static void field_of(const struct source *from, const struct selector_field *f, struct buf *scratch, struct bytes *ret_value)
{
    buf_clear(scratch);
    if (from->tree)
        field_of_tree(from->tree, f, ret_value);
    else
        field_text(from->text, f, scratch, ret_value);
}

static bool label_of(const struct source *from, const char *key, struct buf *scratch, struct bytes *ret_value)
{
    buf_clear(scratch);
    return from->tree ? label_of_tree(from->tree, key, ret_value) : label_value(from->text, key, scratch, ret_value);
}

static bool match(const struct selector *s, const struct source *from)
{
    _cleanup_buf_ struct buf scratch = {0};
    bool match = true;
    for (const struct selector_term *t = s->fields; match && t; t = t->next) {
        struct bytes value;
        field_of(from, t->field, &scratch, &value);
        if (!value.n && t->field->instead)
            field_of(from, &(struct selector_field){.path = {t->field->instead}, .fallback = ""}, &scratch, &value);
        match = term_match(t, true, value);
    }
    for (const struct selector_term *t = s->labels; match && t; t = t->next) {
        struct bytes value = {"", 0};
        bool present = label_of(from, t->key, &scratch, &value);
        match = term_match(t, present, value);
    }
    return match;
}

bool selector_match(const struct selector *s, struct bytes object)
{
    return !lacks_word(s, object) && match(s, &(struct source){.text = object});
}

bool selector_match_tree(const struct selector *s, const struct json *object)
{
    return match(s, &(struct source){.tree = object});
}
