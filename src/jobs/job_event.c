/* job_event.c - what controllers tell of an object, as an Event */
#include <stdarg.h>
#include <stdio.h>
#include "jobs/controllers.h"

static struct kube_object_ref ref_of(const struct json *object, const char *api_version, const char *kind)
{
    return (struct kube_object_ref){api_version, kind, object_meta(object, "namespace"), object_meta(object, "name"),
                                    object_meta(object, "uid")};
}

void job_event(struct jobs *j, const struct json *object, const char *api_version, const char *kind, const char *type,
               const char *reason, const char *format, ...)
{
    struct kube_object_ref about = ref_of(object, api_version, kind);
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kube_event(j->events, &about, type, reason, "%s", text);
}

void job_event_then(struct jobs *j, struct work *w, const struct json *object, const char *api_version, const char *kind,
                    const char *type, const char *reason, const char *format, ...)
{
    struct kube_object_ref about = ref_of(object, api_version, kind);
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kube_event_then(j->events, w, &about, type, reason, "%s", text);
}
