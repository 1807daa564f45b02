/* forecast.c - see forecast.h */
#include "cli/drive/forecast.h"
#include "base/clock.h"
#include "cli/lookup/start_text.h"
#include "cli/lookup/why_until.h"

enum { TIMEOUT_MS = 20000 };

/* A few of the lists that the scheduler cannot do without: who may not read one of these gets no forecast. NULL: all may be read. */
static const char *unreadable(struct connection *c, struct arena *a)
{
    static const char *const paths[] = {"/api/v1/nodes?limit=1", "/api/v1/pods?limit=1", "/api/v1/namespaces?limit=1",
                                        "/apis/kueue.x-k8s.io/v1beta2/workloads?limit=1",
                                        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?limit=1"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct err e = {0};
        (void)connection_get(c, a, paths[i], &e);
        if (e.code && e.code != E_NOTFOUND)
            return arena_text(a, e.text);
    }
    return NULL;
}

static void waits_text(struct arena *a, const struct preview *p, struct buf *out)
{
    bool never = p->verdict == PREVIEW_NEVER;
    const struct json *reason = p->reason, *remedies = json_get(reason, "remedies");
    buf_printf(out, "%s: %s\n", never ? "could not start as things are" : "would wait", json_get_text(reason, "message", p->message));
    if (json_get(reason, "impossible"))
        buf_printf(out, "would help: %s\n", json_get_text(reason, "impossible", ""));
    if (p->position > 0)
        buf_printf(out, "behind: %d other%s in its queue\n", (int)p->position, p->position == 1 ? "" : "s");
    if (p->start_ms)
        buf_printf(out, "starts: %s\n", start_text(a, p->start_ms, p->start_basis, clock_wall_us() / 1000));
    const char *lead = "would help: ";
    JSON_EACH (remedy, remedies) {
        buf_printf(out, "%s%s\n", lead, json_get_text(remedy, "message", "?"));
        lead = "        or: ";
    }
}

struct forecast forecast_make(struct connection *c, struct arena *a, const struct json *objects)
{
    struct preview p = {.verdict = PREVIEW_UNKNOWN};
    struct err e = {0};
    _cleanup_buf_ struct buf out = {0};
    const char *denied = unreadable(c, a);
    if (!denied && preview_run(c->loop, c->client, NULL, NULL, objects, TIMEOUT_MS, a, &p, &e) < 0)
        denied = e.text;
    struct json *reason = p.reason ? json_clone(a, p.reason) : NULL;
    why_until(c, a, json_get(reason, "remedies"));
    p.reason = reason;
    switch (p.verdict) {
    case PREVIEW_STARTS:
        buf_text(&out, "would start now\n");
        break;
    case PREVIEW_CHECKED:
        buf_text(&out, "would get its quota now, and start when the admission checks of its queue are ready\n");
        break;
    case PREVIEW_WAITS:
    case PREVIEW_NEVER:
        waits_text(a, &p, &out);
        break;
    case PREVIEW_UNKNOWN:
        buf_printf(&out, "not known whether it would start now: %s\n", denied ? denied : "it was not decided");
        break;
    }
    const char *unknown = p.verdict == PREVIEW_UNKNOWN ? arena_text(a, denied ? denied : "it was not decided") : NULL;
    return (struct forecast){.verdict = p.verdict, .text = arena_text_n(a, out.data, out.n), .preview = p, .unknown = unknown};
}
