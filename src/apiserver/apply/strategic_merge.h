/* strategic_merge.h - strategic merge patch: a merge patch that knows which lists have keys
 *
 * Directives: $patch (replace, delete, merge), $setElementOrder/LIST, $deleteFromPrimitiveList/LIST, $retainKeys, null.
 * SOURCE "Strategic Merge Patch" of the API conventions; merge keys from codec/schema/schema.h.
 */
#ifndef APISERVER_STRATEGIC_MERGE_H
#define APISERVER_STRATEGIC_MERGE_H
#include "codec/schema/schema.h"

/* In place; texts of the patch are not copied, and live as long as the arena does. -E_INVALID with the path for a directive that cannot
 * be understood or an item without its merge key; *target is then half patched: patch a copy. */
int strategic_merge(struct arena *a, const struct schema *s, struct json *target, const struct json *patch,
                    struct err *e);

#endif
