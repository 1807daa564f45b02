/* what_if_objects.h - what `capstan sim what-if` asks about: objects of a file as the server would store them, put the way that the
 *                     scheduler reads them
 *
 *   file ──▶ documents ──server-side apply, as a dry run──▶ objects ──▶ a job or pod of a queue: its Workload; a Node: ready
 *                                                                   └─▶ of no queue: its pods (what_if_pods.h), and of Volcano their group
 */
#ifndef CLI_WHAT_IF_OBJECTS_H
#define CLI_WHAT_IF_OBJECTS_H
#include "cli/connect.h"

/* An array, in the arena. NULL: the error says which document and what is wrong. */
struct json *what_if_objects(struct connection *c, struct arena *a, const char *path, struct err *e);
/* The same of documents that are read already, and are not changed. */
struct json *what_if_objects_of(struct connection *c, struct arena *a, const struct json *documents, struct err *e);

#endif
