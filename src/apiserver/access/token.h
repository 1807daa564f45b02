/* token.h - bearer tokens: random, good for a while; and who a user is
 *
 * WHY    random and not signed: one process issues and checks them, so a lookup is the whole check. Only their hashes are kept, in the
 *        store: a token outlives a restart, and who reads the file has none.
 * LIMIT  TOKENS_PER_USER, of which the oldest goes; TOKENS_MAX.
 */
#ifndef APISERVER_TOKEN_H
#define APISERVER_TOKEN_H
#include "apiserver/request/request.h"

#define TOKENS_MAX 4096
#define TOKENS_PER_USER 64 /* pods of one account have one each, as a rule; so nobody pushes out the tokens of others */
#define TOKEN_AUDIENCE "https://kubernetes.default.svc" /* this server */

/* A new token of user for these audiences; `bound` (token_bound.h) may be NULL. Returns it in the arena; NULL: there are TOKENS_MAX of
 * others. */
const char *token_issue(struct apiserver *s, struct arena *a, const char *user, const struct json *audiences, const struct json *bound,
                        int64_t expires_ms);
/* Of a good token's user, beyond the name: {"uid", "extra": {"authentication.kubernetes.io/pod-name": [...]}}; NULL: nothing. */
const struct json *token_facts(struct apiserver *s, struct arena *a, const char *token);
/* What a list of audiences means: none is this server. */
struct json *token_audiences(struct arena *a, const struct json *asked);
/* The token's user, or NULL: unknown, expired, of an account that is gone, or for none of the audiences `asked` (NULL: this server).
 * *ret_common: those that it is for. */
const char *token_user(struct apiserver *s, struct arena *a, const char *token, const struct json *asked, struct json **ret_common);
void token_clear(struct map *tokens);
/* POST serviceaccounts/NAME/token. */
void token_request_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);

/* Who asks: the authenticated user, or whom the request impersonates. Groups end with NULL. */
struct requester {
    const char *user;
    const char *groups[18];
};
void requester_self(const struct http_request *r, struct requester *ret_who); /* whoever is impersonated */
void requester_of(struct apiserver *s, const struct http_request *r, struct requester *ret_who);
void requester_named(struct arena *a, const char *user,
                     struct requester *ret_who); /* with the groups that follow from the name */
bool requester_in(const struct requester *who, const char *group);

#endif
