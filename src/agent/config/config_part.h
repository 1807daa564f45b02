/* config_part.h - reading the agent's config: the reader that its parts share (this room only)
 *
 * Every function that reads a value gets its path in the file, or the flag or variable that it came from, for the error text.
 */
#ifndef AGENT_CONFIG_PART_H
#define AGENT_CONFIG_PART_H
#include "agent/config/config.h"
#include "wire/json.h"

struct config_reader {
    struct arena *a;
    struct agent_config *c;
    struct buf *warnings; /* may be NULL */
    const char *prefix;   /* "" or "data.any: " when the file is a ConfigMap */
    struct err *e;
};

/* -E_INVALID with "prefix path: text". */
int config_fail(struct config_reader *r, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
void config_warn(struct config_reader *r, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
/* Text of the input for a message: at most 60 bytes, control characters as '?'. */
const char *config_shown(struct config_reader *r, const char *text);
/* What kind of value this is, for messages: "a list", "the number 3", "the text \"x\"". */
const char *config_kind(struct config_reader *r, const struct json *v);

/* 0 and *ret_v = v, or NULL when absent or null; an error when it is something else than an object or has a key that is not among
 * `keys`. */
int config_object(struct config_reader *r, const struct json *v, const char *path, const char *const *keys, size_t keys_n,
                  const struct json **ret_v);
/* The same for a list; LIMIT_AGENT_CONFIG_ENTRIES. */
int config_list(struct config_reader *r, const struct json *v, const char *path, const struct json **ret_v);
int config_bool(struct config_reader *r, const struct json *v, const char *path, bool *ret_value);
int config_text(struct config_reader *r, const struct json *v, const char *path, const char **ret_value);
int config_count(struct config_reader *r, const struct json *v, const char *path, int64_t min, int64_t max, uint32_t *ret_value);
/* "gpu", "nvidia.com/gpu" -> with prefix. */
int config_resource_name(struct config_reader *r, const struct json *v, const char *path, const char **ret_name);

/* The only YAML document of the text; NULL when there is none. -E_INVALID: no YAML, a key twice, several documents; -E_LIMIT: too long. */
int config_document(struct config_reader *r, struct bytes text, const struct json **ret_doc);
/* 1: doc is the manifest of a ConfigMap, *ret_data its data (may be NULL); 0: the config itself. wanted: "a mig-parted file", for
 * messages. */
int config_manifest(struct config_reader *r, const struct json *doc, const char *wanted, const struct json **ret_data);
/* The document under a key of `data`; from now on r->prefix names it. */
int config_manifest_key(struct config_reader *r, const struct json *key, const struct json **ret_doc);

int config_read_flags(struct config_reader *r, const struct json *flags);
int config_read_imex(struct config_reader *r, const struct json *imex);
int config_read_keti(struct config_reader *r, const struct json *keti);
int config_read_sharing(struct config_reader *r, const struct json *sharing);
int config_read_resources(struct config_reader *r, const struct json *resources);
int config_apply_setting(struct config_reader *r, const struct config_setting *s);

#endif
