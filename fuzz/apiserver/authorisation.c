/* authorisation.c - a request, who sends it, some roles and bindings: what the authoriser says is what the rules say when they are read
 * in the plainest way, and a path is judged as what it is in its normal form
 *
 *   METHOD PATH?QUERY                                       not percent-encoded
 *   USER GROUP ...
 *   r NAMESPACE ROLE VERBS GROUPS RESOURCES NAMES URLS      one rule; lists with commas; namespace "-": a ClusterRole
 *   b NAMESPACE KIND ROLE SUBJECT-KIND SUBJECT-NAMESPACE SUBJECT
 */
#include <string.h>
#include "apiserver/access/rbac.h"
#include "../fuzz.h"
#include "wire/json.h"

#define WORDS_MAX 9
#define LINES_MAX 24
#define GROUPS_MAX 8
#define SEGMENTS_MAX 64
#define RBAC "rbac.authorization.k8s.io"

struct line {
    const char *words[WORDS_MAX]; /* "" when absent */
};
struct world {
    struct line lines[LINES_MAX]; /* rules and bindings */
    size_t n;
    const char *user;
    const char *groups[GROUPS_MAX + 4]; /* all that the user is in */
    size_t groups_n;
};

/* ---- reading ---- */

static const char *line_take(struct arena *a, struct bytes *rest)
{
    const char *end = memchr(rest->data, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->data) : rest->n;
    const char *line = arena_text_n(a, rest->data, n);
    rest->data += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return line;
}

static void words_split(struct arena *a, const char *text, struct line *ret_line)
{
    for (size_t i = 0; i < WORDS_MAX; i++) {
        size_t n = strcspn(text, " ");
        ret_line->words[i] = arena_text_n(a, text, n);
        text += n + (text[n] == ' ');
    }
}

static bool is_plain(const char *text) /* the rest is no text that JSON holds as it is */
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static bool is_name(const char *text)
{
    return *text && !strchr(text, '/');
}

static void world_read(struct arena *a, struct bytes rest, struct world *w)
{
    struct line who;
    const char *text = line_take(a, &rest);
    words_split(a, is_plain(text) ? text : "", &who);
    w->user = *who.words[0] ? who.words[0] : "nobody";
    for (size_t i = 1; i < GROUPS_MAX; i++)
        if (*who.words[i])
            w->groups[w->groups_n++] = who.words[i];
    while (rest.n && w->n < LINES_MAX) {
        text = line_take(a, &rest);
        struct line *l = &w->lines[w->n];
        words_split(a, text, l);
        bool rule = strcmp(l->words[0], "r") == 0, binding = strcmp(l->words[0], "b") == 0;
        w->n += is_plain(text) && (rule || binding) && is_name(l->words[1]) && (!rule || is_name(l->words[2]));
    }
}

static bool is_rule(const struct line *l)
{
    return l->words[0][0] == 'r';
}

static const char *namespace_of(const struct line *l)
{
    return strcmp(l->words[1], "-") == 0 ? "" : l->words[1];
}

/* ---- the stored objects ---- */

static struct json *list_of(struct arena *a, const char *text)
{
    struct json *list = json_new(a, JSON_ARRAY);
    while (*text) {
        size_t n = strcspn(text, ",");
        json_append(list, json_new_text_n(a, (struct bytes){text, n}));
        text += n;
        if (*text && !*++text)
            json_append(list, json_new_text(a, ""));
    }
    return list;
}

static void store(struct apiserver *s, const char *plural, const char *ns, const char *name, const struct json *object)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, object);
    struct blob *body = blob_new(text.data, text.n);
    struct err e = {0};
    (void)store_create(s->store, store_kind(s->store, RBAC, plural), ns, name, store_next_rv(s->store), body, &e); /* there: stays */
    blob_unref(body);
}

static bool same_role(const struct line *x, const struct line *y)
{
    return is_rule(x) && is_rule(y) && strcmp(x->words[1], y->words[1]) == 0 && strcmp(x->words[2], y->words[2]) == 0;
}

static void role_store(struct apiserver *s, struct arena *a, const struct world *w, const struct line *first)
{
    static const char *const members[] = {"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"};
    struct json *role = json_new(a, JSON_OBJECT), *rules = json_ensure_array(a, role, "rules");
    for (size_t i = 0; i < w->n; i++) {
        if (!same_role(first, &w->lines[i]))
            continue;
        struct json *rule = json_new(a, JSON_OBJECT);
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            json_set(a, rule, members[m], list_of(a, w->lines[i].words[3 + m]));
        json_append(rules, rule);
    }
    const char *ns = namespace_of(first);
    store(s, *ns ? "roles" : "clusterroles", ns, first->words[2], role);
}

static void binding_store(struct apiserver *s, struct arena *a, const struct line *l, size_t number)
{
    struct json *binding = json_new(a, JSON_OBJECT), *ref = json_ensure_object(a, binding, "roleRef");
    json_set_text(a, ref, "kind", l->words[2]);
    json_set_text(a, ref, "name", l->words[3]);
    struct json *subject = json_new(a, JSON_OBJECT);
    json_set_text(a, subject, "kind", l->words[4]);
    json_set_text(a, subject, "namespace", l->words[5]);
    json_set_text(a, subject, "name", l->words[6]);
    json_append(json_ensure_array(a, binding, "subjects"), subject);
    const char *ns = namespace_of(l);
    store(s, *ns ? "rolebindings" : "clusterrolebindings", ns, arena_printf(a, "b%zu", number), binding);
}

static void world_store(struct apiserver *s, struct arena *a, const struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (is_rule(&w->lines[i]))
            role_store(s, a, w, &w->lines[i]);
        else
            binding_store(s, a, &w->lines[i], i);
    }
}

/* ---- the oracle: the question, in the words of Kubernetes' documents ---- */

struct asked {
    bool resource;
    const char *verb, *group, *resource_name, *subresource, *ns, *name, *path;
};

/* Without what the server takes for nothing: slashes beside slashes and at the end. */
static const char *normal_form(struct arena *a, const char *path)
{
    _cleanup_buf_ struct buf out = {0};
    for (; *path; path++)
        if (*path != '/' || (path[1] && path[1] != '/'))
            buf_char(&out, *path);
    return out.n ? arena_text_n(a, out.data, out.n) : "/";
}

static const char *verb_of(const char *method, const struct asked *q, bool watch)
{
    bool one = *q->name, read = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (read && watch && !*q->subresource)
        return "watch";
    if (read)
        return one ? "get" : "list";
    if (strcmp(method, "DELETE") == 0)
        return one ? "delete" : "deletecollection";
    if (strcmp(method, "POST") == 0)
        return "create";
    if (strcmp(method, "PUT") == 0)
        return "update";
    return strcmp(method, "PATCH") == 0 ? "patch" : "none";
}

static const char *query_first(const struct http_request *r, const char *key)
{
    for (uint32_t i = 0; i < r->query_n; i++)
        if (strcmp(r->query[i].key, key) == 0)
            return r->query[i].value;
    return "";
}

/* One term, "field=value", "field==value" or "field!=value", up to the comma behind it. False: it is none. */
static bool term_read(struct arena *a, const char **at, const char **ret_field, bool *ret_equal, const char **ret_value)
{
    _cleanup_buf_ struct buf value = {0};
    const char *c = *at + strcspn(*at, "=!,");
    *ret_field = arena_text_n(a, *at, (size_t)(c - *at));
    *ret_equal = *c == '=';
    if (!*ret_equal && strncmp(c, "!=", 2) != 0)
        return false;
    for (c += 1 + (c[1] == '='); *c && *c != ','; c++) {
        c += *c == '\\' && c[1];
        buf_char(&value, *c);
    }
    *ret_value = arena_text_n(a, value.data ? value.data : "", value.n);
    *at = c;
    return true;
}

/* The one name that what is selected can have; "": it can have others. */
static const char *name_selected(struct arena *a, const char *selector)
{
    const char *name = NULL, *field, *value;
    bool equal;
    for (const char *c = selector; *c;) {
        if (*c == ',')
            c++;
        else if (!term_read(a, &c, &field, &equal, &value))
            return "";
        else if (!name && equal && strcmp(field, "metadata.name") == 0)
            name = value;
    }
    bool segment = name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/') && !strchr(name, '%');
    return segment ? name : "";
}

static bool watch_asked(const struct http_request *r)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (strcmp(query_first(r, "watch"), yes[i]) == 0)
            return true;
    return false;
}

static bool half_of_namespace(const char *segment)
{
    return strcmp(segment, "status") == 0 || strcmp(segment, "finalize") == 0;
}

static struct asked asked_of(struct arena *a, const struct http_request *r)
{
    const char *path = normal_form(a, r->path), *at[SEGMENTS_MAX];
    struct asked q = {.verb = arena_text_lower(a, r->method), .group = "", .subresource = "", .ns = "", .name = "", .path = path};
    int n = 0, used = 0;
    for (char *save, *rest = arena_text(a, path), *word; n < SEGMENTS_MAX && (word = strtok_r(rest, "/", &save)); rest = NULL)
        at[n++] = word;
    if (n > 12)
        return q;
    if (n >= 3 && strcmp(at[0], "api") == 0)
        used = 2;
    else if (n >= 4 && strcmp(at[0], "apis") == 0)
        used = 3;
    else
        return q;
    const char *group = used == 3 ? at[1] : "", *ns = "";
    if (n - used >= 3 && strcmp(at[used], "namespaces") == 0 && !half_of_namespace(at[used + 2])) {
        ns = at[used + 1];
        used += 2;
    }
    if (n - used > 3 && strcmp(at[used + 2], "proxy") != 0)
        return q;
    q = (struct asked){.resource = true, .group = group, .resource_name = at[used], .ns = ns, .path = path};
    q.name = n - used > 1 ? at[used + 1] : "";
    q.subresource = n - used > 2 ? at[used + 2] : "";
    q.verb = verb_of(r->method, &q, watch_asked(r));
    if (!*group && strcmp(q.resource_name, "namespaces") == 0)
        q.ns = q.name;
    if (!*q.name && (strcmp(q.verb, "list") == 0 || strcmp(q.verb, "watch") == 0))
        q.name = name_selected(a, query_first(r, "fieldSelector"));
    return q;
}

/* ---- the oracle: the rules ---- */

static bool has(struct arena *a, const char *list, const char *text)
{
    JSON_EACH (item, list_of(a, list))
        if (strcmp(json_text(item, ""), text) == 0)
            return true;
    return false;
}

static bool has_or_all(struct arena *a, const char *list, const char *text)
{
    return has(a, list, "*") || has(a, list, text);
}

static bool url_covered(struct arena *a, const char *list, const char *path)
{
    JSON_EACH (item, list_of(a, list)) {
        const char *url = json_text(item, "");
        size_t n = strlen(url);
        if (strcmp(url, path) == 0 || (n && url[n - 1] == '*' && strncmp(url, path, n - 1) == 0))
            return true;
    }
    return false;
}

static bool rule_covers(struct arena *a, const struct line *l, const struct asked *q)
{
    const char *verbs = l->words[3], *groups = l->words[4], *resources = l->words[5], *names = l->words[6], *urls = l->words[7];
    if (!has_or_all(a, verbs, q->verb))
        return false;
    if (!q->resource)
        return url_covered(a, urls, q->path);
    bool sub = *q->subresource;
    const char *whole = sub ? arena_printf(a, "%s/%s", q->resource_name, q->subresource) : q->resource_name;
    bool named = has_or_all(a, resources, whole) || (sub && has(a, resources, arena_printf(a, "*/%s", q->subresource)));
    return named && has_or_all(a, groups, q->group) && (!*names || has(a, names, q->name));
}

static bool in_group(const struct world *w, const char *group)
{
    for (size_t i = 0; i < w->groups_n; i++)
        if (strcmp(w->groups[i], group) == 0)
            return true;
    return strcmp(group, "system:authenticated") == 0;
}

#define ACCOUNT "system:serviceaccount:"
static bool bound(struct arena *a, const struct world *w, const struct line *l)
{
    const char *kind = l->words[4], *ns = l->words[5], *name = l->words[6];
    if (strcmp(kind, "User") == 0)
        return strcmp(name, w->user) == 0;
    if (strcmp(kind, "ServiceAccount") == 0)
        return strcmp(arena_printf(a, ACCOUNT "%s:%s", ns, name), w->user) == 0;
    if (strcmp(kind, "Group") != 0)
        return false;
    if (strncmp(w->user, ACCOUNT, strlen(ACCOUNT)) == 0) {
        const char *home = w->user + strlen(ACCOUNT);
        if (strcmp(name, "system:serviceaccounts") == 0 ||
            strcmp(name, arena_printf(a, "system:serviceaccounts:%.*s", (int)strcspn(home, ":"), home)) == 0)
            return true;
    }
    return in_group(w, name);
}

static bool open_to_all(const struct asked *q)
{
    static const char *const open[] = {"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"};
    bool read = strcmp(q->verb, "get") == 0 || strcmp(q->verb, "head") == 0;
    if (q->resource)
        return strcmp(q->verb, "create") == 0 && strncmp(q->resource_name, "selfsubject", 11) == 0 &&
               (strcmp(q->group, "authorization.k8s.io") == 0 || strcmp(q->group, "authentication.k8s.io") == 0);
    for (size_t i = 0; read && i < sizeof open / sizeof *open; i++) {
        size_t n = strlen(open[i]);
        if (strncmp(q->path, open[i], n) == 0 && (!q->path[n] || q->path[n] == '/'))
            return true;
    }
    return false;
}

static bool binding_allows(struct arena *a, const struct world *w, const struct line *binding, const struct asked *q)
{
    bool cluster = strcmp(binding->words[2], "ClusterRole") == 0;
    const char *home = namespace_of(binding), *role_ns = cluster ? "-" : home;
    if (*home && (!q->resource || strcmp(home, q->ns) != 0))
        return false;
    for (size_t i = 0; i < w->n && bound(a, w, binding); i++) {
        const struct line *l = &w->lines[i];
        if (is_rule(l) && strcmp(l->words[1], role_ns) == 0 && strcmp(l->words[2], binding->words[3]) == 0 && rule_covers(a, l, q))
            return true;
    }
    return false;
}

static bool oracle_allows(struct arena *a, const struct world *w, const struct http_request *r)
{
    struct asked q = asked_of(a, r);
    if (in_group(w, "system:masters") || open_to_all(&q))
        return true;
    for (size_t i = 0; i < w->n; i++)
        if (!is_rule(&w->lines[i]) && binding_allows(a, w, &w->lines[i], &q))
            return true;
    return false;
}

/* ---- the target ---- */

static uint32_t query_split(struct arena *a, const char *text, struct http_param *params, uint32_t max)
{
    uint32_t n = 0;
    while (*text && n < max) {
        size_t length = strcspn(text, "&"), key = strcspn(text, "&=");
        params[n].key = arena_text_n(a, text, key);
        params[n++].value = key < length ? arena_text_n(a, text + key + 1, length - key - 1) : "";
        text += length + (text[length] == '&');
    }
    return n;
}

static const char *groups_text(struct arena *a, const struct world *w)
{
    _cleanup_buf_ struct buf out = {0};
    for (size_t i = 0; i < w->groups_n; i++)
        buf_printf(&out, "%s%s", i ? "\n" : "", w->groups[i]);
    return arena_text_n(a, out.data ? out.data : "", out.n);
}

static bool allows(struct apiserver *s, const struct http_request *r, const char *path)
{
    struct http_request request = *r;
    char *exact = strdup(path); /* WHY  on its own: the sanitizer sees a read past the end */
    MUST_HOLD(exact);
    request.path = exact;
    struct requester who;
    struct rbac_question q;
    requester_of(s, &request, &who);
    rbac_question_of(&request, &q);
    bool yes = rbac_allows(s, r->arena, &who, &q);
    free(exact);
    return yes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct apiserver s;
    if (!s.kinds)
        s.kinds = kind_table_new();
    s.config.authenticate = true;
    if (size > 4096)
        return 0;
    struct err e = {0};
    s.loop = loop_new_virtual(0); /* of this run: what a store asked of it stays there */
    MUST_HOLD(store_open(s.loop, NULL, &s.store, &e) == 0);
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes rest = {(const char *)data, size};
    const char *first = line_take(a, &rest);
    size_t method_n = strcspn(first, " "), path_n = first[method_n] ? strcspn(first + method_n + 1, "?") : 0;
    const char *target = first + method_n + (first[method_n] == ' ');
    struct http_param query[8];
    struct http_request r = {.method = arena_text_n(a, first, method_n), .query = query, .arena = a};
    struct world w = {0};
    r.path = arena_printf(a, "%s%.*s", *target == '/' ? "" : "/", (int)path_n, target);
    r.query_n = query_split(a, target[path_n] ? target + path_n + 1 : "", query, 8);
    world_read(a, rest, &w);
    r.user = w.user;
    r.groups = groups_text(a, &w);
    world_store(&s, a, &w);
    bool yes = allows(&s, &r, r.path);
    MUST_HOLD(yes == oracle_allows(a, &w, &r));
    MUST_HOLD(yes == allows(&s, &r, normal_form(a, r.path)));
    store_close(s.store);
    loop_free(s.loop);
    return 0;
}
