/* composites.h - trees of CompositePodGroups (scheduling.k8s.io, Kubernetes 1.37): several PodGroups that are one gang
 *
 *   CompositePodGroup all ◀── CompositePodGroup rack ◀── PodGroup workers ◀── pods
 *                         ◀── PodGroup head          ◀── pods
 *            │                         │
 *     gang "composite/ns/all", with a subgroup for each part (decode_composite_group)
 *
 * SHAPE  the tree stands in the two caches, by marks: each object is found by what it is below, "ns/PARENT". What is above a group is
 *        climbed to the last name, whether an object of it is there or not: where it is not, pods wait for it as for any group. A basic
 *        CompositePodGroup on top that asks for no topology starts each of those below it by itself: they are tops themselves.
 * ORDER  whatever changes, its whole tree is told anew, once a turn; parts of one parent by name.
 * RACE   pods may come before their PodGroup, or be told another top: of those that this could concern the text is kept, and they are taken
 *        in again, also those that run.
 * LIMIT  some 4 KB of each pod of a tree, or whose PodGroup is not there.
 */
#ifndef SCHED_COMPOSITES_H
#define SCHED_COMPOSITES_H
#include "codec/decode/decode.h"
#include "sched/telling/telling.h"

struct kube_cache;
struct composites;
struct composites_config {
    const struct decoder *decoder;                             /* records are made by it, in its arena */
    void (*on_told)(void *arg, const struct gang_record *g);   /* a tree is there, or another one than before */
    void (*on_gone)(void *arg, const char *gang_key);
    void (*on_alone)(void *arg, const char *group, bool is);   /* a PodGroup, "ns/name", is a gang by itself, or is none any more */
    void (*again)(void *arg, struct bytes pod);                /* is to be taken in again: of another gang */
    void (*on_news)(void *arg);                                /* composites_follow is to be called soon */
    void (*on_status)(void *arg, const char *key, bool is_composite); /* what this object says may be another thing now */
    int32_t (*bound_n)(void *arg, name_id group);              /* pods of the gang, or part, with a node */
    void *arg;
};
struct composites *composites_new(const struct composites_config *config);
/* Of PodGroups and CompositePodGroups; they outlive it. ORDER before the first call of what follows. */
void composites_begin(struct composites *c, struct kube_cache *groups, struct kube_cache *composites);
void composites_free(struct composites *c); /* NULL-safe; tells nobody */

/* A CompositePodGroup has come, is another, or has gone: as it is, or was. */
void composites_note(struct composites *c, const char *key, struct bytes composite, bool is_gone);
/* A PodGroup has come, or is another. True: what the core is to know of it follows from its tree. */
bool composites_take(struct composites *c, const char *key, const struct json *group);
void composites_gone(struct composites *c, const char *key, struct bytes group); /* as it was */
/* Before changes go to the core: trees that have changed are told. */
void composites_follow(struct composites *c);
name_id composites_whole_of(const struct composites *c, name_id group); /* as whole_of of struct decoder */
void composites_pod_seen(struct composites *c, const struct pod_record *pod, struct bytes object);
void composites_pod_gone(struct composites *c, const char *key);
/* The gang that the pod's PodGroup would be, of a pod of a larger one; 0: it is of none. */
name_id composites_part_of(const struct composites *c, const struct pod_record *pod);

/* on_status for all that is below it. */
void composites_status(struct composites *c, const char *top);
/* Have so many of those below this CompositePodGroup nodes as it asks for? */
bool composites_scheduled(struct composites *c, const char *key);
struct composite_look {
    name_id whole;              /* the gang that it is of; 0: of none */
    const char *missing;        /* "ns/name" of the CompositePodGroup above it that is not there; NULL: all are */
    bool is_invalid;            /* the tree is none that may be */
    bool is_anywhere;           /* it asks for a domain, and labels make none here */
    struct telling *telling;    /* the object's own; NULL: it is not known */
};
/* Of a CompositePodGroup, be it the one above a PodGroup. Good until the next turn; in the arena. */
struct composite_look composites_look(struct composites *c, const char *key, struct arena *a);
void composites_mark_names(const struct composites *c);

#endif
