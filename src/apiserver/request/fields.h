/* fields.h - a list with less of each object: ?fields=metadata(name,labels),status(phase)
 *
 * What a tool that prints a table needs of ten thousand pods is a tenth of them. Other API servers do not know the parameter and
 * answer with whole objects, so that whoever asks reads both. Members that are named and not there are left out; what is named is
 * shown as it is stored. A name stands for itself, dots and slashes included; what follows it in brackets is of its members, or of
 * each item where it is a list.
 * LIMIT  FIELDS_MAX names, FIELDS_DEPTH_MAX brackets.
 */
#ifndef APISERVER_FIELDS_H
#define APISERVER_FIELDS_H
#include "base/bytes.h"
#include "base/err.h"

enum { FIELDS_MAX = 64, FIELDS_DEPTH_MAX = 8 };

struct field {
    struct bytes name;    /* stands in the text that was parsed */
    uint8_t child, next;  /* places among those of struct fields; 0 none */
};
struct fields {
    struct field all[FIELDS_MAX + 1]; /* the first one is the object itself */
    uint8_t n;
};
/* -E_INVALID, -E_LIMIT with a sentence. */
int fields_parse(struct bytes text, struct fields *ret_fields, struct err *e);
/* What they name of one object, appended. False: it ends too early, or is no JSON where it was looked at; then nothing is. */
bool fields_write(struct buf *out, const struct fields *f, struct bytes object);

#endif
