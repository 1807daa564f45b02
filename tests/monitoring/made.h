/* made.h - samples of nodes that do not exist, for tests of what is rendered from samples
 *
 * A node is a table: GPUs, instances, who was given what, which processes run. Its values follow from the time alone, so that two readings
 * of the same moment are the same to the byte and counters grow as they should.
 */
#ifndef TESTS_MONITORING_MADE_H
#define TESTS_MONITORING_MADE_H
#include "exporter/pages/page.h"

struct made; /* a node: see made.c */
/* "a100": two A100, a third cut into two 1g.5gb; "shared": two T4 of four shares, three pods on GPU 0; "h100": two H100 with performance
 * monitoring, one cut into 3g, 2g with two compute instances, and 1g; "hostile": names that want to break the page. NULL: no such node. */
const struct made *made_find(const char *name);
/* The sample of moment at_s (seconds since 1970) of a node that began at start_s. One reference. */
const struct sample *made_sample(const struct made *m, double start_s, double at_s);
/* Books of all seconds from start_s to at_s. */
struct account *made_account(const struct made *m, double start_s, double at_s);
/* What the collector would say of itself after n collections. */
struct collect_state made_state(double at_s, uint64_t n, bool stalled);

#endif
