/* admission.h - what a kind demands of its objects beyond types: defaults that depend on values, validation, warnings
 *
 * One entry per kind, run by the embedded server on create and update, and by `capstan lint`. What has a natural meaning is accepted
 * with a warning (guides are wrong in known ways); what is malformed is refused with path, reason and the corrected form.
 * SOURCE per kind: API reference, Kueue's webhooks, Volcano's admission.
 */
#ifndef CODEC_ADMISSION_H
#define CODEC_ADMISSION_H
#include "codec/kinds/kind.h"
#include "codec/schema/field_errors.h"

/* Which shares of its queues a scheduler keeps: what asks for others brings a warning. */
enum admission_shares { ADMISSION_FAIR_SHARES = 1, ADMISSION_USAGE_SHARES = 2 };

struct admission {
    struct arena *arena;
    const struct json *old;       /* NULL on create */
    struct json *object;          /* storage version of the kind; may be changed */
    const struct kind *asked;     /* as which it was written, when that is another kind than it is stored as; NULL = the same */
    bool strict_kueue;            /* refuse what Kueue refuses */
    unsigned shares;              /* ADMISSION_*_SHARES that are on where the object is going; 0 where that is not known */
    bool ephemeral;               /* a write to pods/ephemeralcontainers: nothing else changes */
    bool status_only;             /* a write to /status: the spec is that of `old` */
    bool metadata_rests;          /* it is that of `old` */
    bool spec_rests;              /* it is that of `old`, and neither has it here: nothing looks at it */
    struct field_errors errors;   /* refuse when not empty */
    const char *warnings[16];
    uint32_t warnings_n;
    /* Read another object in storage form ("", "v1", ... by group/plural/ns/name): NULL when absent or when no reader is set (lint). */
    const struct json *(*read)(void *ctx, const char *group, const char *plural, const char *ns, const char *name);
    /* The objects of a kind in a namespace, an array in storage form: NULL when no lister is set (lint). */
    const struct json *(*list)(void *ctx, const char *group, const char *plural, const char *ns);
    /* Does an object of this kind without namespace have spec.parent `name`? NULL as read is. */
    bool (*has_child)(void *ctx, const char *group, const char *plural, const char *name);
    /* Called where the defaults are in: what follows is the doing of the server's admission plugins, not the writer's. NULL: none. */
    void (*defaulted)(struct admission *x);
    void *ctx;
};
/* Before schema_prune: rename what guides misspell (ResourceFlavor spec.nodeSelector -> nodeLabels), with warnings. Shapes that guides get
 * wrong in known ways are refused here, with the corrected form: the object is to be refused when errors.n is not 0 afterwards. */
void admission_repair(struct admission *x, const struct kind *k, const char *version);
/* The object as it should have been written, in the version that it was written in; NULL when nothing is known to correct. */
struct json *admission_fix(struct admission *x, const struct kind *k);
/* After pruning and conversion: defaults, then checks. */
void admission_run(struct admission *x, const struct kind *k);
void admission_warn(struct admission *x, const char *format, ...) PRINTF_LIKE(2, 3);

#define NAME_GENERATED_BASE_MAX 58 /* of generateName these stay, five letters follow. SOURCE Kubernetes */
/* What an object with generateName alone will be called, with x for the letters of the server's choice; "": it has a name, or neither. */
const char *admission_generated_name(struct arena *a, const struct json *object);
/* metadata.name, generateName, labels, annotations, finalizers, ownerReferences: for every kind. */
void admission_metadata(struct admission *x, const struct kind *k);

#endif
