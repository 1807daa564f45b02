/* shape.h - what a simulated node is: GPU model, count, cores, memory, how its GPUs are split
 *
 *     2:a100-40gb                          two nodes of a named shape
 *     4:t4,gpus=4,cpu=48,memory=192Gi      a named shape, changed
 *     1:gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti   written out
 *     1:a100-40gb,mig=1g.5gb               every GPU split into as many instances of the profile as fit (strategy mixed)
 *     1:t4,replicas=4                      time-slicing: each GPU offered 4 times
 *     1:t4,mps=10                          each GPU offered as 10 shares keti.com/mpsgpu
 *     ,label.KEY=VALUE  ,taint.KEY=VALUE   extra labels; NoSchedule taints
 *
 * The node object carries the labels of GPU Feature Discovery and the extended resources of the device plugin, and the annotation
 * capstan.dev/devices that names each device (codec/decode.h reads it).
 */
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H
#include "wire/json.h"

#define SHAPE_EXTRAS_MAX 16

struct shape_extra {
    char key[128], value[64];
};
struct node_shape {
    char name[64];    /* "a100-40gb", "custom": part of the node names */
    char product[64]; /* nvidia.com/gpu.product */
    char family[32];
    int32_t compute_major, compute_minor;
    int32_t gpus_n;
    int64_t gpu_memory_mib;
    int64_t cpu_n;
    int64_t memory_bytes;
    int32_t link_group_n; /* GPUs that are one NVLink group; 1 = no links */
    char mig_profile[16]; /* "" = not split */
    int32_t replicas;     /* time-slicing; 1 = off */
    int32_t mps_shares;   /* 0 = off */
    struct shape_extra labels[SHAPE_EXTRAS_MAX], taints[SHAPE_EXTRAS_MAX];
    uint32_t labels_n, taints_n;
};

/* "N:SHAPE" or "SHAPE" (N = 1). -E_INVALID names the part that is wrong and the shapes there are. */
int node_shape_parse(const char *text, int32_t *ret_nodes_n, struct node_shape *ret_shape, struct err *e);
/* Names of the named shapes, separated by ", ". */
const char *node_shape_names(void);
/* The Node object number `index` (0..) of this shape; `ordinal` makes addresses unique in the cluster. */
struct json *node_shape_object(struct arena *a, const struct node_shape *shape, int32_t index, int32_t ordinal,
                               int64_t wall_ms);

#endif
