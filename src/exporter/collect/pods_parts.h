/* pods_parts.h - inside pods: what the log directories and the watch tell; only pods*.c include it
 *
 *     pods.c        processes, and who asks          pods_logs.c   /var/log/containers, /var/log/pods
 *     pods_watch.c  pods of this node from the API
 */
#ifndef EXPORTER_PODS_PARTS_H
#define EXPORTER_PODS_PARTS_H
#include "exporter/collect/pods.h"

struct pods_logs;
struct pods_logs *pods_logs_new(const char *root);
void pods_logs_free(struct pods_logs *g);
void pods_logs_look(struct pods_logs *g, int64_t wall_ms); /* read again what has changed */
uint64_t pods_logs_generation(const struct pods_logs *g);
/* Texts are good until the next look. */
bool pods_logs_container(struct pods_logs *g, const char *container_id, struct pod_names *ret_names);
bool pods_logs_uid(struct pods_logs *g, const char *uid, struct pod_names *ret_names); /* container: when the pod has only one */
const char *pods_logs_uid_of(struct pods_logs *g, const char *ns, const char *pod);    /* NULL: unknown */

struct watched_pod {
    char *ns, *name, *uid, *queue, *job, *user;
    struct prometheus_label *labels; /* by name; owned with their texts */
    uint32_t labels_n;
};
struct pods_watch;
struct pods_watch *pods_watch_new(const struct pods_config *config);
void pods_watch_free(struct pods_watch *w); /* NULL-safe */
uint64_t pods_watch_generation(const struct pods_watch *w);
const struct watched_pod *pods_watch_name(const struct pods_watch *w, const char *ns, const char *pod); /* w NULL: NULL */
const struct watched_pod *pods_watch_uid(const struct pods_watch *w, const char *uid);

#endif
