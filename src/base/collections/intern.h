/* intern.h - texts become small numbers, for as long as somebody needs them
 *
 * SHAPE  ids are dense from 1; 0 is "none". While an id is in use, the same text always has the same id in one pool.
 * OWNER  texts are copied. An id, and what intern_name returned for it, is good until the next intern_sweep, unless it was marked: whoever
 *        keeps one for longer marks it before each sweep. Ids that nobody marked go, and are given to other texts later.
 *        A pool that is never swept keeps everything.
 * ORDER  ids say nothing about the order of texts; whatever must be the same on two machines compares texts, or intern_hash.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H
#include <stdbool.h>
#include <stdint.h>
#include "base/bytes.h"

struct intern;
struct intern *intern_new(void);
void intern_free(struct intern *in);
uint32_t intern_id(struct intern *in, struct bytes text);         /* adds when new */
uint32_t intern_text_id(struct intern *in, const char *text);     /* NULL or "" gives 0 */
uint32_t intern_find(const struct intern *in, struct bytes text); /* 0 when absent */
const char *intern_name(const struct intern *in, uint32_t id);    /* NUL terminated; "" for 0; an id that has gone is a fault of ours */
uint32_t intern_hash(const struct intern *in, uint32_t id);       /* of the text, whatever its id; 0 for 0 */
uint32_t intern_count(const struct intern *in);                   /* highest id */

void intern_mark(struct intern *in, uint32_t id);      /* it stays; 0 is fine */
void intern_sweep(struct intern *in);                  /* whatever is not marked goes; marks are taken off */
/* Is a sweep worth its time? There are `least` names or more, and twice as many as the last one left. */
bool intern_sweep_due(const struct intern *in, uint32_t least);

#endif
