/* condition.h - the two conditions of a node that tell of its GPUs
 *
 *     GPUHealthy       True GPUsHealthy    False GPUsUnhealthy (which are not handed out, and the XID), DriverMissing
 *     GPUConfigValid   True ConfigValid (where the config is from)    False ConfigInvalid, ConfigGone (what is wrong, and what is in use)
 *
 * The agent writes them on its node, `capstan up` on the nodes that it simulates.
 */
#ifndef AGENT_CONDITION_H
#define AGENT_CONDITION_H
#include "agent/inventory/inventory.h"
#include "wire/json.h"

enum agent_condition { AGENT_CONDITION_HEALTHY, AGENT_CONDITION_CONFIG, AGENT_CONDITION_N };
struct node_condition { /* texts are borrowed */
    bool good;
    const char *reason, *message;
};
#define NODE_CONDITION_DEFAULTS "(defaults)" /* where the config is from when nobody wrote one */

struct node_condition node_condition_health(struct arena *a, const struct inventory_snapshot *s);
/* source: where it is from, NULL when `error` says so; kept: an earlier config stays in use. */
struct node_condition node_condition_refusal(struct arena *a, const char *reason, const char *source, const char *error, bool kept);

/* One item of status.conditions; times are wall times. */
struct json *node_condition_json(struct arena *a, enum agent_condition which, const struct node_condition *c, int64_t now_ms,
                                 int64_t since_ms);
/* Is it in status.conditions already? since_ms becomes its time of transition when only texts differ, else stays. */
bool node_condition_stands(const struct json *conditions, enum agent_condition which, const struct node_condition *c, int64_t *since_ms);

#endif
