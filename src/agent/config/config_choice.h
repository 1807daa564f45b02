/* config_choice.h - which entry of a ConfigMap a node's agent uses. Pure.
 *
 *     the node's label ─▶ --config-default ─▶ entry "default" ─▶ the only entry ─▶ none: the defaults
 * SOURCE k8s-device-plugin, cmd/config-manager
 */
#ifndef AGENT_CONFIG_CHOICE_H
#define AGENT_CONFIG_CHOICE_H
#include <stdbool.h>
#include <stdint.h>

enum config_choice {
    CONFIG_CHOICE_ENTRY,   /* keys[*ret_at] */
    CONFIG_CHOICE_MISSING, /* *ret_wanted was asked for, and is not there */
    CONFIG_CHOICE_NONE     /* nobody asked, and none stands out */
};
struct config_wish { /* NULL or "": not set */
    const char *label, *preset;
};
enum config_choice config_choose(const char *const *keys, uint32_t n, struct config_wish wish, uint32_t *ret_at, const char **ret_wanted);
/* The entry with this name; n: none. */
uint32_t config_entry_find(const char *const *keys, uint32_t n, const char *key);

#endif
