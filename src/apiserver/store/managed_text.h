/* managed_text.h - metadata.managedFields apart from its object, as the text that is stored
 *
 * WHY    it is a third of a pod and more than half of its values, and most of a write has no use for it.
 * SHAPE  an object apart has no managedFields in its tree; the text is the JSON array, {NULL, 0} when it has none.
 */
#ifndef APISERVER_MANAGED_TEXT_H
#define APISERVER_MANAGED_TEXT_H
#include "base/arena.h"
#include "wire/json.h"

/* The tree without managedFields, which *ret_managed refers to in the body. NULL: the text is not one that we read whole. */
struct json *managed_text_split(struct arena *a, struct bytes body, struct bytes *ret_managed);
/* Back into the tree; what cannot be read is left out. */
void managed_text_join(struct arena *a, struct json *object, struct bytes managed);
/* Print the object, managedFields as the last of its metadata. */
void managed_text_write(struct buf *out, const struct json *object, struct bytes managed);

#endif
