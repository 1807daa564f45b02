/* admission_circle.c - tasks of a Volcano Job, or flows of a JobFlow, that wait for each other; see admission_part.h */
#include "codec/admission/admission_part.h"

struct edge {
    uint32_t from, to;
};

static uint32_t edges_of(const struct json *list, const char *targets, struct edge *edges)
{
    uint32_t n = 0, at = 0;
    JSON_EACH (item, list) {
        JSON_EACH (target, json_path(item, "dependsOn", targets, NULL)) {
            uint32_t other = 0;
            JSON_EACH (o, list) {
                if (n < LIMIT_FLOW_TARGETS && text_equal(json_get_text(o, "name", ""), json_text(target, "")))
                    edges[n++] = (struct edge){at, other};
                other++;
            }
        }
        at++;
    }
    return n;
}

/* Takes away, again and again, whoever waits for none that is left: what stays are circles, and those behind them. */
const char *admission_circle(struct admission *x, const struct json *list, const char *targets)
{
    struct edge *edges = arena_alloc(x->arena, LIMIT_FLOW_TARGETS * sizeof *edges);
    uint32_t edges_n = edges_of(list, targets, edges), at = 0;
    bool *done = arena_zero(x->arena, list->n + 1, sizeof *done), *waits = arena_alloc(x->arena, (list->n + 1) * sizeof *waits);
    for (bool more = true; more;) {
        more = false;
        memset(waits, 0, (list->n + 1) * sizeof *waits);
        for (uint32_t i = 0; i < edges_n; i++)
            waits[edges[i].from] |= !done[edges[i].to];
        for (uint32_t i = 0; i < list->n; i++) {
            more |= !waits[i] && !done[i];
            done[i] |= !waits[i];
        }
    }
    const char *names = "";
    JSON_EACH (item, list)
        if (!done[at++])
            names = AT(x, "%s%s%s", names, *names ? ", " : "", json_get_text(item, "name", ""));
    return names;
}

bool admission_few_targets(struct admission *x, const struct json *list, const char *targets, const char *path)
{
    uint32_t n = 0;
    JSON_EACH (item, list)
        n += admission_list_n(json_path(item, "dependsOn", targets, NULL));
    if (n > LIMIT_FLOW_TARGETS)
        admission_error(x, FIELD_TOO_LONG, path, NULL, "%u names in dependsOn, at most %d together", n, LIMIT_FLOW_TARGETS);
    return n <= LIMIT_FLOW_TARGETS;
}
