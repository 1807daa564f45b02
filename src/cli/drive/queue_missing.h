/* queue_missing.h - a LocalQueue that is not there: which are, or where there is one of that name */
#ifndef CLI_DRIVE_QUEUE_MISSING_H
#define CLI_DRIVE_QUEUE_MISSING_H
#include "cli/connect.h"

/* One sentence, in the arena: "there is no LocalQueue Q in namespace N; there are: ..."; with `anywhere` in which namespace one is. */
const char *queue_missing_text(struct connection *c, struct arena *a, const char *queue, bool anywhere);

#endif
