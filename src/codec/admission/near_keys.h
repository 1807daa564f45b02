/* near_keys.h - labels and annotations that are nearly ones that something reads: nobody refuses them, and nothing comes of them
 *
 * WHY  not in the server: a cluster may have keys of its own, and whoever writes a manifest can tell them apart.
 */
#ifndef CODEC_NEAR_KEYS_H
#define CODEC_NEAR_KEYS_H
#include "wire/json.h"

/* In metadata, and in that of templates: says each with its path and what may have been meant. */
void near_keys_look(struct arena *a, const struct json *object, void (*say)(void *context, const char *path, const char *text),
                    void *context);

#endif
