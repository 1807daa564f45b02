/* webhook.h - webhooks and admission policies: stored, and said to be without effect */
#ifndef APISERVER_WEBHOOK_H
#define APISERVER_WEBHOOK_H
#include "apiserver/apply/object_write.h"

void webhook_admit(struct object_write *w);
void admission_policy_admit(struct object_write *w);

#endif
