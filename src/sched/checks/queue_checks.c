#include "sched/checks/queue_checks.h"
#include <string.h>
#include "sched/checks/check_list.h"
#include "kube/object.h"

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define PROVISIONING "kueue.x-k8s.io/provisioning-request"

/* Sorted names of checks, by what is to be said of them. */
struct found {
    struct json *missing, *inactive, *multikueue, *of_flavors, *provisioning;
};

static const char *join(struct arena *a, const struct json *names)
{
    const char *text = "";
    JSON_EACH (name, names)
        text = arena_printf(a, "%s%s%s", text, *text ? "," : "", json_text(name, ""));
    return text;
}

static void look(struct arena *a, struct found *f, const struct json *spec, const char *name, const struct json *flavors,
                 const struct json *check)
{
    if (!check) {
        check_list_add(a, &f->missing, name);
        return;
    }
    const char *controller = json_get_text(json_get(check, "spec"), "controllerName", "");
    if (!object_condition_true(check, "Active"))
        check_list_add(a, &f->inactive, name);
    if (strcmp(controller, PROVISIONING) == 0)
        check_list_add(a, &f->provisioning, name);
    if (strcmp(controller, MULTIKUEUE) != 0)
        return;
    check_list_add(a, &f->multikueue, name);
    if (!check_list_all_flavors(flavors, spec))
        check_list_add(a, &f->of_flavors, name);
}

static void wrong(struct arena *a, struct json *list, const char *reason, const char *message)
{
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "reason", reason);
    json_set_text(a, one, "message", message);
    json_append(list, one);
}

struct json *queue_checks_wrong(struct arena *a, const struct json *spec, check_finder *find, void *ctx)
{
    struct json *list = json_new(a, JSON_ARRAY);
    struct found f = {json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY),
                      json_new(a, JSON_ARRAY)};
    JSON_EACH (check, json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL)) {
        const char *name = json_get_text(check, "name", "");
        look(a, &f, spec, name, json_get(check, "onFlavors"), find(ctx, name, a));
    }
    JSON_EACH (check, json_get(spec, "admissionChecks")) /* v1beta1 */
        look(a, &f, spec, json_text(check, ""), NULL, find(ctx, json_text(check, ""), a));
    if (f.missing->n)
        wrong(a, list, "AdmissionCheckNotFound", arena_printf(a, "references missing AdmissionCheck(s): %s", join(a, f.missing)));
    if (f.inactive->n)
        wrong(a, list, "AdmissionCheckInactive", arena_printf(a, "references inactive AdmissionCheck(s): %s", join(a, f.inactive)));
    if (f.multikueue->n > 1)
        wrong(a, list, "MultipleMultiKueueAdmissionChecks",
              arena_printf(a, "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: %s", join(a, f.multikueue)));
    if (f.of_flavors->n)
        wrong(a, list, "MultiKueueAdmissionCheckAppliedPerFlavor",
              arena_printf(a, "Cannot specify MultiKueue AdmissionCheck per flavor, found: %s", join(a, f.of_flavors)));
    if (f.multikueue->n && f.provisioning->n)
        wrong(a, list, "MultiKueueWithProvisioningRequest",
              arena_printf(a, "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: %s, %s",
                           join(a, f.multikueue), join(a, f.provisioning)));
    return list;
}
