/* relayout_write.h - what a change of layouts looks like on the node, and who is told of it; inside sched/relayout */
#ifndef SCHED_RELAYOUT_WRITE_H
#define SCHED_RELAYOUT_WRITE_H
#include "sched/relayout/relayout_part.h"

/* The mig-parted file of annotation RELAYOUT_ANNOTATION: one layout of this name, each GPU that is understood as it is, but for those of
 * `changed`; in the arena. */
const char *relayout_file(struct arena *a, const char *layout, const struct demand_node *node, const struct relayout_gpu *changed,
                          uint32_t changed_n);
/* Takes the change over into n->gpus, with those that it is for. */
void relayout_note(struct relayout_node *n, const struct relayout_world *w, const struct demand_change *c, struct arena *a);
void relayout_gpus_free(struct relayout_node *n);
/* The merge patch; in the arena. */
struct json *relayout_patch(struct arena *a, const char *layout, const char *layouts);
/* Events on the node and on those that it is for. */
void relayout_tell(struct scheduler *s, const struct relayout_node *n);
void relayout_complain(struct scheduler *s, struct relayout_node *n, const char *reason, const char *text); /* once */
/* Do the node's GPUs look as wished? */
bool relayout_reached(const struct scheduler *s, const struct relayout_node *n, struct arena *a);

#endif
