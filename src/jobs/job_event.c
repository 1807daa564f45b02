/* job_event.c - what controllers tell of an object, as an Event */
#include <stdarg.h>
#include <stdio.h>
#include "jobs/controllers.h"

void job_event(struct jobs *j, const struct json *object, const char *api_version, const char *kind, const char *type,
               const char *reason, const char *format, ...)
{
    struct kube_object_ref about = {api_version, kind, object_meta(object, "namespace"), object_meta(object, "name"),
                                    object_meta(object, "uid")};
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kube_event(j->events, &about, type, reason, "%s", text);
}
