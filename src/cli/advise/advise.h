/* advise.h - what a cluster does wrong with its GPUs, by its objects and by what was measured: rules that look, findings to apply
 *
 *   objects of the API server ─┐
 *   what agents measured ──────┼─ facts ──each rule──▶ findings: evidence, and the manifest that changes it
 *   usage store ───────────────┘
 *
 * A rule is a function and a row of `rules` (advise.c). It tells only what it can prove by numbers, and names where each stands. What it
 * could not look at is said, never taken for well.
 */
#ifndef CLI_ADVISE_ADVISE_H
#define CLI_ADVISE_ADVISE_H
#include "base/collections/map.h"
#include "cli/connect.h"
#include "cli/gpus/gpus.h"
#include "cli/lookup/pod_group.h"
#include "exporter/account/usage.h"

struct advise_evidence {
    const char *text, *from; /* from: the object, annotation or store in which the number stands */
    struct advise_evidence *next;
};
struct advise_finding {
    const char *rule, *about, *text, *todo;
    struct advise_evidence *first, **last;
    struct json *manifests; /* objects as they should be; empty: nothing that can be applied */
    const struct json *changes; /* of a file: the document that is changed; NULL: none */
    bool replaces;          /* with `kubectl replace --force`: what is running begins anew */
    struct advise_finding *next;
};

/* A pod that asks for accelerators and has not ended. */
struct advise_pod {
    const char *ns, *queue; /* queue "": none */
    int64_t accelerators_n;
    struct advise_pod *next;
};
/* A pod of no group that waits, for a reason. */
struct advise_alone {
    const char *about, *reason; /* JSON text */
    int64_t gpus_n, created_ms;
    struct advise_alone *next;
};
/* Pods that have not ended and ask for accelerators, of one owner. */
struct advise_owned {
    int64_t placed_n, waiting_n, held_n; /* held_n: accelerators of those that have a node */
    int64_t oldest_ms;                   /* of those that wait */
    const char *waiting;                 /* the oldest of them */
};
/* What one job, or pod that is of none, has of devices, and what was measured of them. */
struct advise_use {
    const char *ns, *name, *pod, *node, *product, *resource; /* pod, node, resource: of its first device */
    uint32_t devices_n, measured_n, pods_n, shared_n, slots_n;       /* shared_n: others have them, too; slots_n: handed out in shares */
    int activity_permille;                                           /* of the busiest */
    int64_t memory_used_mib, memory_total_mib;                       /* of the fullest */
    int64_t since_ms, measured_ms;
    double allocated_s, active_s; /* by the usage store; allocated 0: not known */
};

struct advise {
    struct connection c;
    struct arena *a;
    int64_t now_ms, long_ms; /* long_ms: how long something has to be so before it is told */
    const char *rule;        /* that is looked at */
    const char *unread;      /* what could not be looked at, by commas; NULL: nothing */
    const char *store;       /* which was read; NULL: none */
    const struct json *nodes, *flavors, *cluster_queues, *cohorts, *local_queues, *workloads,
        *jobs; /* items; NULL: unknown, or no such kind */
    struct advise_pod *pods;
    struct advise_alone *alone;
    struct map *owned, *jobs_by_uid, *free; /* by uid: struct advise_owned, const struct json *; devices nobody has by resource: uint32_t */
    struct gpu_line *gpus;
    uint32_t gpus_n, gpus_cap;
    struct advise_use *uses;
    uint32_t uses_n, uses_cap;
    struct advise_finding *first, **last;
    uint32_t findings_n;
};

/* facts */
void advise_facts(struct advise *x, const char *store);
void advise_facts_free(struct advise *x);
/* NULL: there is none, or it may not be read (then it is named in `unread`). */
const struct json *advise_get(struct advise *x, const char *path);

/* findings */
struct advise_finding *advise_find(struct advise *x, const char *about, const char *todo, const char *format, ...) PRINTF_LIKE(4, 5);
void advise_evidence(struct advise *x, struct advise_finding *f, const char *from, const char *format, ...) PRINTF_LIKE(4, 5);
/* A copy of an object to be changed and added to a finding: what the server writes is left out. */
struct json *advise_object(struct advise *x, const struct json *object, const char *api_version, const char *kind);
/* "3h" */
const char *advise_age(struct advise *x, int64_t ms);

/* Whose a pod is, up to what people make. */
struct advise_owner {
    const char *kind, *api_version, *about; /* about: "Deployment ns/name" */
    const struct json *object;              /* NULL: it may not be read */
    const struct json *workload;            /* by which a queue of Kueue holds it; NULL none */
};
struct advise_owner advise_owner_of(struct advise *x, const char *ns, const char *pod);
/* The pod template or the pod itself within a copy of such an object; NULL: this kind has none that is known here. */
struct json *advise_template(const char *kind, struct json *object);
/* Job or Pod, that may be made again: without what its first life has left in it. */
void advise_made_again(const char *kind, struct json *object);

/* The smallest MIG slice that does for so much of a GPU's engines and memory, with a quarter more, of which pods_n are free (0: or are
 * not); NULL: none. */
const char *advise_slice_for(const struct advise *x, int activity_permille, int64_t memory_mib, uint32_t pods_n, int *ret_gb);
bool advise_slice_read(const char *resource, int *ret_parts, int *ret_gb); /* "nvidia.com/mig-1g.5gb"; false: no such name */
int advise_share_for(int activity_permille, int64_t memory_permille);      /* thousandths of a GPU, in quarters */
/* In containers of the template that ask for `from`: `to` in its place; NULL: beside it a share of so many thousandths. keeps_null: `from`
 * stands there as null. */
void advise_ask_part(struct advise *x, struct json *pod, const char *from, const char *to, int milli, bool keeps_null);

/* The PodGroup of that maker, or without a name their list; ns NULL: everywhere. NULL: there is none, or it may not be read. */
const struct json *advise_pod_group(struct advise *x, enum pod_group_maker maker, const char *ns, const char *name);

/* One of coscheduling's; ns "": none is written. */
struct json *advise_pod_group_new(struct arena *a, const char *ns, const char *name, int64_t min_member);

/* advise_tell.c */
void advise_print_table(struct advise *x, enum output_format format);
void advise_print_comment(const char *text);
bool advise_is_named(const char *list, const char *name); /* list NULL: all are */
int advise_names_check(const struct options *o, const char *list, const char *const *names, int names_n);

/* rules */
void advise_idle(struct advise *x);
void advise_small(struct advise *x);
void advise_part_of_gang(struct advise *x);
void advise_not_queued(struct advise *x);
void advise_no_quota(struct advise *x);
void advise_quota_without_nodes(struct advise *x);
void advise_nodes_without_flavor(struct advise *x);
void advise_no_reclaim(struct advise *x);
void advise_strict_head(struct advise *x);
void advise_no_limit(struct advise *x);
void advise_moves(struct advise *x);

#endif
