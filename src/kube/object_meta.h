/* object_meta.h - inside the kube room: the few metadata fields that list-watch lives on, read without a tree */
#ifndef KUBE_OBJECT_META_H
#define KUBE_OBJECT_META_H
#include "wire/json.h"

struct object_meta {
    struct buf ns, name, uid, rv; /* empty when absent */
};
void object_meta_free(struct object_meta *m);
/* False when the text is no object or has no metadata object. */
bool object_meta_read(struct bytes object, struct object_meta *m);
/* "namespace/name". */
void object_meta_key(const struct object_meta *m, struct buf *out);
/* Copy the object without metadata.managedFields. body, here and below: that has this text, and may say where its parts stand; NULL: none
 * (kube_watch_body). */
struct blob *object_without_managed_fields(struct bytes object, const struct blob *body);
/* The text as far as metadata goes, without managedFields where these stand last in it, as servers print them: for a look for a word of
 * labels, annotations or owners before a parse. Without metadata it is all of the text. */
struct bytes object_text_head(struct bytes object, const struct blob *body);
/* metadata.annotations[name] as it stands in the text, without its quotes; {NULL, 0}: there is none. */
struct bytes object_text_annotation(struct bytes object, const char *name);
/* Its tree without managedFields, which nobody inside reads, and without spec unless that is wanted: of what happens to a pod, its spec is
 * not told. A text that is taken apart nowhere is read whole. NULL: it is no JSON. */
struct json *object_parse_lean(struct arena *a, struct bytes object, const struct blob *body, bool with_spec);
/* JSON from a server, with U+FFFD where its strings have a NUL: there an annotation may have one, and texts of ours end with it. It is text
 * itself where there is none, else it lies in room. */
struct bytes object_text_without_nul(struct bytes text, struct buf *room);

#endif
