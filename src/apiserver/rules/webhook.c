#include "apiserver/rules/webhook.h"

void webhook_admit(struct object_write *w)
{
    if (json_get(w->object, "webhooks") && strcmp(w->subresource, "status") != 0)
        object_write_warn(w, "admission webhooks are stored but never called by this server");
}

void admission_policy_admit(struct object_write *w)
{
    if (strcmp(w->subresource, "status") != 0)
        object_write_warn(w, "admission policies are stored but not evaluated by this server");
}
