/* usage_sim_part.h - between the files of usage_sim: the shares of a node's devices */
#ifndef SIM_USAGE_SIM_PART_H
#define SIM_USAGE_SIM_PART_H
#include "base/map.h"
#include "wire/json.h"

struct usage_device {
    double share;        /* of the physical GPU */
    double memory_bytes; /* granted with it; 0 unknown */
    double idle_w, busy_w; /* of the whole board */
    char kind[64];       /* "NVIDIA-A100-SXM4-40GB", "1g.5gb" */
};
/* Devices of a Node object by "resource=id", as its annotation capstan.dev/devices and its product label say. NULL: it has none. */
struct map *usage_devices_read(const struct json *node);

#endif
