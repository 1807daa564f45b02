/* device_limits.h - devices that are asked for under requests alone, or with another number under limits: pods like that are refused
 *
 * WHY  templates in kinds of operators (Kubeflow, Ray, runtimes) are checked by nobody when the object is written: their pods are refused
 *      one by one, later, and the job stands there without any.
 */
#ifndef CODEC_DEVICE_LIMITS_H
#define CODEC_DEVICE_LIMITS_H
#include "wire/json.h"

/* "vendor.example/thing": counted by device plugins, never overcommitted. hugepages-*: neither. */
bool device_is_extended(const char *resource);
bool device_is_exclusive(const char *resource);

/* Wherever in the object a container's `resources`, or a trainer's `resourcesPerNode`, are: says each with its path ("spec.x.resources")
 * and the part of it in which it stands ("requests[nvidia.com/gpu]"). */
void device_limits_look(struct arena *a, const struct json *object,
                        void (*say)(void *context, const char *path, const char *part, const char *text), void *context);
/* The limit that is missing is the same number; of two that differ the limit counts, since that is what the plugin hands out. */
void device_limits_fix(struct arena *a, struct json *object);

#endif
