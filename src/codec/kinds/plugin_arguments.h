/* plugin_arguments.h - arguments of a Volcano Job's plugins: ["--port=22", "-master", "m"]
 *
 * SOURCE Volcano reads them with Go's flags: one dash or two, "--name=value" or the value as the next word. What has no number where one
 * is wanted counts as not given.
 */
#ifndef CODEC_PLUGIN_ARGUMENTS_H
#define CODEC_PLUGIN_ARGUMENTS_H
#include "wire/json.h"

/* The value, "true" for a bare --name; NULL when not given. The last one wins. */
const char *plugin_argument(const struct json *list, const char *name);
const char *plugin_argument_text(const struct json *list, const char *name, const char *fallback); /* not given or empty: fallback */
bool plugin_argument_true(const struct json *list, const char *name, bool fallback);
int64_t plugin_argument_port(const struct json *list, const char *name, int64_t fallback);

#endif
