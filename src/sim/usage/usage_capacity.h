/* usage_capacity.h - GPU-seconds that the nodes of a simulated cluster had, whether anybody was given them or not
 *
 * UNIT   seconds are simulated ones, as usage_sim.h's. A node counts while its object lists GPUs, each physical one once.
 */
#ifndef SIM_USAGE_CAPACITY_H
#define SIM_USAGE_CAPACITY_H
#include "exporter/account/usage.h"
#include "wire/json.h"

struct usage_capacity_book;
struct usage_capacity_book *usage_capacity_book_new(double speed);
void usage_capacity_book_free(struct usage_capacity_book *b); /* NULL-safe */
/* The node as it is from now_ms (the loop's time) on; NULL: it is gone. */
void usage_capacity_book_node(struct usage_capacity_book *b, const char *name, const struct json *node, int64_t now_ms);
uint32_t usage_capacity_book_nodes_n(const struct usage_capacity_book *b);
/* What has come together since the last time that this succeeded. */
int usage_capacity_book_write(struct usage_capacity_book *b, struct usage_store *store, int64_t now_ms, double wall_s, struct err *e);

#endif
