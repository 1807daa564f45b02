/* configuration_file.h - --config FILE: Kueue's Configuration for the commands that schedule */
#ifndef CLI_CONFIGURATION_FILE_H
#define CLI_CONFIGURATION_FILE_H
#include "cli/options.h"
#include "codec/configuration/configuration.h"

/* The file at `path`, NULL: what is so without one. What does nothing is said on stderr, a line each. EXIT_OK, or all that is wrong was
 * said. Texts stand in `a`. */
int configuration_file_take(const struct options *o, const char *path, struct arena *a, struct configuration *ret_configuration);

#endif
