/* object_change.h - writes that come from inside the server: read and change, create, delete */
#ifndef APISERVER_OBJECT_CHANGE_H
#define APISERVER_OBJECT_CHANGE_H
#include "apiserver/request/request.h"
#include "apiserver/store/apart.h"

/* What a write passes through, and what it skips of that. */
enum write_as {
    WRITE_CHECKED,    /* all: rights in the namespace, types, admission, quotas, limits; who writes owns what he changes */
    WRITE_APPLIED,    /* all; who owns which field is settled already (server-side apply) */
    WRITE_OWN,        /* the server's own change: no check, nobody owns it, status and all may change */
    WRITE_OWN_STATUS, /* the same, of what is no spec in Kubernetes' eyes: whatever changed is no new generation */
};
/* Read, let fn change the tree, write what changed (no write when nothing did): for the server's own changes and for subresources that
 * checked already. Skips metadata.{uid,name,...}. as: WRITE_OWN or WRITE_OWN_STATUS. fn returns 0 to go on, or a negative code (err set)
 * to give up. ret_object may be NULL. -E_NOTFOUND when absent. */
typedef int (*object_modify_fn)(void *arg, struct arena *a, struct json *object, struct err *e);
int object_modify(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  object_modify_fn fn, void *arg, enum write_as as, struct json **ret_object, struct err *e);
/* The same of a pod whose spec stays text (store/apart.h): fn finds it with apart_spec_get and may only add to it, with apart_spec_add. */
typedef int (*object_modify_apart_fn)(void *arg, struct arena *a, struct json *object, struct apart *apart, struct err *e);
int object_modify_apart(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                        object_modify_apart_fn fn, void *arg, enum write_as as, struct err *e);
/* Storage version, with all checks. */
int object_create(struct apiserver *s, const struct kind *k, struct arena *a, struct json *object, struct err *e);
/* Delete as DELETE would with these options (eviction). Returns 0 or -E_* ; *ret_gone false when it is only marked. */
struct delete_options {
    int64_t grace_seconds;                          /* -1 = not given */
    const char *propagation;                        /* "" = default (Background) */
    const char *precondition_uid, *precondition_rv; /* NULL = none */
    bool dry_run;
};
void delete_options_of(const struct json *said, bool dry_run, struct delete_options *ret_o); /* DeleteOptions of a body; NULL = none */
int object_delete(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  const struct delete_options *options, bool *ret_gone, struct json **ret_object, struct err *e);
/* Deletes the objects of a kind that are not going already, in ns (NULL: everywhere), at most *budget_n, which it counts down. Returns how
 * many are still there; what could not be deleted is tried again by the next call. */
size_t objects_delete(struct apiserver *s, const struct kind *k, const char *ns, size_t *budget_n);
/* One finalizer goes, out of "metadata" or, of a namespace, "spec"; with the last of them the object, when its deletion has begun. */
void finalizer_drop(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a, const char *member,
                    const char *finalizer);
/* Out of the store without another question; object: as it is stored. */
void object_remove(struct apiserver *s, uint32_t kind_id, const char *ns, const char *name, struct arena *a, struct json *object);

#endif
