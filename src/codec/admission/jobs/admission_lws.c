/* admission_lws.c - LeaderWorkerSet: its defaults, what its webhook refuses, and Kueue's of one that is queued; see admission_part.h
 *
 * SOURCE lws v1: its definition and its webhook.
 */
#include "codec/admission/admission_part.h"
#include "codec/kinds/queued_sets.h"

#define BELOW "spec.leaderWorkerTemplate"

static const char *const templates[] = {"leaderTemplate", "workerTemplate"};
enum { TEMPLATES_N = sizeof templates / sizeof *templates };

/* Names of its pods are host names. */
static void check_names(struct admission *x, int64_t replicas, int64_t size)
{
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    const char *last = AT(x, "%s-%lld-%lld", name, (long long)(replicas > 0 ? replicas - 1 : 0), (long long)(size > 0 ? size - 1 : 0));
    if (!name_is_dns1035_label(bytes_of(name)))
        admission_error_text(x, FIELD_INVALID, "metadata.name", bytes_of(name), NAME_DNS1035_RULE);
    else if (strlen(last) > LIMIT_LABEL)
        admission_error(x, FIELD_INVALID, "metadata.name", NULL,
                        "its pods would have the host name %s, which has more than 63 characters: shorten it", last);
}

static void check_size(struct admission *x, const struct json *below, int64_t replicas, int64_t size)
{
    if (size > LIMIT_GANG_MEMBERS)
        admission_error(x, FIELD_INVALID, BELOW ".size", json_get(below, "size"), "at most %d pods are one gang: write more, smaller groups",
                        LIMIT_GANG_MEMBERS);
    else if (replicas > 0 && size > INT32_MAX / replicas)
        admission_error(x, FIELD_INVALID, "spec.replicas", json_path(x->object, "spec", "replicas", NULL),
                        "the product of replicas and worker replicas must not exceed %d", INT32_MAX);
}

static void check_sub_groups(struct admission *x, const struct json *below, int64_t size)
{
    const struct json *policy = json_get(below, "subGroupPolicy"), *value = json_get(policy, "subGroupSize");
    int64_t n = json_int64(value, 0);
    const char *path = BELOW ".subGroupPolicy.subGroupSize";
    if (!json_is(policy, JSON_OBJECT))
        return;
    if (n < 1)
        admission_error(x, FIELD_INVALID, path, value, "subGroupSize must be equal or greater than 1");
    else if (n > size)
        admission_error(x, FIELD_INVALID, path, value, "subGroupSize cannot be larger than size");
    else if (size % n && (size - 1) % n)
        admission_error(x, FIELD_INVALID, path, value, "size or size - 1 must be divisible by subGroupSize");
    else if (text_equal(json_get_text(policy, "subGroupPolicyType", ""), "LeaderExcluded") && (size - 1) % n)
        admission_error(x, FIELD_INVALID, path, value, "size-1 must be divisible by subGroupSize when using LeaderExcluded");
    admission_immutable(x, BELOW, "subGroupPolicy");
}

/* "n" or "n%"; -1: neither. */
static int64_t share_of(const struct json *value, int64_t replicas, bool up)
{
    int64_t n;
    struct bytes text = json_bytes(value);
    bool percent = json_is(value, JSON_STRING) && text.n > 1 && text.data[text.n - 1] == '%';
    if (!percent && !json_is(value, JSON_NUMBER))
        return -1;
    if (!bytes_int64((struct bytes){text.data, text.n - percent}, &n) || n < 0 || (percent && n > 100))
        return -1;
    return percent ? (replicas * n + (up ? 99 : 0)) / 100 : n;
}

static void check_rollout(struct admission *x, const struct json *spec, int64_t replicas)
{
    static const char path[] = "spec.rolloutStrategy.rollingUpdateConfiguration";
    static const char *const keys[] = {"maxUnavailable", "maxSurge"};
    const struct json *rolling = json_path(spec, "rolloutStrategy", "rollingUpdateConfiguration", NULL);
    int64_t all = 0;
    for (int i = 0; i < 2; i++) {
        const struct json *value = json_get(rolling, keys[i]);
        int64_t n = value ? share_of(value, replicas, i == 1) : 1 - i;
        if (n < 0)
            admission_error(x, FIELD_INVALID, AT(x, "%s.%s", path, keys[i]), value, "must be a number of groups, or a part of them of at most 100%%: 1 or 25%%");
        all += n < 0 ? 1 : n;
    }
    if (all == 0 && replicas != 0)
        admission_error(x, FIELD_INVALID, AT(x, "%s.maxUnavailable", path), json_get(rolling, "maxUnavailable"),
                        "must not be 0 when `maxSurge` is 0: write how many groups may be missing, or be there besides, during an update");
}

static void check_annotation(struct admission *x, const struct json *below)
{
    static const char key[] = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
    if (admission_annotation(x->object, key)[0] && !json_get(below, "subGroupPolicy"))
        admission_error_text(x, FIELD_INVALID, AT(x, "metadata.annotations[%s]", key), bytes_of(admission_annotation(x->object, key)),
                             "cannot have subgroup-exclusive-topology without subGroupSize set: write " BELOW ".subGroupPolicy");
}

/* What Kueue's webhook demands of one that is queued. */
static void check_queued(struct admission *x, const struct json *below, int64_t size)
{
    const struct json *was = json_path(x->old, "spec", "leaderWorkerTemplate", NULL);
    admission_set_rules(x);
    for (int i = 0; i < TEMPLATES_N; i++) {
        const struct json *is = json_get(below, templates[i]);
        const char *path = AT(x, BELOW ".%s", templates[i]);
        admission_set_shape(x, json_get(was, templates[i]), is, path);
        if (admission_set_is_queued(x) && is)
            admission_topology_annotations(x, json_path(is, "metadata", "annotations", NULL), AT(x, "%s.metadata.annotations", path),
                                           i == 0 ? 1 : size);
    }
    if (x->old && !x->status_only && admission_set_is_queued(x) && json_get_int64(was, "size", 1) != size) {
        admission_as_webhook(x, true);
        admission_error(x, FIELD_INVALID, BELOW ".size", json_get(below, "size"),
                        IMMUTABLE " of a set that is queued: its groups have quota for their pods. Make a set of another name");
        admission_as_webhook(x, false);
    }
}

void admission_lws(struct admission *x, const struct kind *k)
{
    struct json *spec = json_get(x->object, "spec"), *below = json_get(spec, "leaderWorkerTemplate");
    const struct queued_set *s = &queued_sets[QUEUED_LEADERWORKERSET];
    if (!text_equal(k->plural, s->plural) || !json_is(below, JSON_OBJECT))
        return;
    int64_t replicas = json_get_int64(spec, "replicas", 1), size = json_get_int64(below, "size", 1);
    if (text_equal(json_get_text(below, "restartPolicy", ""), "Default"))
        json_set_text(x->arena, below, "restartPolicy", "None");
    for (int i = 0; i < TEMPLATES_N; i++)
        if (json_is(json_get(below, templates[i]), JSON_OBJECT))
            admission_template(x, json_get(below, templates[i]), AT(x, BELOW ".%s", templates[i]), ADMISSION_TEMPLATE_ALWAYS);
    admission_set_default_queue(x);
    for (int i = 0; i < TEMPLATES_N; i++) {
        struct json *template = json_get(below, templates[i]);
        admission_set_template(x, s, template, true);
        if (admission_set_is_queued(x) && json_is(template, JSON_OBJECT))
            json_set_text(x->arena, json_ensure_object(x->arena, json_ensure_object(x->arena, template, "metadata"), "annotations"),
                          "kueue.x-k8s.io/pod-group-serving", "true");
    }
    if (!x->old)
        check_names(x, replicas, size);
    check_size(x, below, replicas, size);
    check_sub_groups(x, below, size);
    check_rollout(x, spec, replicas);
    check_annotation(x, below);
    check_queued(x, below, size);
}
