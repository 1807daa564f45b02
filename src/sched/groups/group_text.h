/* group_text.h - does a PodGroup of Volcano's say anything else to the core than it said before?
 *
 * WHY    each is written several times by this scheduler, which tells its phase: what comes back by the watch is no news, and its text says
 *        so without a tree.
 */
#ifndef SCHED_GROUP_TEXT_H
#define SCHED_GROUP_TEXT_H
#include "base/bytes.h"

enum { GROUP_PHASE_MAX = 24 };

/* Hash of the text, which is without managedFields, but for its version and its status, of which it takes whether that says Completed.
 * 0: nobody can tell from it (it is to restart when hung, or is no PodGroup). ret_phase: status.phase, "" = it has none. */
uint64_t group_text_hash(struct bytes object, char ret_phase[GROUP_PHASE_MAX]);

#endif
