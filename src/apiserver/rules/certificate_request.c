#include "apiserver/rules/certificate_request.h"

#include "apiserver/access/rbac.h"
#include "base/clock.h"

static void asker_put(struct object_write *w)
{
    struct json *spec = json_ensure_object(w->arena, w->object, "spec"), *groups = json_new(w->arena, JSON_ARRAY);
    static const char *const of_server[] = {"system:masters", "system:authenticated", NULL};
    const char *const *given = w->who && w->who->user ? w->who->groups : of_server;
    static const char *const written[] = {"uid", "extra"};
    for (size_t i = 0; i < 2; i++)
        (void)json_remove(spec, written[i]);
    json_set_text(w->arena, spec, "username", w->who && w->who->user ? w->who->user : "system:admin");
    for (; *given; given++)
        json_append(groups, json_new_text(w->arena, *given));
    json_set(w->arena, spec, "groups", groups);
}

/* The verb on the signer itself, or on all that its domain has. */
static bool may(struct object_write *w, const char *verb)
{
    const char *signer = json_text(json_path(w->object, "spec", "signerName", NULL), ""), *slash = strchr(signer, '/');
    if (!w->who || object_write_is_own(w))
        return true;
    struct rbac_question q = {.verb = verb, .group = "certificates.k8s.io", .resource = "signers", .ns = "", .name = signer};
    bool allowed = rbac_allows(w->server, w->arena, w->who, &q);
    q.name = arena_printf(w->arena, "%.*s/*", slash ? (int)(slash - signer) : 0, signer);
    return allowed || rbac_allows(w->server, w->arena, w->who, &q) ||
           object_write_fail(w, 403, "Forbidden", "certificatesigningrequests.certificates.k8s.io \"%s\" is forbidden: user not permitted to %s requests "
                             "with signerName \"%s\"",
                             json_text(json_path(w->object, "metadata", "name", NULL), ""), verb, signer);
}

static bool decides(const struct json *condition)
{
    const char *type = json_get_text(condition, "type", "");
    return strcmp(type, "Approved") == 0 || strcmp(type, "Denied") == 0;
}

/* Conditions that approve or deny are those of `from`, in front. */
static void decisions_keep(struct object_write *w, const struct json *from)
{
    struct json *kept = json_new(w->arena, JSON_ARRAY);
    JSON_EACH (condition, json_path(from, "status", "conditions", NULL))
        if (decides(condition))
            json_append(kept, json_copy(w->arena, condition));
    JSON_EACH (condition, json_path(w->object, "status", "conditions", NULL))
        if (!decides(condition))
            json_append(kept, json_copy(w->arena, condition));
    if (kept->n)
        json_set(w->arena, json_ensure_object(w->arena, w->object, "status"), "conditions", kept);
}

static void times_put(struct object_write *w)
{
    char now[TIME_TEXT_MAX];
    (void)time_format(now, loop_wall_ms(w->server->loop));
    JSON_EACH (condition, json_path(w->object, "status", "conditions", NULL)) {
        static const char *const times[] = {"lastUpdateTime", "lastTransitionTime"};
        for (int i = 0; i < 2; i++)
            if (!json_get(condition, times[i]))
                json_set_text(w->arena, condition, times[i], now);
    }
}

void certificate_request_settle(struct object_write *w)
{
    if (!w->old) {
        asker_put(w);
        return;
    }
    if (!*w->subresource) /* what was asked for stays as it was */
        json_set(w->arena, w->object, "spec", json_copy(w->arena, json_get(w->old, "spec")));
    if (strcmp(w->subresource, "approval") == 0 && may(w, "approve")) {
        const struct json *certificate = json_path(w->old, "status", "certificate", NULL);
        struct json *status = json_ensure_object(w->arena, w->object, "status");
        if (certificate)
            json_set(w->arena, status, "certificate", json_copy(w->arena, certificate));
        else
            (void)json_remove(status, "certificate");
    }
    if (strcmp(w->subresource, "status") == 0 && may(w, "sign"))
        decisions_keep(w, w->old);
    if (*w->subresource)
        times_put(w);
}
