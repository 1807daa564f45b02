/* pod_resources.h - the kubelet's podresources API v1: who was given what. SOURCE Kubernetes, podresources/v1 */
#ifndef AGENT_POD_RESOURCES_H
#define AGENT_POD_RESOURCES_H
#include "agent/inventory/pod_absence.h"
#include "net/grpc/grpc.h"

#define LIMIT_POD_RESOURCES 4096 /* devices that containers have: five times LIMIT_DEVICES_PER_NODE, there are NICs and others too */

struct pod_resources;
/* fn: owners of slots of all resources, good during the call; n = 0 also when no pod has any. code < 0: the kubelet did not answer
 * (-E_AGAIN: not there, or too slow), -E_PROTO: it answered nonsense. Never called within pod_resources_list; may free `p`. */
typedef void (*pod_resources_fn)(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e);
struct pod_resources *pod_resources_new(struct loop *l, const char *socket_path);
void pod_resources_free(struct pod_resources *p); /* NULL-safe; callbacks that are due do not come */
void pod_resources_list(struct pod_resources *p, pod_resources_fn fn, void *arg); /* one call at a time: further ones join it */
/* Within fn: all pods of the answer, also those without devices. */
const struct pod_name *pod_resources_named(const struct pod_resources *p, uint32_t *ret_n);
/* By (resource, slot, namespace, pod, container), each once: kubelets list a device once for each NUMA node. A slot has two owners while a
 * pod that has ended is still listed. Kubelets that have only v1alpha1 are asked with that. -E_PROTO; -E_LIMIT: more than
 * LIMIT_POD_RESOURCES. */
int pod_resources_parse(struct arena *a, struct bytes list_response, struct slot_owner **ret_owners, uint32_t *ret_n, struct err *e);
/* Each pod once or more, in the answer's order; those without a name are left out. -E_PROTO. */
int pod_resources_parse_names(struct arena *a, struct bytes list_response, struct pod_name **ret_names, uint32_t *ret_n);

#endif
