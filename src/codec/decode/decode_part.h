/* decode_part.h - pieces that the decode_*.c files share; nobody else includes it */
#ifndef CODEC_DECODE_PART_H
#define CODEC_DECODE_PART_H
#include <stdio.h>
#include "base/limits.h"
#include "codec/decode/decode.h"
#include "codec/share/share.h"
#include "wire/json_reader.h"

/* An array that grows in an arena. Old copies stay there until the arena ends: doubling keeps that below the final size. */
#define DECODE_PUSH(arena, array, n, cap)                                                                                        \
    ({                                                                                                                           \
        if ((n) == (cap)) {                                                                                                      \
            uint32_t push_cap_ = (cap) ? (cap)*2 : 4;                                                                            \
            __typeof__(array) push_new_ = arena_alloc((arena), push_cap_ * sizeof *(array));                                     \
            if (n)                                                                                                               \
                memcpy(push_new_, (array), (n) * sizeof *(array));                                                               \
            (array) = push_new_;                                                                                                 \
            (cap) = push_cap_;                                                                                                   \
        }                                                                                                                        \
        &(array)[(n)++];                                                                                                         \
    })

/* bytes_is for a literal: length and bytes are known when it is compiled. WHY the hot path compares some two hundred keys a pod. */
#define DECODE_IS(view, literal) ((view).n == sizeof(literal) - 1 && memcmp((view).data, literal, sizeof(literal) - 1) == 0)

/* Reader: {"k":"v"} appended to labels. Values that are no strings are left out. */
struct label_list {
    struct label *items;
    uint32_t n, cap;
};
void decode_read_labels(const struct decoder *d, struct json_reader *r, struct buf *scratch, struct label_list *list);
/* Reader: the next string interned, 0 when it is none. */
name_id decode_read_name(const struct decoder *d, struct json_reader *r, struct buf *scratch);
/* Reader: a quantity in the unit of its resource (cpu: milli). -E_INVALID when it is none. Negative counts 0. */
int decode_read_quantity(struct json_reader *r, struct buf *scratch, bool milli, int64_t *ret_value, struct err *e);
int decode_quantity(struct bytes text, bool milli, int64_t *ret_value, struct err *e);
static inline bool decode_is_milli(struct bytes resource)
{
    return resource.n == 3 && memcmp(resource.data, "cpu", 3) == 0;
}
enum taint_effect decode_taint_effect(struct bytes text); /* 0 = not one */
uint8_t decode_toleration_effects(struct bytes text);     /* all bits for "" */

/* Reader: a pod's spec into shape and what else decides. Affinity and spread need the pod's labels and namespace, which may stand after
 * the spec: they are left as text for decode_shape_finish. Ports follow hostNetwork. */
struct pod_spec {
    name_id node, scheduler;
    name_id device_asks;                                       /* as in pod_record */
    struct bytes native_group, native_workload, native_replica; /* views, undecoded */
    struct bytes affinity, spreads;                            /* raw JSON; n = 0: none */
    int32_t priority, limit_s;                                 /* as in pod_record */
    bool gated, preempts_nobody;                               /* gated: but for the gate of Volcano's queue */
    bool queue_gated;                                          /* has that one */
    uint32_t share_containers_n;                               /* that ask for a share of a GPU by resources */
};
int decode_read_pod_spec(const struct decoder *d, struct json_reader *r, struct buf *scratch, const char *path, struct shape *shape,
                         struct pod_spec *ret_spec, struct err *e);
/* Affinity terms and spreads into a shape whose labels and ns are set. */
int decode_shape_finish(const struct decoder *d, const struct pod_spec *spec, const char *path, struct shape *shape, struct err *e);

/* decode_template with what quota counts. A fault of its share is no error: its text is *ret_broken, NULL none. */
int decode_template_counted(const struct decoder *d, const struct json *pod_template, name_id ns, const char *path, struct shape *ret_shape,
                            const struct amount **ret_counted, uint32_t *ret_counted_n, const char **ret_broken, struct err *e);

/* Trees. */
void decode_affinity(const struct decoder *d, const struct json *affinity, struct shape *shape);
void decode_spreads(const struct decoder *d, const struct json *constraints, struct shape *shape);
void decode_taints(const struct decoder *d, const struct json *list, const struct taint **ret_taints, uint32_t *ret_n);
void decode_tolerations(const struct decoder *d, const struct json *list, const struct toleration **ret_tolerations, uint32_t *ret_n);
name_id decode_name(const struct decoder *d, const struct json *v); /* interned string or number text, 0 */
/* metadata.name, or -E_INVALID. */
int decode_object_name(const struct json *object, const char **ret_name, struct err *e);
int64_t decode_created_ms(const struct json *object);

/* decode_checks.c: admission checks, of a ClusterQueue's spec (both shapes) and of a Workload. */
void decode_queue_checks(const struct decoder *d, const struct json *spec, struct queue_record *q);
void decode_gang_checks(const struct decoder *d, const struct json *object, struct gang_record *g);
bool decode_reserved_by_us(const struct json *object); /* a Workload with quota that is not admitted yet */
bool decode_waits_for_machines(const struct json *object); /* one of its checks has said that they may come later */
/* The template of the Workload's pod set `set` with what its checks add to its pods, once it has quota. */
const struct json *decode_updated_template(const struct decoder *d, const struct json *object, const char *set,
                                           const struct json *pod_template);
/* The same, standing on no node of a flavor that the Workload passes over. */
const struct json *decode_passed_over(const struct decoder *d, const struct json *object, const struct json *pod_template);

/* decode_group.c: what records of pod groups have in common. */
int32_t decode_int32(int64_t n); /* the nearest */
int32_t decode_members(const struct json *v); /* from 1 to LIMIT_GANG_MEMBERS; NULL: 1 */
int32_t decode_class_priority(const struct decoder *d, const struct json *spec); /* of spec.priorityClassName */
int decode_group_begin(const struct decoder *d, const struct json *object, enum gang_source source, struct gang_record *g, struct err *e);
void decode_group_hold(const struct decoder *d, const struct json *object, struct gang_record *g); /* that it is held, if it is */
void decode_group_fault(const struct decoder *d, struct gang_record *g, const char *fault);
/* In one domain of the first of these levels, which is of that tier. */
struct tier_request decode_domain(const struct decoder *d, const char *levels, int64_t tier);
const char *decode_unused_add(struct arena *a, const char *text, const char *more); /* "TEXT; MORE" */

#endif
