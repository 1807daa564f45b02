/* placement_policy.h - the ConfigMaps that say by which policy nodes are chosen: ours, and those that users of KETI's scheduler have
 *
 *   data of capstan-policy            placement: a policy by its name (core/policy.h)
 *   data of gpu-scheduler-policy,     gpu-allocate-prefer: binpack | spread; the other keys of KETI's are checked, and say nothing here
 *           gpu-scheduler-configmap
 *
 * Any of the three may have any of the keys. SOURCE KETI GPU-Scheduler, its shipped ConfigMaps of 2021 to 2024.
 */
#ifndef CODEC_PLACEMENT_POLICY_H
#define CODEC_PLACEMENT_POLICY_H
#include "codec/kinds/placement_names.h"
#include "wire/json.h"

struct placement_policy {
    bool says;               /* a policy */
    enum placement placement;
    struct json *wrong;      /* what cannot be taken: sentences with the key; nothing of the map counts then */
    struct json *idle;       /* keys that ask for something that is not done here: sentences */
};
/* In the arena. Unknown keys are wrong: whoever writes one means something by it. */
struct placement_policy placement_policy_read(struct arena *a, const struct json *config_map);

#endif
