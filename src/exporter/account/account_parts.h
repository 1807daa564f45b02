/* account_parts.h - inside the account; only account*.c include it
 *
 *     account.c         opens the books, and goes from sample to sample
 *     account_state.c   the file
 *     account_step.c    what a step from one sample to the next adds
 *     account_book.c    who is in the books
 *
 * ORDER  each calls those below it.
 */
#ifndef EXPORTER_ACCOUNT_PARTS_H
#define EXPORTER_ACCOUNT_PARTS_H
#include "exporter/account/account.h"

struct map;
/* A device: whole GPU or MIG device. */
struct account_unit {
    double last_active_s, seen_s; /* wall times */
};
struct account {
    struct map *pods; /* "ns/pod" -> struct account_pod * */
    struct map *gpus; /* uuid -> struct account_gpu * */
    struct map *units; /* uuid -> struct account_unit */
    struct sample_clock clock;
    const struct sample *last;
    double last_dt; /* seconds before it */
    uint64_t pods_dropped_n;
    struct account_pod **replaced; /* namesakes have taken their place before they were drained */
    uint32_t replaced_n, replaced_cap;
    char *state_path, *node_name;
    const struct account_pod **pod_list; /* what account_pods hands out */
    const struct account_gpu **gpu_list;
    uint32_t pod_list_n, pod_list_cap, gpu_list_n, gpu_list_cap;
};
/* Texts of a pod, each its own. */
#define ACCOUNT_TEXTS(X) X(ns) X(pod) X(uid) X(queue) X(job) X(user) X(node) X(device_kind)

void account_pod_free(struct account_pod *p);
struct account_pod *account_pod_put(struct account *a, const char *ns, const char *pod); /* made when absent; NULL: too many */
/* The pod of an allocation, as the sample knows it; NULL: of nobody, or too many pods. */
struct account_pod *account_pod_of(struct account *a, const struct sample *s, const struct sample_allocation *l);
struct account_gpu *account_gpu_put(struct account *a, const char *uuid);
/* What a board has counted in this step of dt seconds; returns its joules. */
double account_board_add(struct account *a, const struct sample_unit *board, double dt);
void account_step_add(struct account *a, const struct sample *s, double dt, const double *joules); /* by GPU index */
int account_state_read(struct account *a, struct err *e);

#endif
