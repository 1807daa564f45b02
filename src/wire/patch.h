/* patch.h - JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on trees */
#ifndef WIRE_PATCH_H
#define WIRE_PATCH_H
#include "wire/json.h"

/* Apply in place to *target (which may be replaced). -E_INVALID with the failing operation's index and path; on failure *target is
 * unchanged.
 * LIMIT LIMIT_PATCH_OPERATIONS. */
int patch_json(struct arena *a, struct json **target, const struct json *operations, struct err *e);
/* Never fails. */
void patch_merge(struct arena *a, struct json **target, const struct json *patch);

#endif
