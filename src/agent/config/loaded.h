/* loaded.h - configs that were accepted, counted by those who use them
 *
 * OWNER  what a config's texts point into is its own arena. A cache keeps each config as long as somebody uses it: thousands of simulated
 *        nodes that are asked for the same share one.
 */
#ifndef AGENT_LOADED_H
#define AGENT_LOADED_H
#include "agent/config/config.h"

struct agent_loaded {
    uint32_t refs;
    struct arena *arena;
    struct agent_config config;
    uint64_t number; /* of a cache: another config has another one */
};
void agent_loaded_unref(struct agent_loaded *c); /* NULL-safe */

struct config_cache;
struct config_cache *config_cache_new(void);
void config_cache_free(struct config_cache *c); /* NULL-safe */
uint64_t config_hash(const char *text, const struct config_setting *settings, uint32_t settings_n);
/* agent_config_parse, or what it gave before for the same text and settings. cache NULL: none. The caller gets a reference. */
int agent_loaded_make(struct config_cache *cache, const char *text, const struct config_setting *settings, uint32_t settings_n,
                      struct agent_loaded **ret_loaded, struct buf *warnings, struct err *e);

#endif
