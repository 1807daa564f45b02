#include "apiserver/rules/webhook.h"

void webhook_admit(struct object_write *w)
{
    if (json_get(w->object, "webhooks") && strcmp(w->subresource, "status") != 0)
        object_write_warn(w, "admission webhooks are stored but never called by this server");
}

/* deploy/kueue-rules.yaml by its label, and only for the kinds whose rules are in the program (src/codec/admission). */
static bool says_what_is_known(const struct object_write *w)
{
    const struct json *rules = json_path(w->object, "spec", "matchConstraints", "resourceRules", NULL);
    bool known = text_equal(json_text(json_path(w->object, "metadata", "labels", "capstan.dev/kinds-of", NULL), ""), "kueue");
    JSON_EACH (rule, rules)
        JSON_EACH (group, json_get(rule, "apiGroups"))
            known = known && text_equal(json_text(group, ""), "kueue.x-k8s.io");
    return known;
}

void admission_policy_admit(struct object_write *w)
{
    if (strcmp(w->subresource, "status") != 0 && !says_what_is_known(w))
        object_write_warn(w, "admission policies are stored but not evaluated by this server");
}
