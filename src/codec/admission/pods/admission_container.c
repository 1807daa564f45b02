#include "codec/admission/admission_part.h"
#include "codec/admission/device_limits.h"

/* ---- resources ---- */

static bool is_standard(const char *resource)
{
    return text_equal(resource, "cpu") || text_equal(resource, "memory") || text_equal(resource, "ephemeral-storage") ||
           text_starts(resource, "hugepages-");
}

static void check_amount(struct admission *x, const struct json *amount, const char *path)
{
    struct quantity q;
    if (!admission_quantity(x, amount, path, &q))
        return;
    if (device_is_exclusive(amount->key) && q.nano % 1000000000 != 0)
        admission_error(
            x, FIELD_INVALID, path, amount,
            "must be an integer: a device is given whole; for a part of one ask for a MIG or shared resource");
}

/* `told`: amounts that were judged already; a request that is a copy of its limit is not told of twice. */
static void check_amounts(struct admission *x, const struct json *amounts, const char *path, const struct json *told)
{
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL) {
        const struct json *same = json_get(told, amount->key);
        if (same && json_equal(same, amount))
            continue;
        if (!strchr(amount->key, '/') && !is_standard(amount->key))
            admission_error_text(x, FIELD_INVALID, AT(x, "%s[%s]", path, amount->key),
                                 (struct bytes){amount->key, amount->key_n},
                                 "must be a standard resource for containers (cpu, memory, ephemeral-storage, "
                                 "hugepages-*) or have a domain (nvidia.com/gpu)");
        else if (strchr(amount->key, '/') && !name_is_qualified((struct bytes){amount->key, amount->key_n}))
            admission_error_text(x, FIELD_INVALID, AT(x, "%s[%s]", path, amount->key),
                                 (struct bytes){amount->key, amount->key_n}, NAME_QUALIFIED_RULE);
        check_amount(x, amount, AT(x, "%s[%s]", path, amount->key));
    }
}

static void check_resources(struct admission *x, const struct json *resources, const char *path)
{
    const struct json *requests = json_get(resources, "requests"), *limits = json_get(resources, "limits");
    check_amounts(x, limits, admission_below(x, path, "limits"), NULL);
    check_amounts(x, requests, admission_below(x, path, "requests"), limits);
    JSON_EACH (request, json_is(requests, JSON_OBJECT) ? requests : NULL) {
        const struct json *limit = json_get(limits, request->key);
        struct quantity asked, most;
        const char *at = AT(x, "%s.requests[%s]", path, request->key);
        if (quantity_parse(json_bytes(request), &asked, NULL) < 0)
            continue;
        if (!limit) {
            if (device_is_exclusive(request->key))
                admission_error(x, FIELD_REQUIRED, admission_below(x, path, "limits"), NULL,
                                "Limit must be set for non overcommitable resources: write %s under limits too",
                                request->key);
            continue;
        }
        if (quantity_parse(json_bytes(limit), &most, NULL) < 0)
            continue;
        int order = quantity_compare(asked, most);
        if (device_is_exclusive(request->key) && order != 0)
            admission_error(x, FIELD_INVALID, at, request, "must be equal to %s limit of %s", request->key,
                            json_bytes(limit).data);
        else if (order > 0)
            admission_error(x, FIELD_INVALID, at, request, "must be less than or equal to %s limit of %s", request->key,
                            json_bytes(limit).data);
    }
}

/* Amounts as the API writes them ("1" for 1, "500m" for 0.5), so that equal amounts are equal text. */
static void canonical_amounts(struct admission *x, struct json *amounts)
{
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL) {
        struct quantity q;
        char text[QUANTITY_TEXT_MAX];
        if (quantity_parse(json_bytes(amount), &q, NULL) < 0)
            continue;
        (void)quantity_format(text, q);
        amount->text = arena_text(x->arena, text);
        amount->n = (uint32_t)strlen(text);
        amount->type = JSON_STRING;
    }
}

static void default_resources(struct admission *x, struct json *container)
{
    struct json *resources = json_get(container, "resources");
    struct json *limits = json_get(resources, "limits");
    canonical_amounts(x, limits);
    canonical_amounts(x, json_get(resources, "requests"));
    JSON_EACH (limit, json_is(limits, JSON_OBJECT) ? limits : NULL) {
        struct json *requests = json_ensure_object(x->arena, resources, "requests");
        if (!json_get(requests, limit->key))
            json_set(x->arena, requests, limit->key, json_clone(x->arena, limit));
    }
}

/* Devices under requests alone are refused: the limit that is missing is the same number. */
bool admission_pod_spec_fix(struct admission *x, struct json *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    bool changed = false;
    for (int l = 0; l < 2; l++)
        JSON_EACH (c, admission_list_n(json_get(spec, lists[l])) ? json_get(spec, lists[l]) : NULL) {
            struct json *resources = json_get(c, "resources");
            JSON_EACH (request,
                       json_is(json_get(resources, "requests"), JSON_OBJECT) ? json_get(resources, "requests") : NULL) {
                if (!device_is_exclusive(request->key) || json_get(json_get(resources, "limits"), request->key))
                    continue;
                json_set(x->arena, json_ensure_object(x->arena, resources, "limits"), request->key,
                         json_clone(x->arena, request));
                changed = true;
            }
        }
    return changed;
}

/* ---- defaults ---- */

/* No tag or :latest means that the image may have changed since it was pulled. */
static const char *pull_policy(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *colon = strrchr(slash ? slash : image, ':');
    if (strchr(image, '@'))
        return "IfNotPresent";
    return !colon || text_equal(colon, ":latest") ? "Always" : "IfNotPresent";
}

void admission_container_defaults(struct admission *x, struct json *container, bool host_network)
{
    if (!json_is(container, JSON_OBJECT))
        return;
    admission_default_text(x, container, "imagePullPolicy", pull_policy(json_get_text(container, "image", "")));
    default_resources(x, container);
    JSON_EACH (port,
               host_network && admission_list_n(json_get(container, "ports")) ? json_get(container, "ports") : NULL)
        if (json_get_int64(port, "hostPort", 0) == 0 && json_get_int64(port, "containerPort", 0) > 0)
            json_set_int64(x->arena, port, "hostPort", json_get_int64(port, "containerPort", 0));
}

/* ---- checks ---- */

static void check_port_number(struct admission *x, const struct json *port, const char *path, const char *key,
                              bool required)
{
    const struct json *v = json_get(port, key);
    if (!v && !required)
        return;
    int64_t n = json_int64(v, 0);
    if (!v)
        admission_error(x, FIELD_REQUIRED, admission_below(x, path, key), NULL, "%s", "");
    else if ((n < 1 || n > 65535) && !(n == 0 && !required))
        admission_error(x, FIELD_INVALID, admission_below(x, path, key), v, "must be between 1 and 65535, inclusive");
}

static void check_ports(struct admission *x, const struct json *ports, const char *path, bool host_network)
{
    uint32_t at = 0;
    JSON_EACH (port, admission_list_n(ports) ? ports : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        const struct json *name = json_get(port, "name");
        int64_t host = json_get_int64(port, "hostPort", 0);
        check_port_number(x, port, item, "containerPort", true);
        check_port_number(x, port, item, "hostPort", false);
        if (!admission_absent(name) && !name_is_port(json_bytes(name)))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "name"), name, NAME_PORT_RULE);
        if (host_network && host && host != json_get_int64(port, "containerPort", 0))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "containerPort"), json_get(port, "containerPort"),
                            "must match `hostPort` when `hostNetwork` is true");
    }
    admission_unique(x, ports, path, "name");
}

static void check_env(struct admission *x, const struct json *env, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (v, admission_list_n(env) ? env : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        const struct json *name = json_get(v, "name"), *from = json_get(v, "valueFrom");
        if (admission_absent(name))
            admission_error(x, FIELD_REQUIRED, admission_below(x, item, "name"), NULL, "%s", "");
        else if (!name_is_env(json_bytes(name)))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "name"), name, NAME_ENV_RULE);
        if (from && !admission_absent(json_get(v, "value")))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "valueFrom"), NULL,
                            "may not be specified when `value` is not empty");
        if (json_is(from, JSON_OBJECT) && from->n != 1)
            admission_error(
                x, FIELD_INVALID, admission_below(x, item, "valueFrom"), NULL,
                "must have exactly one of `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
    }
}

static bool volume_exists(const struct json *volumes, struct bytes name)
{
    JSON_EACH (volume, admission_list_n(volumes) ? volumes : NULL)
        if (bytes_equal(json_bytes(json_get(volume, "name")), name))
            return true;
    return false;
}

/* A StatefulSet gives its pods one volume more for each claim template, and a LeaderWorkerSet hands its own to the sets that it makes. */
static bool claim_template_exists(const struct admission *x, struct bytes name)
{
    const struct json *spec = json_get(x->object, "spec"), *below = json_get(spec, "leaderWorkerTemplate");
    JSON_EACH (claim, json_get(below ? below : spec, "volumeClaimTemplates"))
        if (bytes_equal(json_bytes(json_path(claim, "metadata", "name", NULL)), name))
            return true;
    return false;
}

static void check_mounts(struct admission *x, const struct json *mounts, const struct json *spec, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (mount, admission_list_n(mounts) ? mounts : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        const struct json *name = json_get(mount, "name");
        admission_require(x, mount, item, "name", "");
        admission_require(x, mount, item, "mountPath", "");
        if (!admission_absent(name) && !volume_exists(json_get(spec, "volumes"), json_bytes(name)) &&
            !claim_template_exists(x, json_bytes(name)))
            admission_error(x, FIELD_NOT_FOUND, admission_below(x, item, "name"), name, "%s", "");
    }
    admission_unique(x, mounts, path, "mountPath");
}

static void check_container(struct admission *x, const struct json *c, const struct json *spec, const char *path,
                            bool init)
{
    const struct json *name = json_get(c, "name"), *restart = json_get(c, "restartPolicy");
    if (admission_absent(name))
        admission_error(x, FIELD_REQUIRED, admission_below(x, path, "name"), NULL, "%s", "");
    else if (!name_is_dns_label(json_bytes(name)))
        admission_error(x, FIELD_INVALID, admission_below(x, path, "name"), name, NAME_DNS_LABEL_RULE);
    const struct json *image = json_get(c, "image");
    struct bytes image_text = json_bytes(image);
    if (admission_absent(image))
        admission_error(x, FIELD_REQUIRED, admission_below(x, path, "image"), NULL, "%s", "");
    else if (image_text.data[0] == ' ' || image_text.data[image_text.n - 1] == ' ')
        admission_error(x, FIELD_INVALID, admission_below(x, path, "image"), image,
                        "must not have leading or trailing whitespace");
    if (restart && init && !bytes_is(json_bytes(restart), "Always"))
        admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, path, "restartPolicy"), restart,
                        "supported values: \"Always\"");
    if (restart && !init)
        admission_error(x, FIELD_FORBIDDEN, admission_below(x, path, "restartPolicy"), NULL,
                        "may not be set for non-init containers");
    check_resources(x, json_get(c, "resources"), admission_below(x, path, "resources"));
    check_ports(x, json_get(c, "ports"), admission_below(x, path, "ports"), json_get_bool(spec, "hostNetwork", false));
    check_env(x, json_get(c, "env"), admission_below(x, path, "env"));
    check_mounts(x, json_get(c, "volumeMounts"), spec, admission_below(x, path, "volumeMounts"));
}

void admission_containers(struct admission *x, const struct json *spec, const char *path)
{
    const struct json *lists[2] = {json_get(spec, "initContainers"), json_get(spec, "containers")};
    static const char *const names[2] = {"initContainers", "containers"};
    if (admission_list_n(lists[1]) == 0)
        admission_error(x, FIELD_REQUIRED, admission_below(x, path, "containers"), NULL, "%s", "");
    for (int l = 0; l < 2; l++) {
        uint32_t at = 0;
        const char *list = admission_below(x, path, names[l]);
        JSON_EACH (c, admission_list_n(lists[l]) ? lists[l] : NULL)
            check_container(x, c, spec, AT(x, "%s[%u]", list, at++), l == 0);
        admission_unique(x, lists[l], list, "name");
    }
    uint32_t at = 0;
    JSON_EACH (c, admission_list_n(lists[1]) ? lists[1] : NULL) {
        JSON_EACH (init, admission_list_n(lists[0]) ? lists[0] : NULL)
            if (!admission_absent(json_get(c, "name")) &&
                bytes_equal(json_bytes(json_get(c, "name")), json_bytes(json_get(init, "name"))))
                admission_error(x, FIELD_DUPLICATE, AT(x, "%s.containers[%u].name", path, at), json_get(c, "name"),
                                "%s", "");
        at++;
    }
    JSON_EACH (amount, json_is(json_get(spec, "overhead"), JSON_OBJECT) ? json_get(spec, "overhead") : NULL)
        check_amount(x, amount, AT(x, "%s.overhead[%s]", path, amount->key));
    check_resources(x, json_get(spec, "resources"), admission_below(x, path, "resources"));
}
