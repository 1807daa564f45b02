#include "codec/decode/pod_qos.h"
#include "base/quantity.h"

/* 0 when it is not said or cannot be read. */
static __int128 amount_of(const struct json *amounts, const char *resource)
{
    const struct json *v = json_get(amounts, resource);
    struct quantity q;
    return v && quantity_parse(json_bytes(v), &q, NULL) == 0 ? q.nano : 0;
}

struct qos {
    bool asks, guaranteed;
};

static void add(struct qos *x, const struct json *containers)
{
    static const char *const counted[] = {"cpu", "memory"};
    JSON_EACH (container, json_is(containers, JSON_ARRAY) ? containers : NULL) {
        const struct json *resources = json_get(container, "resources");
        for (int i = 0; i < 2; i++) {
            __int128 limit = amount_of(json_get(resources, "limits"), counted[i]);
            __int128 request = amount_of(json_get(resources, "requests"), counted[i]);
            if (!json_get(json_get(resources, "requests"), counted[i]))
                request = limit; /* what the server fills in */
            x->asks |= limit > 0 || request > 0;
            x->guaranteed &= limit > 0 && request == limit;
        }
    }
}

const char *pod_qos(const struct json *spec)
{
    struct qos x = {.guaranteed = true};
    add(&x, json_get(spec, "containers"));
    add(&x, json_get(spec, "initContainers"));
    return !x.asks ? "BestEffort" : x.guaranteed ? "Guaranteed" : "Burstable";
}
