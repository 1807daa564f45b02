/* cli.h - the commands: one file each, one function each. They get what was parsed and return an exit code.
 *
 * Which there are and what they take: data/commands.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "cli/options.h"

#define X(name) int name##_main(const struct options *o);
COMMANDS(X)
#undef X

#endif
