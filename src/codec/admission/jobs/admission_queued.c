/* admission_queued.c - what is demanded of all kinds that are queued the Kueue way (codec/kinds/queued_kinds.h); see admission_part.h */
#include "codec/admission/admission_part.h"

/* SOURCE Kueue: a job that runs stays in its queue. */
void admission_queue_rules(struct admission *x, const struct queued_kind *k)
{
    const char *queue = admission_label(x->object, QUEUE_NAME_LABEL), *path = "metadata.labels[" QUEUE_NAME_LABEL "]";
    if (queue[0] && !name_is_dns_subdomain(bytes_of(queue)))
        admission_error_text(x, FIELD_INVALID, path, bytes_of(queue), NAME_DNS_SUBDOMAIN_RULE);
    if (!x->old)
        return;
    const char *was = admission_label(x->old, QUEUE_NAME_LABEL);
    bool runs = !queued_kind_is_suspended(k, x->old) && !queued_kind_is_suspended(k, x->object);
    if (was[0] && runs && !text_equal(was, queue))
        admission_error_text(x, FIELD_INVALID, path, bytes_of(queue), IMMUTABLE);
}

void admission_managed_by(struct admission *x, const struct queued_kind *k, const char *controller)
{
    static const char multikueue[] = "kueue.x-k8s.io/multikueue";
    const char *is = queued_kind_managed_by(k, x->object), *path = k->policy ? AT(x, "spec.%s.managedBy", k->policy) : "spec.managedBy";
    if (controller && is[0] && !text_equal(is, controller) && !text_equal(is, multikueue))
        admission_error_text(x, FIELD_NOT_SUPPORTED, path, bytes_of(is), AT(x, "supported values: \"%s\", \"%s\"", controller, multikueue));
    if (x->old && !text_equal(is, queued_kind_managed_by(k, x->old)))
        admission_error_text(x, FIELD_INVALID, path, bytes_of(is), IMMUTABLE);
}
