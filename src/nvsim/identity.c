/* identity.c - names, numbers and places of simulated GPUs: the same node name gives the same GPUs on every machine */
#include <stdio.h>
#include "nvsim/state.h"

/* PCI buses of the eight GPUs of the usual HGX board, then those of a second board. */
static const uint8_t buses[NVSIM_GPUS_MAX] = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd,
                                              0x17, 0x1b, 0x57, 0x5e, 0x97, 0x9d, 0xc7, 0xcc};

/* FNV-1a, mixed once more so that neighbouring names differ in every bit. */
uint64_t nvsim_hash(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

void nvsim_uuid_text(const char *prefix, const uint8_t u[16], char ret_text[48])
{
    (void)snprintf(ret_text, 48, "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix, u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static int32_t numa_of(uint32_t index, uint32_t gpus_n)
{
    return gpus_n > 1 && index >= (gpus_n + 1) / 2 ? 1 : 0;
}

void nvsim_numa_cpus(const struct gpu_model *m, int32_t numa_node, uint32_t *ret_first, uint32_t *ret_n)
{
    uint32_t cpus_n = m->node_cpu_n < 2 ? 2 : m->node_cpu_n, half = cpus_n / 2;
    *ret_first = numa_node == 1 ? half : 0;
    *ret_n = numa_node == 1 ? cpus_n - half : half;
}

void nvsim_identity(struct nvsim_gpu *g, const struct gpu_model *m, const char *node, uint32_t index, uint32_t gpus_n)
{
    uint64_t words[2];
    words[0] = nvsim_hash(nvsim_hash(index + 1, node, strlen(node)), m->key, strlen(m->key));
    words[1] = nvsim_hash(words[0], m->key, strlen(m->key));
    uint8_t uuid[16];
    memcpy(uuid, words, sizeof uuid);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
    nvsim_uuid_text("GPU-", uuid, g->uuid);
    g->seed = words[0] ^ words[1];
    (void)snprintf(g->serial, sizeof g->serial, "16%011llu", (unsigned long long)(g->seed % 100000000000u));
    g->domain = 0;
    g->bus = buses[index % NVSIM_GPUS_MAX];
    g->minor = index;
    g->module_id = index + 1;
    g->numa_node = numa_of(index, gpus_n);
}
