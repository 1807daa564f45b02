/* review.c - questions about users: may I, what may I, who am I, whose token is this */
#include "apiserver/access/review.h"

#include "apiserver/access/rbac.h"
#include "apiserver/request/accept.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/tables/object_reply.h"

static struct json *texts_json(struct arena *a, const char *const *texts)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; texts[i]; i++)
        json_append(list, json_new_text(a, texts[i]));
    return list;
}

static struct json *user_json(struct arena *a, const struct requester *who)
{
    struct json *user = json_new(a, JSON_OBJECT);
    json_set_text(a, user, "username", who->user);
    json_set(a, user, "groups", texts_json(a, who->groups));
    return user;
}

static struct json *user_of_token(struct apiserver *s, struct arena *a, const struct requester *who, const char *token)
{
    struct json *user = user_json(a, who);
    const struct json *facts = token_facts(s, a, token);
    JSON_EACH (fact, facts)
        json_set(a, user, fact->key, json_copy(a, fact));
    return user;
}

/* SubjectAccessReview: spec.user and spec.groups are asked about, else the requester himself. */
static void review_subject(struct arena *a, const struct json *spec, struct requester *who)
{
    const char *user = json_get_text(spec, "user", "");
    const struct json *groups = json_get(spec, "groups");
    size_t n = 0;
    requester_named(a, user, who);
    JSON_EACH (group, groups) {
        if (n + 1 < sizeof who->groups / sizeof *who->groups)
            who->groups[n++] = json_text(group, "");
    }
    if (n)
        who->groups[n] = NULL;
}

static void access_review(struct apiserver *s, struct arena *a, const struct requester *who, struct json *review)
{
    const struct json *spec = json_get(review, "spec"), *resource = json_get(spec, "resourceAttributes");
    const struct json *path = json_get(spec, "nonResourceAttributes");
    const char *subresource = json_get_text(resource, "subresource", ""),
               *name = json_get_text(resource, "resource", "");
    struct rbac_question q = {
        .verb = json_get_text(resource ? resource : path, "verb", ""),
        .group = json_get_text(resource, "group", ""),
        .resource = *subresource ? arena_printf(a, "%s/%s", name, subresource) : name,
        .ns = json_get_text(resource, "namespace", ""),
        .name = json_get_text(resource, "name", ""),
        .path = resource ? NULL : request_path_normal(a, json_get_text(path, "path", "/")),
    };
    bool allowed = rbac_allows(s, a, who, &q);
    struct json *status = json_new(a, JSON_OBJECT);
    json_set_bool(a, status, "allowed", allowed);
    json_set_text(a, status, "reason",
                  !s->config.authenticate ? "everybody who can connect to this server is its administrator (no --tls)"
                  : allowed               ? "RBAC: allowed by a role"
                                          : "");
    json_set(a, review, "status", status);
}

static struct json *rule_json(struct arena *a, const char *const *fields, size_t n)
{
    struct json *rule = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < n; i++) {
        struct json *list = json_new(a, JSON_ARRAY);
        json_append(list, json_new_text(a, "*"));
        json_set(a, rule, fields[i], list);
    }
    return rule;
}

struct rules_lists {
    struct arena *arena;
    struct json *resource_rules, *path_rules;
};

static void rule_collect(void *arg, const struct json *rule)
{
    struct rules_lists *lists = arg;
    json_append(json_get(rule, "nonResourceURLs") ? lists->path_rules : lists->resource_rules,
                json_clone(lists->arena, rule));
}

static void rules_review(struct apiserver *s, struct arena *a, const struct requester *who, struct json *review)
{
    static const char *const resource_fields[] = {"verbs", "apiGroups", "resources"}, *const path_fields[] = {
                                                                                          "verbs", "nonResourceURLs"};
    struct rules_lists lists = {a, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY)};
    struct json *status = json_new(a, JSON_OBJECT);
    if (!s->config.authenticate || requester_in(who, "system:masters")) {
        json_append(lists.resource_rules, rule_json(a, resource_fields, 3));
        json_append(lists.path_rules, rule_json(a, path_fields, 2));
    } else {
        rbac_rules_each(s, a, who, json_text(json_path(review, "spec", "namespace", NULL), ""), rule_collect, &lists);
    }
    json_set_bool(a, status, "incomplete", false);
    json_set(a, status, "resourceRules", lists.resource_rules);
    json_set(a, status, "nonResourceRules", lists.path_rules);
    json_set(a, review, "status", status);
}

static void token_review(struct apiserver *s, struct arena *a, struct json *review)
{
    struct json *audiences = NULL;
    const char *user = token_user(s, a, json_text(json_path(review, "spec", "token", NULL), ""),
                                  json_path(review, "spec", "audiences", NULL), &audiences);
    struct json *status = json_new(a, JSON_OBJECT);
    struct requester who;
    json_set_bool(a, status, "authenticated", user != NULL);
    if (user) {
        requester_named(a, user, &who);
        json_set(a, status, "user", user_of_token(s, a, &who, json_text(json_path(review, "spec", "token", NULL), "")));
        json_set(a, status, "audiences", audiences);
    } else {
        json_set_text(a, status, "error", "the token is unknown, has expired, or is for another audience");
    }
    json_set(a, review, "status", status);
}

static void self_review(struct apiserver *s, const struct http_request *r, const struct requester *who, struct json *review)
{
    struct arena *a = r->arena;
    const char *bearer = http_header(r, "authorization");
    bool by_token = bearer && strncasecmp(bearer, "bearer ", 7) == 0 && !http_header(r, "impersonate-user");
    struct json *status = json_new(a, JSON_OBJECT);
    json_set(a, status, "userInfo", by_token ? user_of_token(s, a, who, bearer + 7 + strspn(bearer + 7, " ")) : user_json(a, who));
    json_set(a, review, "status", status);
}

void review_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json *review;
    struct requester who;
    const char *kind = ri->kind->kind;
    if (ri->verb != VERB_CREATE) {
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "%s can only be created: use POST", ri->plural);
        return;
    }
    if (accept_no_plain(&x->request)) {
        status_reply(x, 406, "NotAcceptable", ri, NULL,
                     "only the following media types are accepted: application/json: the answer to a review is no Table");
        return;
    }
    if (!body_read(x, ri, ri->kind, &review))
        return;
    json_ensure_object(a, review, "metadata");
    requester_of(s, &x->request, &who);
    if (strcmp(kind, "SubjectAccessReview") == 0 || strcmp(kind, "LocalSubjectAccessReview") == 0)
        review_subject(a, json_get(review, "spec"), &who);
    if (text_ends(kind, "SubjectAccessReview") || strcmp(kind, "SelfSubjectAccessReview") == 0)
        access_review(s, a, &who, review);
    else if (strcmp(kind, "SelfSubjectRulesReview") == 0)
        rules_review(s, a, &who, review);
    else if (strcmp(kind, "SelfSubjectReview") == 0)
        self_review(s, &x->request, &who, review);
    else if (strcmp(kind, "TokenReview") == 0)
        token_review(s, a, review);
    object_reply(x, ri, 201, review, false);
}
