/* intern.h - texts become small numbers, once and for ever
 *
 * SHAPE  ids are dense from 1; 0 is "none". The same text always has the same id in one pool.
 * OWNER  texts are copied and live as long as the pool.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H
#include <stdint.h>
#include "base/bytes.h"

struct intern;
struct intern *intern_new(void);
void intern_free(struct intern *in);
uint32_t intern_id(struct intern *in, struct bytes text);         /* adds when new */
uint32_t intern_text_id(struct intern *in, const char *text);     /* NULL or "" gives 0 */
uint32_t intern_find(const struct intern *in, struct bytes text); /* 0 when absent */
const char *intern_name(const struct intern *in, uint32_t id);    /* NUL terminated; "" for 0 */
uint32_t intern_count(const struct intern *in);                   /* highest id */

#endif
