/* entry_table.h - the entries of one kind by namespace and name
 *
 * SHAPE  power of two many slots, at most three quarters of them taken; linear probing; removal shifts followers back.
 * WHY    beside the sorted array: a search in it meets fourteen names of 10,000, each in memory that nobody has near.
 * OWNER  holds pointers only.
 */
#ifndef APISERVER_ENTRY_TABLE_H
#define APISERVER_ENTRY_TABLE_H
#include <stddef.h>
#include <stdint.h>

struct entry;
struct entry_slot {
    struct entry *entry; /* NULL = free */
    uint32_t hash;       /* WHY here, too: entries of other names that are met on the way stay unread */
};
struct entry_table { /* {0} is empty */
    struct entry_slot *slots;
    size_t slots_n, n;
};
struct entry *entry_table_find(const struct entry_table *t, const char *ns, const char *name); /* NULL: none */
void entry_table_add(struct entry_table *t, struct entry *x);          /* none of its name is there */
void entry_table_remove(struct entry_table *t, const struct entry *x); /* it is there */
void entry_table_fini(struct entry_table *t);

#endif
