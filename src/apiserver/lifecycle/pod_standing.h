/* pod_standing.h - what budgets ask of a stored pod, read from its text
 *
 * WHY  each pod of a namespace is asked by each budget, again and again: what was read is kept until the pod changes.
 */
#ifndef APISERVER_POD_STANDING_H
#define APISERVER_POD_STANDING_H
#include "apiserver/store/store.h"

struct pod_standing {
    bool has_ended, is_ready, is_leaving;
    bool has_controller;
    char controller[64]; /* its uid */
};
struct pod_standing pod_standing_read(struct bytes body);

/* What is kept of a pod. */
struct pod_seen {
    struct pod_standing standing;
    struct bytes labels;       /* an object with only its labels, for selector_match */
    uint64_t question, answer; /* whatever the caller has asked of these labels; 0 and 0 when the pod has changed */
};

/* A pass asks of all pods that matter; at its end those go that were not asked for. */
struct pod_standings;
struct pod_standings *pod_standings_new(void);
void pod_standings_free(struct pod_standings *s); /* NULL-safe */
void pod_standings_begin(struct pod_standings *s);
struct pod_seen *pod_standings_of(struct pod_standings *s, const struct store_object *pod); /* good until the next is asked for */
void pod_standings_end(struct pod_standings *s);

#endif
