#include "apiserver/serve/route.h"

#include "apiserver/access/review.h"
#include "apiserver/request/status.h"
#include "apiserver/serve/metrics.h"
#include "apiserver/verbs/subresource.h"
#include "apiserver/verbs/verbs.h"

static void not_found(struct http_exchange *x)
{
    status_reply(x, 404, "NotFound", NULL, NULL, "the server could not find the requested resource");
}

/* False: this path does not take the method. */
static bool verb_find(const struct http_request *r, const struct request_path *p, enum verb *ret_verb)
{
    bool known, named = *p->name != 0;
    *ret_verb = request_verb(r, p, &known);
    if (!known)
        return false;
    if (*ret_verb == VERB_CREATE)
        return *p->subresource || !named;
    return *p->subresource || named || (*ret_verb != VERB_UPDATE && *ret_verb != VERB_PATCH);
}

static const char *options_kind(const struct http_request *r)
{
    if (strcmp(r->method, "POST") == 0)
        return "CreateOptions";
    if (strcmp(r->method, "PATCH") == 0)
        return "PatchOptions";
    return strcmp(r->method, "DELETE") == 0 ? "DeleteOptions" : "UpdateOptions";
}

static bool options_parse(struct http_exchange *x, struct request_info *ri)
{
    const struct http_request *r = &x->request;
    const char *dry = http_query(r, "dryRun");
    if (dry && *dry && strcmp(dry, "All") != 0) {
        status_reply(x, 422, "Invalid", NULL, NULL,
                     "%s.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: \"%.100s\": supported values: \"All\"",
                     options_kind(r), dry);
        return false;
    }
    ri->dry_run = dry && *dry;
    const char *validation = http_query(r, "fieldValidation");
    if (!validation || !*validation || strcmp(validation, "Warn") == 0)
        ri->validation = VALIDATION_WARN;
    else if (strcmp(validation, "Strict") == 0)
        ri->validation = VALIDATION_STRICT;
    else if (strcmp(validation, "Ignore") == 0)
        ri->validation = VALIDATION_IGNORE;
    else {
        status_reply(
            x, 422, "Invalid", ri, NULL,
            "fieldValidation: Unsupported value: \"%.100s\": supported values: \"Ignore\", \"Strict\", \"Warn\"",
            validation);
        return false;
    }
    const char *manager = http_query(r, "fieldManager");
    ri->field_manager_given = manager && *manager;
    if (ri->field_manager_given && strlen(manager) > 128) {
        status_reply(x, 422, "Invalid", ri, NULL, "fieldManager: Too long: may not be more than 128 bytes");
        return false;
    }
    if (!ri->field_manager_given) {
        const char *agent = http_header(r, "user-agent");
        size_t n = agent ? strcspn(agent, "/ ") : 0;
        manager = n ? arena_text_n(r->arena, agent, n > 128 ? 128 : n) : "unknown";
    }
    ri->field_manager = manager;
    return true;
}

static bool kind_resolve(struct http_exchange *x, struct request_info *ri, bool in_namespace)
{
    struct apiserver *s = ri->server;
    const char *plural = ri->plural;
    if (!*ri->group && strcmp(plural, "bindings") == 0 && !*ri->name) {
        plural = "pods"; /* POST bindings names its pod in the body */
        ri->subresource = "binding";
    }
    ri->kind = kind_find(s->kinds, ri->group, plural);
    ri->kind_version = ri->kind ? kind_version_find(ri->kind, ri->version) : NULL;
    if (!ri->kind_version || !ri->kind_version->served || (in_namespace && !(ri->kind->flags & KIND_NAMESPACED))) {
        not_found(x);
        return false;
    }
    ri->plural = ri->kind->plural;
    ri->kind_id = store_kind(s->store, kind_stored(ri->kind)->group, ri->plural);
    return true;
}

/* Kinds that are computed. */
static void usage_or_nothing(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    if (ri->verb == VERB_GET || ri->verb == VERB_LIST)
        metrics_handle(s, x, ri);
    else
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "%s are measured, not written", ri->plural);
}

static void dispatch(struct http_exchange *x, struct request_info *ri)
{
    if (ri->kind->flags & KIND_PARENT) {
        if (*ri->subresource && (*ri->ns != 0) == ((ri->kind->flags & KIND_NAMESPACED) != 0))
            subresource_handle(ri->server, x, ri);
        else
            status_reply_method(x, ri);
        return;
    }
    if (ri->kind->flags & KIND_READ_ONLY) {
        usage_or_nothing(ri->server, x, ri);
        return;
    }
    if (ri->kind->flags & KIND_REVIEW) {
        review_handle(ri->server, x, ri);
        return;
    }
    if ((ri->kind->flags & KIND_NAMESPACED) && !*ri->ns && (*ri->name || ri->verb == VERB_DELETE_COLLECTION)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "%s is namespaced: use the path .../namespaces/NAMESPACE/%s%s",
                     ri->plural, ri->plural, *ri->name ? "/NAME" : "");
        return;
    }
    if (*ri->subresource) {
        subresource_handle(ri->server, x, ri);
        return;
    }
    switch (ri->verb) {
    case VERB_GET:
        get_handle(x, ri);
        break;
    case VERB_LIST:
        list_handle(x, ri);
        break;
    case VERB_WATCH:
        watch_handle(x, ri);
        break;
    case VERB_CREATE:
        create_handle(x, ri);
        break;
    case VERB_UPDATE:
        update_handle(x, ri);
        break;
    case VERB_PATCH:
        patch_handle(x, ri);
        break;
    case VERB_DELETE:
        delete_handle(x, ri);
        break;
    case VERB_DELETE_COLLECTION:
        delete_collection_handle(x, ri);
        break;
    }
}

void route_handle(struct apiserver *s, struct http_exchange *x)
{
    struct request_path p;
    struct request_info *ri = arena_zero(x->request.arena, 1, sizeof *ri);
    if (!request_path_parse(x->request.arena, x->request.path, &p)) {
        not_found(x);
        return;
    }
    *ri = (struct request_info){.server = s,
                                .group = p.group,
                                .version = p.version,
                                .plural = p.plural,
                                .ns = p.ns,
                                .name = p.name,
                                .subresource = p.subresource};
    if (!kind_resolve(x, ri, p.in_namespace))
        return;
    if (!verb_find(&x->request, &p, &ri->verb)) {
        status_reply_method(x, ri);
        return;
    }
    if (!options_parse(x, ri))
        return;
    /* Guides still write v1beta1: the hint to move on is for those who compare with Kueue. */
    if (ri->server->config.strict_kueue && ri->kind_version->deprecation_warning && ri->verb != VERB_WATCH)
        status_warn(x, ri->kind_version->deprecation_warning);
    dispatch(x, ri);
}
