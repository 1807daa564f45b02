/* placement_names.h - policies by which nodes are chosen (core/policy.h), by their names
 *
 * What of objects names one: configuration/placement_policy.h, and the annotation of queues in decode/decode.h.
 */
#ifndef CODEC_PLACEMENT_NAMES_H
#define CODEC_PLACEMENT_NAMES_H
#include "core/policy.h"

#define PLACEMENT_WORDS \
    "binpack, spread, random, bestfit, dotproduct, packing, clustering, fgd or capstan, and after any but random +load, as in fgd+load"
/* By what name it goes; false: there is none such. "+load": PLACEMENT_BY_LOAD. */
bool placement_named(const char *name, enum placement *ret_placement);
const char *placement_name(enum placement placement);

#endif
