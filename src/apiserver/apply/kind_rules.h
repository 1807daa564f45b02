/* kind_rules.h - what the server itself decides of objects, beyond what their types say: of all, and of single kinds
 *
 *   object_write_run  create, .settle -> defaults, types, admission -> .admit, admit -> .given -> stored -> .created or .gone
 *   object_delete     .stays -> preconditions -> propagate -> .leave -> .mark, or removed and .gone
 *
 * SHAPE  one struct kind_rules a kind, .x above; what has no dot is asked for every kind. A function that is NULL has nothing to say.
 * WHY    nothing here knows a kind: folder rules does, and the wiring hands its table over (struct apiserver, rules).
 */
#ifndef APISERVER_KIND_RULES_H
#define APISERVER_KIND_RULES_H
#include "apiserver/server.h"

struct object_write;
struct delete_options;
struct kind_rules {
    const char *group, *plural;
    const char *phase; /* status.phase of a new object that has none; NULL = none */
    bool status_given; /* a new object may bring its status */
    /* What the server writes into a new state. May refuse: object_write_fail, or w->errors. */
    void (*settle)(struct object_write *w);
    /* After defaults, types and admission, whatever those found: more of w->errors, and warnings. */
    void (*admit)(struct object_write *w);
    void (*given)(struct object_write *w);                     /* it is admitted; what the server tells of it, or adds unchecked */
    void (*created)(struct apiserver *s, const char *name);    /* it is stored, and is new */
    bool (*held)(const struct json *object);                   /* something besides finalizers keeps it from going */
    int64_t (*grace)(const struct json *object, int64_t wanted); /* seconds that its deletion waits; wanted -1: not said. NULL: 0 */
    int (*stays)(struct apiserver *s, struct arena *a, const struct json *object, struct err *e); /* may not be deleted: -E_DENIED */
    void (*leave)(struct apiserver *s, struct arena *a, struct json *object); /* its deletion is asked for; may give it a finalizer */
    void (*mark)(struct arena *a, struct json *object);             /* its deletion begins */
    void (*gone)(struct apiserver *s, const struct json *object);   /* it is removed; in the same turn */
};
struct write_rules {
    const struct kind_rules *kinds;
    size_t kinds_n;
    bool (*create)(struct object_write *w); /* may anything be created there? */
    bool (*admit)(struct object_write *w);  /* it is valid: may it be stored? */
    /* Deletion of what others belong to; may give the object a finalizer. */
    void (*propagate)(struct apiserver *s, struct arena *a, struct json *object, const struct delete_options *o);
};
/* Never NULL: a kind without rules has empty ones. */
const struct kind_rules *kind_rules_find(const struct apiserver *s, const struct kind *k);

#endif
