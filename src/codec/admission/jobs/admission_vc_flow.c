/* admission_vc_flow.c - JobFlow, JobTemplate and CronJob of Volcano: flows that can come to an end, names that pods can have; see
 * admission_part.h
 *
 * SOURCE Volcano's webhooks: a flow's targets are of the flow, and form no circle; a CronJob's schedule and name. What is wrong in a
 * template is no fault of theirs to Volcano: it is told here, since no Job will come of it.
 */
#include "codec/admission/admission_part.h"

enum { TOLD_MAX = 8 };

static const char *text_of(const struct json *flow, const char *key)
{
    return json_get_text(flow, key, "");
}

static const struct json *flow_named(const struct json *flows, const char *name)
{
    JSON_EACH (flow, flows)
        if (text_equal(text_of(flow, "name"), name))
            return flow;
    return NULL;
}

static void check_targets(struct admission *x, const struct json *flows, const struct json *flow, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (target, json_path(flow, "dependsOn", "targets", NULL)) {
        const char *where = AT(x, "%s.dependsOn.targets[%u]", path, at++);
        if (!flow_named(flows, json_text(target, "")))
            admission_error(x, FIELD_NOT_FOUND, where, target,
                            "jobflow Flow is not DAG: vertex is not defined: write the name of another of spec.flows");
    }
}

/* Of a template, under the name that its Job would have. */
static void warn_of_job(struct admission *x, const char *name, const struct json *spec, const char *path)
{
    struct admission y = *x;
    uint32_t told_n = 0;
    field_errors_init(&y.errors, x->arena);
    y.old = NULL;
    y.warnings_n = 0;
    y.object = json_new(x->arena, JSON_OBJECT);
    json_set_text(x->arena, json_ensure_object(x->arena, y.object, "metadata"), "name", name);
    json_set(x->arena, y.object, "spec", spec ? json_clone(x->arena, spec) : json_new(x->arena, JSON_OBJECT));
    admission_vcjob(&y);
    for (const struct field_error *e = y.errors.first; e && told_n < TOLD_MAX; e = e->next, told_n++) {
        _cleanup_buf_ struct buf text = {0};
        field_error_text(&text, e);
        admission_warn(x, "%s: its Job would be refused: %s", path, text.data);
    }
    for (uint32_t i = 0; i < y.warnings_n; i++)
        admission_warn(x, "%s: of its Job: %s", path, y.warnings[i]);
}

static bool has_changed(const struct admission *x)
{
    return !x->status_only && !(x->old && json_equal(json_get(x->old, "spec"), json_get(x->object, "spec")));
}

/* SOURCE Volcano takes such a list; a flow has one Job of each name. */
static void warn_of_repeats(struct admission *x, const struct json *flows)
{
    uint32_t at = 0;
    JSON_EACH (flow, has_changed(x) ? flows : NULL) {
        if (flow_named(flows, text_of(flow, "name")) != flow)
            admission_warn(x, "spec.flows[%u]: has no effect: an earlier one is called %s, and its Job is made once, as that one says", at,
                           text_of(flow, "name"));
        at++;
    }
}

static void admit_flow(struct admission *x)
{
    const struct json *flows = json_path(x->object, "spec", "flows", NULL);
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    uint32_t at = 0;
    if (admission_list_n(flows) > LIMIT_FLOWS) {
        admission_error(x, FIELD_TOO_LONG, "spec.flows", NULL, "must have at most %d items", LIMIT_FLOWS);
        return;
    }
    if (admission_list_n(flows) && !admission_few_targets(x, flows, "targets", "spec.flows"))
        return;
    JSON_EACH (flow, admission_list_n(flows) ? flows : NULL) {
        const char *path = AT(x, "spec.flows[%u]", at++);
        if (!name_is_dns_subdomain(json_bytes(json_get(flow, "name"))))
            admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), json_get(flow, "name"),
                            "write the name of a JobTemplate: " NAME_DNS_SUBDOMAIN_RULE);
        else if (strlen(name) + strlen(text_of(flow, "name")) + 1 > LIMIT_LABEL)
            admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), json_get(flow, "name"),
                            "its Job would be called %s-%s, which has more than 63 characters: shorten one of the names", name,
                            text_of(flow, "name"));
        check_targets(x, flows, flow, path);
    }
    warn_of_repeats(x, admission_list_n(flows) ? flows : NULL);
    const char *circle = x->errors.n || !admission_list_n(flows) ? "" : admission_circle(x, flows, "targets");
    if (*circle)
        admission_error(x, FIELD_INVALID, "spec.flows", NULL, "jobflow Flow is not DAG: %s wait for each other", circle);
    if (!admission_list_n(flows) && !x->old)
        admission_warn(x, "spec.flows: there are none, and the flow stays Pending: write the names of JobTemplates");
}

void admission_vc_flow(struct admission *x, const struct kind *k)
{
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    if (text_equal(k->plural, "jobflows"))
        admit_flow(x);
    else if (text_equal(k->plural, "jobtemplates") && has_changed(x))
        warn_of_job(x, name, json_get(x->object, "spec"), "spec");
    if (!text_equal(k->plural, "cronjobs"))
        return;
    admission_cron(x);
    if (has_changed(x))
        warn_of_job(x, AT(x, "%s-29453760", name), json_path(x->object, "spec", "jobTemplate", "spec", NULL), "spec.jobTemplate.spec");
}
