/* share_tree.c - what a codec of shares reads, from a pod or template as a tree */
#include "base/amount.h"
#include "base/quantity.h"
#include "codec/share/share.h"
#include "wire/json.h"

/* What one container asks for: a limit says more than a request. */
struct asked {
    const struct json *limits, *requests;
};

static struct asked asked_of(const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    return (struct asked){json_get(resources, "limits"), json_get(resources, "requests")};
}

static int64_t amount_in(const struct asked *c, const char *resource)
{
    struct quantity q;
    const struct json *limit = json_get(c->limits, resource), *v = limit ? limit : json_get(c->requests, resource);
    return v && quantity_parse(json_bytes(v), &q, NULL) == 0 && quantity_sign(q) > 0 ? quantity_whole(q) : 0;
}

static void amounts_in(const struct json *container, int64_t ret_amounts[SHARE_AMOUNTS_N])
{
    struct asked c = asked_of(container);
    for (int i = 0; i < SHARE_AMOUNTS_N; i++)
        ret_amounts[i] = amount_in(&c, share_amounts[i]);
}

static bool asks(const int64_t amounts[SHARE_AMOUNTS_N])
{
    for (int i = 0; i < AMOUNT_GPU; i++)
        if (amounts[i])
            return true;
    return false;
}

void share_input_of(const struct json *annotations, const struct json *pod_spec, struct share_input *ret_input)
{
    struct share_input in = {.containers_n = 0};
    int64_t amounts[SHARE_AMOUNTS_N];
    for (int i = 0; i < SHARE_NOTES_N; i++)
        in.notes[i] = json_get_text(annotations, share_notes[i], NULL);
    JSON_EACH (container, json_get(pod_spec, "containers")) {
        amounts_in(container, amounts);
        in.containers_n += asks(amounts);
        for (int i = 0; i < SHARE_AMOUNTS_N; i++)
            in.amounts[i] = amount_plus(in.amounts[i], amounts[i]);
    }
    JSON_EACH (container, json_get(pod_spec, "initContainers")) {
        amounts_in(container, amounts);
        in.containers_n += asks(amounts);
        for (int i = 0; i < SHARE_AMOUNTS_N; i++)
            in.amounts[i] = amounts[i] > in.amounts[i] ? amounts[i] : in.amounts[i];
    }
    *ret_input = in;
}

const struct json *share_container_of(struct arena *a, const struct json *pod_spec, const char *resource, const char **ret_path)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (int l = 0; l < 2; l++) {
        uint32_t at = 0;
        JSON_EACH (container, json_get(pod_spec, lists[l])) {
            struct asked c = asked_of(container);
            *ret_path = arena_printf(a, "%s[%u]", lists[l], at++);
            if (amount_in(&c, resource))
                return container;
        }
    }
    *ret_path = "containers[0]";
    return NULL;
}

bool share_of_pod(const struct json *pod, struct share *ret_share)
{
    struct share_input in;
    struct share_fault unused;
    share_input_of(json_path(pod, "metadata", "annotations", NULL), json_get(pod, "spec"), &in);
    return share_read(&in, ret_share, &unused) > 0;
}
