/* token.h - bearer tokens: random, kept in memory, good for a while; and who a user is
 *
 * WHY random and not signed: one process issues and checks them, so a lookup is the whole check. Tokens end with the
 * process. LIMIT TOKENS_MAX; the oldest goes first.
 */
#ifndef APISERVER_TOKEN_H
#define APISERVER_TOKEN_H
#include "apiserver/internal.h"

#define TOKENS_MAX 4096
struct token_owner {
    char *user;
    int64_t expires_ms; /* INT64_MAX = never */
};
/* A new token of user. Returns it in the arena. */
const char *token_issue(struct apiserver *s, struct arena *a, const char *user, int64_t expires_ms);
/* The token's user, or NULL: unknown or expired. */
const char *token_user(struct apiserver *s, const char *token);
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
