#include "apiserver/rules/kueue_in_use.h"

#include "codec/kinds/in_use_name.h"

void kueue_in_use_given(struct object_write *w)
{
    if (w->old || !w->server->config.runs_queues)
        return;
    struct json *finalizers = json_ensure_array(w->arena, json_get(w->object, "metadata"), "finalizers");
    JSON_EACH (one, finalizers)
        if (text_equal(json_text(one, ""), KUEUE_IN_USE_FINALIZER))
            return;
    json_append(finalizers, json_new_text(w->arena, KUEUE_IN_USE_FINALIZER));
}
