/* what_if_objects.h - what `capstan sim what-if` asks about: objects of a file as the server would store them, put the way that the
 *                     scheduler reads them
 *
 *   file ──▶ documents ──server-side apply, as a dry run──▶ objects ──▶ a Job of a queue: its Workload; a Node: ready
 */
#ifndef CLI_WHAT_IF_OBJECTS_H
#define CLI_WHAT_IF_OBJECTS_H
#include "cli/connect.h"

/* An array, in the arena. NULL: the error says which document and what is wrong. */
struct json *what_if_objects(struct connection *c, struct arena *a, const char *path, struct err *e);

#endif
