/* field_errors.h - what is wrong with an object, field by field, in Kubernetes' words
 *
 * Prints as Status.details.causes and as one message: `spec.resourceGroups[0].flavors[1]: Invalid value: "t4": must list every covered
 * resource`.
 * SOURCE apimachinery util/validation/field: reasons FieldValueRequired, FieldValueInvalid, FieldValueDuplicate, FieldValueNotSupported,
 *        FieldValueForbidden, FieldValueTooLong, FieldValueNotFound, FieldValueTypeInvalid.
 */
#ifndef CODEC_FIELD_ERRORS_H
#define CODEC_FIELD_ERRORS_H
#include "base/arena.h"

enum field_error_type {
    FIELD_REQUIRED,
    FIELD_INVALID,
    FIELD_DUPLICATE,
    FIELD_NOT_SUPPORTED,
    FIELD_FORBIDDEN,
    FIELD_TOO_LONG,
    FIELD_NOT_FOUND,
    FIELD_TYPE_INVALID,
    FIELD_TOO_MANY
};
struct field_error {
    enum field_error_type type;
    char *path, *value, *detail; /* value: printed form (`"t4"`, `-1`) or NULL */
    bool denial;             /* a peer's webhook says so, after the checks of the type: 403, not 422 */
    struct field_error *next;
};
struct field_errors {
    struct arena *arena;
    struct field_error *first, *last;
    uint32_t n;              /* at most 64 are kept, all are counted */
    bool denying;            /* those added now are denials */
    const char *refusal;     /* an admission plugin of Kubernetes says no, in these words: 403, not 422; else NULL */
};
void field_errors_init(struct field_errors *f, struct arena *a);
/* value_json may be NULL. */
void field_error_add(struct field_errors *f, enum field_error_type type, const char *path, const char *value_json, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* Those that stand in `known` as well, alike in all, are none. */
void field_errors_drop(struct field_errors *f, const struct field_errors *known);
bool field_errors_all_denials(const struct field_errors *f); /* false when there are none */
const char *field_error_reason(enum field_error_type type); /* "FieldValueInvalid" */
void field_error_text(struct buf *out, const struct field_error *error); /* `path: Invalid value: "x": detail` */
/* All: one text, "[a, b]" when several (as aggregate errors print). */
void field_errors_text(struct buf *out, const struct field_errors *f);

#endif
