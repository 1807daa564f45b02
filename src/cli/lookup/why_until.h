/* why_until.h - until when a holder holds, where it is known: its own limit of time ends it at the latest */
#ifndef CLI_LOOKUP_WHY_UNTIL_H
#define CLI_LOOKUP_WHY_UNTIL_H
#include "cli/connect.h"
#include "wire/json.h"

/* Each change "end" of the remedies whose holder has such a limit gets "until", and the remedy's message says it. */
void why_until(struct connection *c, struct arena *a, struct json *remedies);

/* After that: when the remedy that comes first by itself is there at the latest, since all that it is made of ends by then. 0: none is. */
int64_t why_until_comes_ms(const struct json *remedies);

#endif
