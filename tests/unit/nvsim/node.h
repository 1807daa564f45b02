/* node.h - a simulated node in a folder of its own, for one test */
#ifndef TEST_NVSIM_NODE_H
#define TEST_NVSIM_NODE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "nvsim/state.h"
#include "../folder.h"

static char node_dir[200], node_state[240];

static inline void node_remove(void)
{
    folder_remove(node_dir);
}

static inline void node_path(void)
{
    folder_make(node_dir, sizeof node_dir, "nvsim");
    (void)snprintf(node_state, sizeof node_state, "%s/state", node_dir);
}

static inline struct nvsim *node_make(const char *model, uint32_t gpus_n)
{
    struct err e = {0};
    struct nvsim *n = NULL;
    struct nvsim_config c = {.model = gpu_model_find(model), .gpus_n = gpus_n, .seed_name = "node-1",
                             .driver_version = "580.95.05", .cuda_version = 13000};
    node_path();
    if (nvsim_create(node_dir, &c, &e) < 0 || nvsim_open(node_state, &n, &e) < 0)
        fail_msg("%s", e.text);
    return n;
}

static inline void node_end(struct nvsim *n)
{
    nvsim_close(n);
    node_remove();
}

static inline struct nvsim_work node_work(uint32_t pid, uint32_t gpu)
{
    return (struct nvsim_work){.pid = pid, .gpu = gpu, .gi = NVSIM_NONE, .ci = NVSIM_NONE, .memory_mib = 1000, .sm_permille = 500,
                               .memory_permille = 200};
}
#endif
