/* why_until.h - whose job a holder is, and until when it holds, where that is known: its own limit of time ends it at the latest */
#ifndef CLI_LOOKUP_WHY_UNTIL_H
#define CLI_LOOKUP_WHY_UNTIL_H
#include "cli/connect.h"
#include "wire/json.h"

/* Each change "end" or "move" of the remedies that is of the Workload of a job gets "job" {kind, name}, by which people know it; "end" of
 * somebody with such a limit gets "until". The remedy's message says both. */
void why_until(struct connection *c, struct arena *a, struct json *remedies);

/* After that: when the remedy that comes first by itself is there at the latest, since all that it is made of ends by then. 0: none is. */
int64_t why_until_comes_ms(const struct json *remedies);

#endif
