/* node_patch.h - what a Node object lacks of what its agent wants it to say: labels, the annotation, conditions. Pure.
 *
 * Labels that are wanted and differ are set, labels of ours (labels_owns) that nobody wants any more go; of others nothing is touched.
 */
#ifndef AGENT_NODE_PATCH_H
#define AGENT_NODE_PATCH_H
#include "agent/node/condition.h"
#include "agent/node/labels.h"

struct node_wish { /* texts are borrowed */
    const struct label_pair *labels; /* of labels_make */
    uint32_t labels_n;
    const struct label_pair *set; /* single ones beside, which stand above them */
    uint32_t set_n;
    const char *devices; /* the annotation; NULL: it goes */
};
/* A merge patch of the object; NULL: nothing lacks. `metadata`: of the object, whole or only what is of nvidia.com and the annotation.
 * WHY  the time of a change (gfd.timestamp) goes with changes only. */
struct json *node_patch_metadata(struct arena *a, const struct json *metadata, const struct node_wish *w);

#endif
