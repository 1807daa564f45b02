/* config_choice.c - see config_choice.h */
#include "agent/config/config_choice.h"
#include "base/bytes.h"

uint32_t config_entry_find(const char *const *keys, uint32_t n, const char *key)
{
    uint32_t at = 0;
    while (at < n && !text_equal(keys[at], key))
        at++;
    return at;
}

enum config_choice config_choose(const char *const *keys, uint32_t n, struct config_wish wish, uint32_t *ret_at, const char **ret_wanted)
{
    const char *wanted = wish.label && *wish.label ? wish.label : wish.preset;
    if (wanted && *wanted) {
        *ret_wanted = wanted;
        *ret_at = config_entry_find(keys, n, wanted);
        return *ret_at < n ? CONFIG_CHOICE_ENTRY : CONFIG_CHOICE_MISSING;
    }
    *ret_at = config_entry_find(keys, n, "default");
    if (*ret_at == n && n == 1)
        *ret_at = 0;
    return *ret_at < n ? CONFIG_CHOICE_ENTRY : CONFIG_CHOICE_NONE;
}
