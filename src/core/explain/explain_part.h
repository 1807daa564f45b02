/* explain_part.h - parts of explain.c that stand in their own file */
#ifndef CORE_EXPLAIN_PART_H
#define CORE_EXPLAIN_PART_H
#include "core/explain/explain.h"

/* The sentence of a reason about topologies; false: it is about something else. */
bool explain_domains(struct buf *out, const struct reason *r, const struct intern *names);

#endif
