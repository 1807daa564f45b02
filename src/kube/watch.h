/* watch.h - list and watch one resource for ever ("reflector")
 *
 * List in pages (limit=500), then watch from the list's resourceVersion with bookmarks; on the end of a stream watch
 * again; on 410 list again; on errors back off (0.2 s doubling to 30 s, jitter). The receiver sees one consistent story:
 *
 *     on_event(ADDED|MODIFIED|DELETED)...  on_synced (after each complete list)  on_event...
 *
 * After a re-list, objects that vanished meanwhile come as DELETED with their last known key only (object =
 * {"metadata":{name,namespace,uid}}). For that the watch keeps (key, uid, resourceVersion) of each object, nothing
 * else. Events that repeat a known resourceVersion are dropped.
 *
 * LIMIT  objects_max: a server that lists without end does not eat the memory of the receiver. Objects beyond it are not told; once others
 *        have gone they are, with their next change or the next list. Those gone at a list make room for what that list has: it is asked
 *        for once more before on_synced.
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H
#include "kube/client.h"

enum kube_event { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED };

struct kube_watch_config {
    const char *path;           /* "/api/v1/pods", "/apis/batch/v1/jobs" */
    /* NULL, or where the same objects are on servers that do not serve `path`: tried in turn, ends with NULL, outlives the watch. Needs
     * `optional`. Which of them is used is found out again once it is not served any more. All that is known is told again then: it has
     * another form. */
    const char *const *older_paths;
    const char *label_selector; /* NULL = none */
    const char *field_selector; /* NULL = none */
    uint32_t objects_max;       /* 0 = no limit */
    bool optional; /* the kind may not exist (404): counts as synced and empty, looked for again every 30 s */
    void (*on_event)(void *arg, enum kube_event event, struct bytes object); /* raw JSON, good during the call */
    void (*on_synced)(void *arg);                                            /* may be NULL */
    void (*on_full)(void *arg); /* may be NULL; once, when the first object is beyond objects_max */
    /* NULL: who may not read the kind (403) waits until he may. Else it is told, once, and counts as synced and empty, as above; what has
     * been read already stays. Who may list and not watch lists every 30 s. */
    void (*on_denied)(void *arg);
    void *arg;
};
struct kube_watch;
struct kube_watch *kube_watch_new(struct kube_client *c, const struct kube_watch_config *config);
void kube_watch_free(struct kube_watch *w);         /* NULL-safe */
bool kube_watch_synced(const struct kube_watch *w); /* the first complete list has been delivered */
struct bytes kube_watch_key(const struct kube_watch *w); /* "namespace/name" of the object that on_event is being told of */
struct bytes kube_watch_version(const struct kube_watch *w); /* its resourceVersion, likewise */
/* The stored body that this object of on_event is, where the server is in this process; else NULL. Good during the call. */
const struct blob *kube_watch_body(const struct kube_watch *w, struct bytes object);
bool kube_watch_served(const struct kube_watch *w); /* and the server has the kind: false of an optional one that it has not */
const char *kube_watch_path(const struct kube_watch *w); /* that is used now; the first while there is none */
/* Has this object been delivered? key: "ns/name". Of a kind that we may not read: yes, since none ever will be. */
bool kube_watch_knows(const struct kube_watch *w, struct bytes key, const char *uid);

#endif
