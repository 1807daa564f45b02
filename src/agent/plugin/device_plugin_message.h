/* device_plugin_message.h - inside device_plugin: messages of the kubelet's v1beta1 API, in and out. SOURCE data/proto */
#ifndef AGENT_DEVICE_PLUGIN_MESSAGE_H
#define AGENT_DEVICE_PLUGIN_MESSAGE_H
#include "agent/plugin/allocate.h"

/* One container of an AllocateRequest (ids) or a PreferredAllocationRequest (ids are those available). */
struct plugin_wish {
    const char **ids, **must;
    uint32_t ids_n, must_n;
    int32_t size;
};
/* container_requests of either message. -E_PROTO: malformed. Texts stand in `a`. */
int plugin_allocate_parse(struct arena *a, struct bytes message, struct plugin_wish **ret_wishes, uint32_t *ret_n);
int plugin_preferred_parse(struct arena *a, struct bytes message, struct plugin_wish **ret_wishes, uint32_t *ret_n);

/* ListAndWatchResponse of all slots, in their order. Returns how many are in it: fewer than there are when the message would become longer
 * than one may be. */
uint32_t plugin_list_write(struct buf *out, const struct inventory_snapshot *s, const struct resource *r);
void plugin_allocate_write(struct buf *out, const struct allocate_answer *answer);                  /* one container_responses */
void plugin_preferred_write(struct buf *out, const char *const *slots, uint32_t n);                 /* one container_responses */
void plugin_options_write(struct buf *out);
void plugin_register_write(struct buf *out, const char *endpoint, const char *resource);

#endif
