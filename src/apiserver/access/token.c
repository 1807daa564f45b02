/* token.c - see token.h
 *
 * SHAPE  in the store, under a kind that no API has: name = SHA-256 of the token, body = {"user", "uid", "expires", "audiences", "bound"}.
 *        uid is that of the service account: one made anew under the same name is another. bound: token_bound.h.
 */
#include "apiserver/access/token.h"

#include <gnutls/crypto.h>
#include <stdio.h>

#include "apiserver/access/token_bound.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/clock.h"

#define EXPIRATION_DEFAULT_S 3600
#define EXPIRATION_MIN_S 600
#define EXPIRATION_MAX_S (1ll << 32)
#define HASH_BYTES 32
#define HASH_TEXT (2 * HASH_BYTES + 1)

static const char account_prefix[] = "system:serviceaccount:";

static void token_hash(const char *token, char out[HASH_TEXT])
{
    unsigned char digest[HASH_BYTES];
    (void)gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), digest); /* cannot fail for a known digest */
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static uint32_t token_kind(struct apiserver *s)
{
    return store_kind(s->store, "", "(tokens)"); /* no definition can have this name */
}

void apiserver_add_token(struct apiserver *s, const char *token, const char *user)
{
    char hash[HASH_TEXT];
    token_hash(token, hash);
    char **owner = map_put(s->given_tokens, bytes_of(hash), NULL);
    free(*owner);
    *owner = mem_text(user);
}

static void token_remove(struct apiserver *s, const char *hash)
{
    const struct store_object *o = store_get(s->store, token_kind(s), "", hash);
    struct blob *last = o ? blob_ref(o->body) : NULL;
    if (last)
        (void)store_delete(s->store, token_kind(s), "", hash, 0, store_next_rv(s->store), last, NULL); /* it is there */
    blob_unref(last);
}

/* Make room for one more of user: expired ones go, then the user's own oldest. False: others have all the room. */
static bool tokens_trim(struct apiserver *s, struct arena *a, const char *user)
{
    const char *oldest = NULL;
    uint64_t oldest_rv = UINT64_MAX;
    size_t own_n = 0;
    struct store_cursor *c = store_list(s->store, token_kind(s), NULL, NULL);
    for (const struct store_object *o; (o = store_list_next(c));) {
        const struct json *body = json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL);
        const char *hash = arena_text(a, o->name);
        bool own = strcmp(json_get_text(body, "user", ""), user) == 0;
        own_n += own;
        if (own && o->rv < oldest_rv) {
            oldest_rv = o->rv;
            oldest = hash;
        }
        if (json_get_int64(body, "expires", 0) <= loop_wall_ms(s->loop)) {
            own_n -= own;
            if (own && oldest == hash) {
                oldest = NULL;
                oldest_rv = UINT64_MAX;
            }
            token_remove(s, hash);
        }
    }
    store_list_free(c);
    if (own_n >= TOKENS_PER_USER && oldest)
        token_remove(s, oldest);
    return store_count(s->store, token_kind(s)) < TOKENS_MAX;
}

/* uid of a service account by its user name; "" for other users, NULL when it does not exist. */
static const char *account_uid(struct apiserver *s, struct arena *a, const char *user)
{
    if (!text_starts(user, account_prefix))
        return "";
    const char *ns = user + strlen(account_prefix), *colon = strchr(ns, ':');
    if (!colon)
        return NULL;
    const struct json *account =
        object_read_plural(s, a, "", "serviceaccounts", arena_text_n(a, ns, (size_t)(colon - ns)), colon + 1);
    return account ? json_text(json_path(account, "metadata", "uid", NULL), "") : NULL;
}

const char *token_issue(struct apiserver *s, struct arena *a, const char *user, const struct json *audiences, const struct json *bound,
                        int64_t expires_ms)
{
    char text[80], hash[HASH_TEXT];
    const char *uid = account_uid(s, a, user);
    if (!uid || !tokens_trim(s, a, user))
        return NULL;
    /* WHY not s->random: that one is seeded for repeatable simulations; tokens must not be guessed. */
    snprintf(text, sizeof text, "capstan-%016llx%016llx%016llx%016llx", (unsigned long long)random_seed_from_system(),
             (unsigned long long)random_seed_from_system(), (unsigned long long)random_seed_from_system(),
             (unsigned long long)random_seed_from_system());
    struct json *body = json_new(a, JSON_OBJECT);
    json_set_text(a, body, "user", user);
    json_set_text(a, body, "uid", uid);
    json_set_int64(a, body, "expires", expires_ms);
    json_set(a, body, "audiences", json_copy(a, audiences));
    if (bound)
        json_set(a, body, "bound", json_copy(a, bound));
    struct blob *blob = object_text(s, body);
    token_hash(text, hash);
    int r = store_create(s->store, token_kind(s), "", hash, store_next_rv(s->store), blob, NULL);
    blob_unref(blob);
    s->tokens_n++;
    return r == 0 ? arena_text(a, text) : NULL;
}

static bool audience_in(const struct json *audiences, const char *audience)
{
    JSON_EACH (item, audiences)
        if (strcmp(json_text(item, ""), audience) == 0)
            return true;
    return false;
}

/* What of `asked` the token is for. */
static struct json *audiences_common(struct arena *a, const struct json *asked, const struct json *audiences)
{
    struct json *common = json_new(a, JSON_ARRAY);
    JSON_EACH (item, asked)
        if (audience_in(audiences, json_text(item, "")))
            json_append(common, json_new_text(a, json_text(item, "")));
    return common;
}

struct json *token_audiences(struct arena *a, const struct json *asked)
{
    struct json *audiences = json_is(asked, JSON_ARRAY) ? json_copy(a, asked) : json_new(a, JSON_ARRAY);
    if (audiences->n == 0)
        json_append(audiences, json_new_text(a, TOKEN_AUDIENCE));
    return audiences;
}

const char *token_user(struct apiserver *s, struct arena *a, const char *token, const struct json *asked, struct json **ret_common)
{
    char hash[HASH_TEXT];
    token_hash(token, hash);
    char **named = map_find_text(s->given_tokens, hash);
    const struct store_object *o = named ? NULL : store_get(s->store, token_kind(s), "", hash);
    const struct json *wanted = token_audiences(a, asked);
    if (named) {
        *ret_common = audiences_common(a, wanted, token_audiences(a, NULL));
        return (*ret_common)->n ? *named : NULL;
    }
    const struct json *body = o ? json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL) : NULL;
    const char *user = json_get_text(body, "user", NULL), *uid = user ? account_uid(s, a, user) : NULL;
    if (!uid || strcmp(uid, json_get_text(body, "uid", "")) != 0 || json_get_int64(body, "expires", 0) <= loop_wall_ms(s->loop) ||
        !token_bound_holds(s, a, json_get(body, "bound")))
        return NULL;
    *ret_common = audiences_common(a, wanted, json_get(body, "audiences"));
    return (*ret_common)->n ? user : NULL;
}

const struct json *token_facts(struct apiserver *s, struct arena *a, const char *token)
{
    char hash[HASH_TEXT];
    token_hash(token, hash);
    const struct store_object *o = store_get(s->store, token_kind(s), "", hash);
    if (!o)
        return NULL;
    const struct json *body = json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL);
    struct json *facts = json_new(a, JSON_OBJECT), *extra = token_bound_extra(a, json_get(body, "bound"));
    json_set_text(a, facts, "uid", json_get_text(body, "uid", ""));
    if (extra->n)
        json_set(a, facts, "extra", extra);
    return facts;
}

void token_clear(struct map *tokens)
{
    size_t at = 0;
    struct bytes key;
    char **owner;
    while ((owner = map_next(tokens, &at, &key)))
        free(*owner);
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
    if (!body_read(x, ri, NULL, &request))
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
    struct json *bound = NULL;
    if (!token_bind(x, ri, json_get(spec, "boundObjectRef"), &bound))
        return;
    char text[TIME_TEXT_MAX];
    int64_t expires_ms = loop_wall_ms(s->loop) + seconds * 1000;
    json_set_text(a, request, "kind", "TokenRequest");
    json_set_text(a, request, "apiVersion", "authentication.k8s.io/v1");
    struct json *metadata = json_ensure_object(a, request, "metadata");
    json_set_text(a, metadata, "name", ri->name);
    json_set_text(a, metadata, "namespace", ri->ns);
    json_set_int64(a, spec, "expirationSeconds", seconds);
    json_set(a, spec, "audiences", token_audiences(a, json_get(spec, "audiences")));
    struct json *status = json_new(a, JSON_OBJECT);
    const char *user = arena_printf(a, "system:serviceaccount:%s:%s", ri->ns, ri->name);
    const char *token = ri->dry_run ? "" : token_issue(s, a, user, json_get(spec, "audiences"), bound, expires_ms);
    if (!token) {
        status_reply(x, 429, "TooManyRequests", ri, NULL,
                     "%d tokens are in use: ask for shorter ones, or wait until some have expired", TOKENS_MAX);
        return;
    }
    json_set_text(a, status, "token", token);
    json_set_text(a, status, "expirationTimestamp", time_format(text, expires_ms));
    json_set(a, request, "status", status);
    struct buf out = {0};
    json_write(&out, request);
    reply_durable(s, x, 201, "application/json", blob_new(out.data, out.n));
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
