/* state_unused.h - queues, cohorts, flavors and namespaces that nobody mentions any more
 *
 * They are made as soon as somebody names them and may be named again, so they do not go at once: this is called now and then.
 */
#ifndef CORE_STATE_UNUSED_H
#define CORE_STATE_UNUSED_H
#include "core/state/model.h"

/* Between cycles. The rest keeps its order; indexes change. */
void state_drop_unused(struct state *s);

#endif
