/* usage_sim_part.h - what usage_sim knows, for its own files and for node_measure: shares of devices, running pods */
#ifndef SIM_USAGE_SIM_PART_H
#define SIM_USAGE_SIM_PART_H
#include "base/collections/map.h"
#include "wire/json.h"

struct usage_device {
    double share;        /* of the physical GPU */
    double memory_bytes; /* granted with it; 0 unknown */
    double idle_w, busy_w; /* of the whole board */
    char kind[64];       /* "NVIDIA-A100-SXM4-40GB", "1g.5gb" */
};
/* Devices of a Node object by "resource=id", as its annotation capstan.dev/devices and its product label say. NULL: it has none. */
struct map *usage_devices_read(const struct json *node);
/* How many physical GPUs those are on, and of which product, without what labels add for MIG and sharing. */
uint32_t usage_gpus_read(const struct json *node, char ret_model[64]);

/* A container with devices of a running pod. */
struct usage_pod {
    const char *ns, *pod, *container, *uid, *queue, *job, *user;
    uint32_t pid;        /* made up; its own while it runs */
    double start_s, activity;
    double memory_bytes; /* in use on the device at hand */
};
struct usage_sim;
/* The containers with devices of a node's running pods, and after each its devices; by the order of the pods' coming. Texts are good during
 * the call and until the next turn. */
void usage_sim_each(struct usage_sim *u, const char *node, void (*on_running)(void *arg, const struct usage_pod *pod),
                    void (*on_device)(void *arg, const struct usage_pod *pod, const char *resource, const char *slot), void *arg);

#endif
