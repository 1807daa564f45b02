/* loaded.c - see loaded.h */
#include "agent/config/loaded.h"
#include <stdlib.h>
#include "base/collections/map.h"

struct kept {
    struct kept *next;
    uint64_t hash;
    struct agent_loaded *loaded;
};
struct config_cache {
    struct kept *first; /* few: those in use */
    uint64_t made_n;
};

void agent_loaded_unref(struct agent_loaded *c)
{
    if (!c || --c->refs > 0)
        return;
    arena_free(c->arena);
    free(c);
}

struct config_cache *config_cache_new(void)
{
    return mem_zero(1, sizeof(struct config_cache));
}

static void drop(struct kept **at)
{
    struct kept *k = *at;
    *at = k->next;
    agent_loaded_unref(k->loaded);
    free(k);
}

void config_cache_free(struct config_cache *c)
{
    while (c && c->first)
        drop(&c->first);
    free(c);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text) + 1, seed);
}

uint64_t config_hash(const char *text, const struct config_setting *settings, uint32_t settings_n)
{
    uint64_t h = hash_text(text, settings_n);
    for (uint32_t i = 0; i < settings_n; i++)
        h = hash_text(settings[i].value, hash_text(settings[i].path, h + settings[i].weak));
    return h;
}

/* Those that nobody uses any more go on the way. */
static struct agent_loaded *find(struct config_cache *c, uint64_t hash)
{
    struct agent_loaded *found = NULL;
    for (struct kept **at = &c->first; *at;) {
        if ((*at)->hash == hash)
            found = (*at)->loaded;
        else if ((*at)->loaded->refs == 1) {
            drop(at);
            continue;
        }
        at = &(*at)->next;
    }
    return found;
}

int agent_loaded_make(struct config_cache *cache, const char *text, const struct config_setting *settings, uint32_t settings_n,
                      struct agent_loaded **ret_loaded, struct buf *warnings, struct err *e)
{
    uint64_t hash = cache ? config_hash(text, settings, settings_n) : 0;
    struct agent_loaded *c = cache ? find(cache, hash) : NULL;
    if (!c) {
        c = mem_zero(1, sizeof *c);
        c->refs = 1;
        c->arena = arena_new();
        int r = agent_config_parse(c->arena, bytes_of(arena_text(c->arena, text)), settings, settings_n, &c->config, warnings, e);
        if (r < 0) {
            agent_loaded_unref(c);
            return r;
        }
        if (cache) {
            c->number = ++cache->made_n;
            struct kept *k = mem_alloc(sizeof *k);
            *k = (struct kept){cache->first, hash, c};
            cache->first = k;
            c->refs++;
        }
    } else {
        c->refs++;
    }
    *ret_loaded = c;
    return 0;
}
