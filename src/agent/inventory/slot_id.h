/* slot_id.h - which unit a slot id is a share of, whoever's plugin named it. Pure.
 *
 *     "GPU-...", "MIG-...", "GPU-...::2"       NVIDIA's and ours        "0", "0:1", "0:1::3"                          by index
 *     "GPU-...-2"                              KETI's                   "nvidia0/vgpu2", "nvidia0/gi1/vgpu2"          GKE's
 *     "MIG-GPU-.../1/0"                        drivers before 470
 */
#ifndef AGENT_SLOT_ID_H
#define AGENT_SLOT_ID_H
#include "agent/inventory/inventory.h"

bool slot_is_of(const char *slot, const struct unit *u);
/* "GPU-..." of "GPU-...::2": the unit of a slot of ours, also when the unit is not there any more. */
void slot_unit_part(const char *slot, char ret_unit[48]);

#endif
