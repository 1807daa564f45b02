/* object_write.h - the one way by which objects change: decode, settle, admit, own, store
 *
 *   object (any served version) -> repair, prune, convert -> metadata and status as the server wants them -> defaults, validation
 *     -> managedFields -> unchanged? nothing : new resourceVersion -> store (create, update, or the end of a deletion)
 *
 * Used by create, update, patch, apply, subresources and by the server itself.
 */
#ifndef APISERVER_OBJECT_WRITE_H
#define APISERVER_OBJECT_WRITE_H
#include "apiserver/access/token.h"
#include "apiserver/apply/kind_rules.h"
#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/object_change.h"
#include "apiserver/store/apart.h"
#include "codec/schema/field_errors.h"

struct object_write {
    struct apiserver *server;
    struct arena *arena;
    const struct kind *kind;        /* as which it is stored */
    const struct kind *asked;       /* that the request names: mostly the same */
    const struct kind_rules *rules; /* of the kind */
    uint32_t kind_id;
    const char *ns;
    const char *version;     /* of `asked`: `object` is in it on entry */
    const char *subresource; /* "" or "status": which half may change */
    enum field_validation validation;
    bool dry_run;
    enum write_as as; /* what is skipped */
    const char *manager;
    const struct requester *who; /* asks for it; NULL: the server itself */
    const struct json *old; /* storage version; NULL = create */
    struct json *object;
    bool is_apart;      /* old and object were read without ... */
    struct apart apart; /* ... this, of `object` as of `old` */
    struct managed_change told; /* what the writer himself changed, once ... */
    bool is_told;               /* ... this */
    const struct json_parse_info *info; /* duplicate keys of the body; NULL = none */

    /* Results. object: the new state, storage version. */
    const char *warnings[32];
    uint32_t warnings_n;
    struct field_errors errors; /* answer 422 when not empty */
    int fail_http;              /* else, when not 0 */
    const char *fail_reason, *fail_message;
    bool changed, removed;
    struct blob *stored; /* `object` as it was written; the store's, good until this turn of the loop ends. NULL: nothing was written */
};
/* The server's own: it asks nobody, itself neither. */
static inline bool object_write_is_own(const struct object_write *w)
{
    return w->as == WRITE_OWN || w->as == WRITE_OWN_STATUS;
}
void object_write_init(struct object_write *w, const struct request_info *ri, struct arena *a);
void object_write_asked(struct object_write *w, const struct http_exchange *x); /* it is x's sender who asks for it */
bool object_write_decode(struct object_write *w); /* repair, prune, strictness, convert to storage version */
bool object_write_run(struct object_write *w);    /* everything after decode */
/* Read w->old apart (store/apart.h), for a change that does not look at managedFields, nor at spec where it is to do without. False: there
 * is no such object. */
bool object_write_read(struct object_write *w, const char *name, bool without_spec);
void object_write_join(struct object_write *w); /* object is whole again */
bool object_write_fail(struct object_write *w, int http, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5); /* returns false */
void object_write_warn(struct object_write *w, const char *text);
/* Finalizers, or something of its kind, keep the object from going. */
bool object_held(const struct object_write *w, const struct json *object);
/* The failure as an error. */
int object_write_err(const struct object_write *w, struct err *e);

/* object_settle.c: metadata, status and what each kind gets from the server itself */
bool object_settle(struct object_write *w);
void object_generation(struct object_write *w); /* +1 when anything outside metadata and status changed */

#endif
