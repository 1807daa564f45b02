/* state_gang.h - the part of state_apply that takes in gangs, pods and outcomes */
#ifndef CORE_STATE_GANG_H
#define CORE_STATE_GANG_H
#include "core/state/model.h"

void state_apply_gang(struct state *s, const struct gang_record *r);
void state_apply_gang_gone(struct state *s, name_id key);
void state_apply_pod(struct state *s, const struct pod_record *r);
void state_apply_pod_gone(struct state *s, name_id key);
void state_apply_outcome(struct state *s, const struct outcome_record *r);
void gang_free(struct gang *g); /* the memory only */
/* Nothing of it will run any more: finished, or a group whose pods all ended. */
bool gang_is_over(const struct state *s, const struct gang *g);

#endif
