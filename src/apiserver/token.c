#include "apiserver/token.h"

#include <stdio.h>

#include "apiserver/view.h"
#include "base/clock.h"

#define EXPIRATION_DEFAULT_S 3600
#define EXPIRATION_MIN_S 600
#define EXPIRATION_MAX_S (1ll << 32)

static const char account_prefix[] = "system:serviceaccount:";

static void token_add(struct map *tokens, const char *token, const char *user, int64_t expires_ms)
{
    if (map_count(tokens) >= TOKENS_MAX) {
        size_t at = 0;
        struct bytes oldest;
        struct token_owner *owner = map_next(tokens, &at, &oldest);
        free(owner->user);
        map_remove(tokens, oldest);
    }
    struct token_owner *owner = map_put(tokens, bytes_of(token), NULL);
    free(owner->user);
    owner->user = mem_text(user);
    owner->expires_ms = expires_ms;
}

void apiserver_add_token(struct apiserver *s, const char *token, const char *user)
{
    struct view *v = s->view;
    token_add(v->tokens, token, user, INT64_MAX);
}

const char *token_issue(struct apiserver *s, struct arena *a, const char *user, int64_t expires_ms)
{
    struct view *v = s->view;
    char text[80];
    /* WHY not s->random: that one is seeded for repeatable simulations; tokens must not be guessed. */
    snprintf(text, sizeof text, "capstan-%016llx%016llx%016llx%016llx", (unsigned long long)random_seed_from_system(),
             (unsigned long long)random_seed_from_system(), (unsigned long long)random_seed_from_system(),
             (unsigned long long)random_seed_from_system());
    token_add(v->tokens, text, user, expires_ms);
    s->tokens_n++;
    return arena_text(a, text);
}

/* False: user is a service account that has been deleted. */
static bool user_exists(struct apiserver *s, const char *user)
{
    if (!text_starts(user, account_prefix))
        return true;
    const char *ns = user + strlen(account_prefix), *colon = strchr(ns, ':');
    if (!colon)
        return false;
    _cleanup_free_ char *ns_copy = mem_text_n(ns, (size_t)(colon - ns));
    return store_get(s->store, store_kind(s->store, "", "serviceaccounts"), ns_copy, colon + 1) != NULL;
}

const char *token_user(struct apiserver *s, const char *token)
{
    struct view *v = s->view;
    struct token_owner *owner = map_find_text(v->tokens, token);
    return owner && owner->expires_ms > loop_wall_ms(s->loop) && user_exists(s, owner->user) ? owner->user : NULL;
}

void token_clear(struct map *tokens)
{
    size_t at = 0;
    struct bytes key;
    struct token_owner *owner;
    while ((owner = map_next(tokens, &at, &key)))
        free(owner->user);
    map_clear(tokens);
}

void token_request_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json *request = NULL;
    const struct json *account = object_read(s, a, ri->kind, ri->ns, ri->name);
    if (ri->verb != VERB_CREATE) {
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "a token can only be created: use POST");
        return;
    }
    if (!account) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (!object_read_body(x, ri, NULL, &request))
        return;
    if (!request)
        request = json_new(a, JSON_OBJECT);
    struct json *spec = json_ensure_object(a, request, "spec");
    int64_t seconds = json_get_int64(spec, "expirationSeconds", EXPIRATION_DEFAULT_S);
    if (seconds < EXPIRATION_MIN_S || seconds > EXPIRATION_MAX_S) {
        status_reply(x, 422, "Invalid", ri, NULL,
                     "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: %lld: "
                     "must be from 600 (10 minutes) to %lld",
                     (long long)seconds, EXPIRATION_MAX_S);
        return;
    }
    char text[TIME_TEXT_MAX];
    int64_t expires_ms = loop_wall_ms(s->loop) + seconds * 1000;
    json_set_text(a, request, "kind", "TokenRequest");
    json_set_text(a, request, "apiVersion", "authentication.k8s.io/v1");
    struct json *metadata = json_ensure_object(a, request, "metadata");
    json_set_text(a, metadata, "name", ri->name);
    json_set_text(a, metadata, "namespace", ri->ns);
    json_set_int64(a, spec, "expirationSeconds", seconds);
    struct json *status = json_new(a, JSON_OBJECT);
    const char *user = arena_printf(a, "system:serviceaccount:%s:%s", ri->ns, ri->name);
    json_set_text(a, status, "token", ri->dry_run ? "" : token_issue(s, a, user, expires_ms));
    json_set_text(a, status, "expirationTimestamp", time_format(text, expires_ms));
    json_set(a, request, "status", status);
    struct buf out = {0};
    json_write(&out, request);
    http_reply(x, 201, "application/json", blob_new(out.data, out.n));
    buf_free(&out);
}

/* ---- who asks ---- */

void requester_named(struct arena *a, const char *user, struct requester *ret_who)
{
    size_t n = 0;
    *ret_who = (struct requester){.user = user};
    if (text_starts(user, account_prefix)) {
        const char *ns = user + strlen(account_prefix);
        ret_who->groups[n++] = "system:serviceaccounts";
        ret_who->groups[n++] = arena_printf(a, "system:serviceaccounts:%.*s", (int)strcspn(ns, ":"), ns);
    }
    ret_who->groups[n++] = "system:authenticated";
}

/* WHY no user is the administrator: requests without one come this far on plain loopback only. */
void requester_self(const struct http_request *r, struct requester *ret_who)
{
    bool named = r->user && *r->user;
    size_t n = 0, max = sizeof ret_who->groups / sizeof *ret_who->groups - 2;
    requester_named(r->arena, named ? r->user : "system:admin", ret_who);
    while (ret_who->groups[n + 1])
        n++;
    if (!named)
        ret_who->groups[n++] = "system:masters";
    for (const char *at = r->groups; at && *at && n < max; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        ret_who->groups[n++] = arena_text_n(r->arena, at, length);
        at += length;
    }
    ret_who->groups[n++] = "system:authenticated";
    ret_who->groups[n] = NULL;
}

void requester_of(struct apiserver *s, const struct http_request *r, struct requester *ret_who)
{
    const char *other = http_header(r, "impersonate-user");
    size_t n = 0, max = sizeof ret_who->groups / sizeof *ret_who->groups - 2;
    if (!other) {
        requester_self(r, ret_who);
        return;
    }
    requester_named(r->arena, other, ret_who);
    for (uint32_t i = 0; i < r->headers_n && n < max; i++)
        if (strcmp(r->headers[i].key, "impersonate-group") == 0)
            ret_who->groups[n++] = r->headers[i].value;
    if (n == 0)
        return;
    ret_who->groups[n++] = "system:authenticated";
    ret_who->groups[n] = NULL;
}

bool requester_in(const struct requester *who, const char *group)
{
    for (size_t i = 0; who->groups[i]; i++)
        if (strcmp(who->groups[i], group) == 0)
            return true;
    return false;
}
