/* shape.h - what a simulated node is: GPU model, count, cores, memory, how its GPUs are split
 *
 *     2:a100-40gb                          two nodes of a named shape: a GPU model (gpu/model.h) in the node it is usually sold in
 *     4:t4,gpus=4,cpu=48,memory=192Gi      a named shape, changed
 *     1:gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti   written out
 *     1:a100-40gb,mig=1g.5gb               every GPU split into as many instances of the profile as fit (strategy mixed)
 *     1:t4,replicas=4                      time-slicing: each GPU offered 4 times
 *     1:t4,mps=10                          each GPU offered as 10 shares keti.com/mpsgpu
 *     ,label.KEY=VALUE  ,taint.KEY=VALUE   extra labels; NoSchedule taints
 */
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H
#include "base/err.h"
#include "gpu/model.h"

#define SHAPE_EXTRAS_MAX 16
#define SHAPE_TEXT_MAX 1024

struct shape_extra {
    char key[128], value[64];
};
struct node_shape {
    char text[SHAPE_TEXT_MAX];     /* what was parsed, without the count */
    char name[64];                 /* "a100-40gb", "custom": part of the node names */
    const struct gpu_model *model; /* never NULL; gpus_n tells whether there are any */
    bool product_given;
    char product[64];       /* in place of the model's name */
    int32_t gpus_n;
    int64_t gpu_memory_mib; /* in place of the model's; 0 = as the model */
    int64_t cpu_n;
    int64_t memory_bytes;
    char mig_profile[16]; /* "" = not split */
    int32_t replicas;     /* time-slicing; 1 = off */
    int32_t mps_shares;   /* keti.com/mpsgpu; 0 = off */
    struct shape_extra labels[SHAPE_EXTRAS_MAX], taints[SHAPE_EXTRAS_MAX];
    uint32_t labels_n, taints_n;
};

/* "N:SHAPE" or "SHAPE" (N = 1). -E_INVALID names the part that is wrong and the shapes there are. */
int node_shape_parse(const char *text, int32_t *ret_nodes_n, struct node_shape *ret_shape, struct err *e);
/* Names of the named shapes, separated by ", ". */
const char *node_shape_names(void);
/* The GPU model with what the shape changes of it. Its name may point into the shape. */
void node_shape_model(const struct node_shape *s, struct gpu_model *ret_model);
/* "", "-mig", "-mps", "-shared": between name and number in the names of nodes. */
const char *node_shape_kind(const struct node_shape *s);

#endif
