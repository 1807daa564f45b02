/* stranding.h - Capstan's own choice: what is left is to be of use to those who will come
 *
 *     gain = what of the node is of no use before - after - what others want of what is taken * (how scarce the GPUs of the node are - 1)
 *     no use = fragmentation (target.h) + GPUs that will find no cpu + half of the cpu, in GPUs, that will find none
 *     others want whole GPUs that are taken, an idle one of which a part is, and half of a part of one that was broken before
 *
 * UNIT   thousandths of a GPU, cut into buckets. Nodes that differ by less are equal: of those the ones that somebody is on; then where one
 *        more like it would not fit after, or no idle GPU is broken for a part; then the first by name, so that pods gather.
 * SOURCE docs/placement.md has the terms and where each constant comes from.
 */
#ifndef CORE_STRANDING_H
#define CORE_STRANDING_H
#include "core/score/gpus.h"

/* 1 .. 2^23; greater is better. Pods are expected (state_set_targets). ask, ret_gpu as in score_fgd. */
uint32_t score_capstan(struct state *s, const struct shape_class *c, const struct gpu_ask *ask, uint32_t node, uint32_t *ret_gpu);

#endif
