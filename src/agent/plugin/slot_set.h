/* slot_set.h - slots of one resource, by id */
#ifndef AGENT_SLOT_SET_H
#define AGENT_SLOT_SET_H
#include <stdbool.h>
#include <stdint.h>

struct slot_set {
    char **ids; /* sorted; its own */
    uint32_t n;
};
struct slot_set slot_set_make(const char *const *ids, uint32_t n); /* ids NULL: an empty one */
struct slot_set slot_set_copy(const struct slot_set *s);
void slot_set_free(struct slot_set *s); /* it is empty then */
void slot_set_swap(struct slot_set *a, struct slot_set *b);
bool slot_set_equal(const struct slot_set *a, const struct slot_set *b);
bool slot_set_has(const struct slot_set *s, const char *id);
bool slot_sets_meet(const struct slot_set *a, const struct slot_set *b); /* some slot is in both */

#endif
