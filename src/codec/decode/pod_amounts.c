#include "codec/decode/pod_amounts.h"

static void container_amounts(struct amounts *out, const struct json *container, const char *key)
{
    amounts_read(out, json_path(container, "resources", key, NULL));
}

/* Init containers run one after the other, each beside the sidecars that were started before it. */
static void init_amounts(struct amounts *most, struct amounts *sidecars, const struct json *list, const char *key)
{
    JSON_EACH (container, list) {
        struct amounts here;
        amounts_init(&here, most->arena);
        if (text_equal(json_get_text(container, "restartPolicy", ""), "Always")) {
            container_amounts(sidecars, container, key);
        } else {
            container_amounts(&here, container, key);
        }
        amounts_add_all(&here, sidecars);
        amounts_raise(most, &here);
    }
}

void pod_amounts(struct amounts *out, const struct json *pod_spec, const char *key)
{
    struct amounts most, level, overhead;
    amounts_init(&most, out->arena);
    amounts_init(&level, out->arena);
    amounts_init(&overhead, out->arena);
    struct amounts sidecars;
    amounts_init(&sidecars, out->arena);
    JSON_EACH (container, json_get(pod_spec, "containers"))
        container_amounts(out, container, key);
    init_amounts(&most, &sidecars, json_get(pod_spec, "initContainers"), key);
    amounts_add_all(out, &sidecars);
    amounts_raise(out, &most);
    container_amounts(&level, pod_spec, key);
    for (uint32_t i = 0; i < level.n; i++)
        amounts_set(out, level.rows[i].name, level.rows[i].q);
    amounts_read(&overhead, json_get(pod_spec, "overhead"));
    for (uint32_t i = 0; i < overhead.n; i++) /* a resource without a limit stays without one */
        if (text_equal(key, "requests") || amounts_find(out, overhead.rows[i].name))
            amounts_add(out, overhead.rows[i].name, overhead.rows[i].q);
}
