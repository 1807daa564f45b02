/* pod.h - what the server tells of a new pod, and how long an old one may take to end */
#ifndef APISERVER_POD_H
#define APISERVER_POD_H
#include "apiserver/apply/object_write.h"

/* SOURCE Kubernetes: a pod that is created with scheduling gates says so at once. After admission, which may add one. */
void pod_tell_gates(struct object_write *w);
/* Grace that a deletion gives: only a pod on a node that still runs has a kubelet that ends it. wanted -1: as the pod says. */
int64_t pod_grace(const struct json *pod, int64_t wanted);

#endif
