/* agent_foreign.h - options of the programs that capstan agent replaces which have no meaning here: their DaemonSets still run, and are
 * told */
#ifndef CLI_AGENT_FOREIGN_H
#define CLI_AGENT_FOREIGN_H
#include <stdbool.h>

/* Why this option (without dashes) has no meaning here; NULL: it is not known at all. *ret_is_switch: it takes no value. */
const char *agent_foreign_why(const char *name, bool *ret_is_switch);

#endif
