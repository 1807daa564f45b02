/* kind_convert.h - parts of kind_convert.c that stand in their own file */
#ifndef CODEC_KIND_CONVERT_H
#define CODEC_KIND_CONVERT_H
#include "wire/json.h"

/* Workload status.admission.podSetAssignments[].topologyAssignment: `domains` (v1beta1, one entry a domain) to `slices` (v1beta2, columns)
 * and back. LIMIT what would expand to more than 100 000 domains or 16 MiB of text is left without domains. */
void kind_convert_topology(struct arena *a, struct json *assignment, bool to_slices);

#endif
