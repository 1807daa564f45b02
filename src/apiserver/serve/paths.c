#include "apiserver/serve/paths.h"

#include "apiserver/serve/discovery.h"
#include "apiserver/serve/documents.h"
#include "apiserver/serve/metrics.h"
#include "apiserver/serve/openapi.h"

static void version_reply(struct http_exchange *x)
{
    http_reply_text(x, 200, "application/json",
                    "{\"major\":\"1\",\"minor\":\"32\",\"gitVersion\":\"v1.32.0+capstan\",\"gitCommit\":\"" CAPSTAN_VERSION
                    "\",\"gitTreeState\":\"clean\",\"buildDate\":\"2026-01-01T00:00:00Z\",\"goVersion\":\"none\",\"compiler\":\"cc\","
                    "\"platform\":\"linux/amd64\"}\n");
}

/* /healthz, /livez and /readyz, whole or the check "ping" alone. */
static bool is_health(const char *const *segments, int n)
{
    if (n > 2 || (n == 2 && strcmp(segments[1], "ping") != 0))
        return false;
    return strcmp(segments[0], "healthz") == 0 || strcmp(segments[0], "livez") == 0 || strcmp(segments[0], "readyz") == 0;
}

static void paths_make(struct apiserver *s, const char *key, struct buf *out)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    buf_text(out, "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\"");
    for (uint32_t i = 0; i < n; i++)
        if (*versions[i].group)
            buf_printf(out, ",\"/apis/%s/%s\"", versions[i].group, versions[i].version);
    buf_text(out, ",\"/healthz\",\"/livez\",\"/metrics\",\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\"]}");
}

bool paths_handle(struct apiserver *s, struct http_exchange *x)
{
    const char *segments[REQUEST_SEGMENTS_MAX];
    int n = request_path_split(x->request.arena, x->request.path, segments);
    documents_refresh(s);
    if (n < 0)
        return false;
    if (n == 0)
        documents_reply(s, x, "application/json", "/", paths_make);
    else if (n == 1 && strcmp(segments[0], "version") == 0)
        version_reply(x);
    else if (is_health(segments, n))
        http_reply_text(x, 200, "text/plain; charset=utf-8", "ok");
    else if (n == 1 && strcmp(segments[0], "metrics") == 0)
        metrics_text(s, x);
    else
        return discovery_handle(s, x, segments, n) || openapi_handle(s, x, segments, n);
    return true;
}
