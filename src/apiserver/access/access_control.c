/* access_control.c - who may talk to us: names on plain loopback, users in TLS mode, origins where a browser says by itself who asks
 *
 * WHY    a server on 127.0.0.1 is open to every web page in the user's browser: by DNS rebinding (a foreign name that resolves to us:
 *        caught by Host) and by cross-site requests (caught by Origin, which browsers always send with those).
 */
#include "apiserver/access/access_control.h"

#include "apiserver/access/rbac.h"
#include "apiserver/request/status.h"

static bool host_allowed(const struct apiserver *s, const char *authority)
{
    const char *own = s->config.listen_host;
    return http_host_is_loopback(authority) || (own && *own && http_host_is(authority, own));
}

static bool host_check(const struct apiserver *s, struct http_exchange *x)
{
    const char *host = http_header(&x->request, "host");
    if (host && *host && !host_allowed(s, host)) {
        status_reply(x, 403, "Forbidden", NULL, NULL,
                     "requests to the name \"%.200s\" are refused, as a web page could have pointed it at this "
                     "machine: use localhost, 127.0.0.1 "
                     "or [::1], or start the server with --tls to serve other names",
                     host);
        return false;
    }
    return true;
}

/* WHY  a browser sends a client certificate with whatever any page asks for, and lets pages read what WebSockets say; a token comes from
 *      who has it. */
static bool origin_check(struct http_exchange *x)
{
    const char *origin = http_header(&x->request, "origin");
    if (http_origin_is_own(&x->request))
        return true;
    status_reply(
        x, 403, "Forbidden", NULL, NULL,
        "requests from the web page %.200s are refused: only pages of this server itself may call it from a browser",
        origin);
    return false;
}

/* A bearer token names the user; a wrong one is an error even where a client certificate would do. */
static bool token_check(struct apiserver *s, struct http_exchange *x)
{
    const char *authorization = http_header(&x->request, "authorization");
    if (!authorization || strncasecmp(authorization, "bearer ", 7) != 0)
        return true;
    struct json *audiences;
    const char *token = authorization + 7 + strspn(authorization + 7, " ");
    const char *user = token_user(s, x->request.arena, token, NULL, &audiences);
    if (!user)
        return !s->config.authenticate;
    x->request.user = arena_text(x->request.arena, user);
    x->request.groups = NULL;
    return true;
}

static bool is_probe(const char *path)
{
    static const char *const probes[] = {"/healthz", "/livez", "/readyz", "/version"};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        size_t n = strlen(probes[i]);
        if (strncmp(path, probes[i], n) == 0 && (path[n] == 0 || path[n] == '/'))
            return true;
    }
    return false;
}

static bool impersonation_check(struct http_exchange *x)
{
    struct requester who;
    if (!http_header(&x->request, "impersonate-user"))
        return true;
    requester_self(&x->request, &who);
    return requester_in(&who, "system:masters");
}

bool access_check(struct apiserver *s, struct http_exchange *x)
{
    if (s->config.check_host && !host_check(s, x))
        return false;
    if ((s->config.check_host || !http_header(&x->request, "authorization")) && !origin_check(x))
        return false;
    if (!token_check(s, x) ||
        (s->config.authenticate && (!x->request.user || !*x->request.user) && !is_probe(x->request.path))) {
        http_set_header(x, "WWW-Authenticate", "Bearer");
        status_reply(x, 401, "Unauthorized", NULL, NULL,
                     "Unauthorized: send a token of this server or a client certificate of its CA");
        return false;
    }
    if (!s->config.authenticate || is_probe(x->request.path))
        return true;
    if (!impersonation_check(x)) {
        status_reply(x, 403, "Forbidden", NULL, NULL, "user \"%s\" may not impersonate others: only system:masters may",
                     x->request.user);
        return false;
    }
    struct rbac_question q;
    rbac_question_of(&x->request, &q);
    return rbac_require(s, x, &q);
}
