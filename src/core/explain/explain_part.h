/* explain_part.h - parts of explain.c that stand in their own files */
#ifndef CORE_EXPLAIN_PART_H
#define CORE_EXPLAIN_PART_H
#include "core/explain/explain.h"

/* The sentence of a reason about topologies; false: it is about something else. */
bool explain_domains(struct buf *out, const struct reason *r, const struct intern *names);
/* The same about who goes for whom, and why nobody goes; of the latter not what is said of lone pods. */
bool explain_preempt(struct buf *out, const struct reason *r, const struct intern *names);
const char *explain_last_part(const char *key); /* "ns/name": the name */
void explain_amount(struct buf *out, const struct intern *names, name_id resource, int64_t value);
void explain_not_before(struct buf *out, const struct reason *r); /* LACK_EARLY, LACK_DELAY */
void explain_kept_over_quota(struct buf *out, const struct reason *r, const struct intern *names);
void explain_free_short(struct buf *out, const struct reason *r, const struct intern *names);
/* What is said of each of the parts, those without a word left out; `before` where there is any. ORDER  by text. */
typedef void explain_part(struct buf *out, const struct reason *r, const struct intern *names);
void explain_sorted(struct buf *out, const char *before, const struct reason *parts, explain_part *say, const struct intern *names);
/* The sentence of remedies, and what they consist of; false: it is about something else. `say`: what is wrong with a queue, say. */
bool explain_remedies(struct buf *out, const struct reason *r, const struct intern *names, explain_part *say);

/* The sentence of a start that is promised, of who is kept out by it, and of the limit that helps; false: it is about something else. */
bool explain_starts(struct buf *out, const struct reason *r, const struct intern *names);
int64_t explain_about_ms(const struct reason *r); /* the start that it is about; 0: none */

#endif
