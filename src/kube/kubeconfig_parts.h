/* kubeconfig_parts.h - inside the kube room: the pieces of kubeconfig_load that tests and the client call */
#ifndef KUBE_KUBECONFIG_PARTS_H
#define KUBE_KUBECONFIG_PARTS_H
#include "kube/kubeconfig.h"

/* The service account of a pod whose files lie in `folder`. -E_NOTFOUND when this is no pod. */
int kubeconfig_load_in_cluster(const char *folder, struct kubeconfig **ret_k, struct err *e);
/* Merge the files of a ':' separated list; `must_exist`: every file has to be there. */
int kubeconfig_load_files(const char *list, bool must_exist, const char *context, struct kubeconfig **ret_k,
                          struct err *e);

enum { LIMIT_KUBECONFIG_BYTES = 1 << 20, LIMIT_KUBECONFIG_FILES = 32 };
/* Whole file as text, at most LIMIT_KUBECONFIG_BYTES. */
int kube_file_read(const char *path, struct buf *out, struct err *e);

struct kubeconfig *kubeconfig_copy(const struct kubeconfig *k);

/* Run the exec plugin and wait (at most 30 s): sets token or client certificate of k. */
int kube_exec_run(struct kubeconfig *k, struct err *e);
/* Take token or certificate out of what a plugin printed. */
int kube_exec_parse(struct kubeconfig *k, struct bytes output, struct err *e);

#endif
