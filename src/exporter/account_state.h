/* account_state.h - inside the exporter: what an account holds, and its file */
#ifndef EXPORTER_ACCOUNT_STATE_H
#define EXPORTER_ACCOUNT_STATE_H
#include "exporter/account.h"

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
struct account_pod *account_pod_put(struct account *a, const char *ns, const char *pod); /* made when absent */
struct account_gpu *account_gpu_put(struct account *a, const char *uuid);
int account_state_read(struct account *a, struct err *e);

#endif
