/* selector.h - do these labels, taints and ports go together? And deep copies of the record parts that say so
 *
 * SHAPE  a copy is made in two passes over one `struct bump`: first with base NULL to measure, then into one block of that size.
 * SOURCE core/v1 NodeSelectorRequirement, Toleration; meta/v1 LabelSelectorRequirement.
 */
#ifndef CORE_SELECTOR_H
#define CORE_SELECTOR_H
#include <stddef.h>
#include "base/collections/intern.h"
#include "core/flow.h"

struct label_list {
    const struct label *all;
    uint32_t n;
};
/* NULL when absent; an empty value (0) is present. */
const struct label *label_find(struct label_list labels, name_id key);
bool labels_contain(struct label_list labels, const struct label *wanted, uint32_t wanted_n);

/* node_name: what matchFields metadata.name is compared with; 0 for pods and namespaces. */
bool requirement_matches(const struct requirement *r, struct label_list labels, name_id node_name, const struct intern *names);
bool selector_matches(const struct selector *sel, struct label_list labels, name_id node_name, const struct intern *names);
bool node_terms_match(const struct shape *shape, struct label_list labels, name_id node_name, const struct intern *names);

bool toleration_covers(const struct toleration *t, const struct taint *taint);
/* First NoSchedule or NoExecute taint that neither list of tolerations covers, or NULL. */
const struct taint *taint_untolerated(const struct taint *taints, uint32_t taints_n, const struct toleration *a, uint32_t a_n,
                                      const struct toleration *b, uint32_t b_n);
bool port_conflicts(const struct host_port *a, const struct host_port *b);

struct bump {
    char *base; /* NULL: only measure */
    size_t n;
};
void *bump_copy(struct bump *b, const void *from, size_t count, size_t size);
struct selector bump_selector(struct bump *b, const struct selector *from);
void bump_shape(struct bump *b, const struct shape *from, struct shape *ret_shape);

#endif
