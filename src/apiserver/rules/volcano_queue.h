/* volcano_queue.h - which Queues of Volcano may not be deleted */
#ifndef APISERVER_VOLCANO_QUEUE_H
#define APISERVER_VOLCANO_QUEUE_H
#include "apiserver/server.h"

/* As Volcano's webhook. SOURCE volcano pkg/webhooks/admission/queues */
int volcano_queue_stays(struct apiserver *s, struct arena *a, const struct json *queue, struct err *e);

#endif
