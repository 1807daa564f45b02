/* device_plugin_watch.h - inside device_plugin: what happens in the kubelet's directory
 *
 * The directory is ours alone: a lock on it (flock, gone with the process) keeps a second agent of the same node out. It may come later, go
 * and come back. Without inotify (fs.inotify.max_user_instances is used up on busy nodes) `check` is called every second.
 */
#ifndef AGENT_DEVICE_PLUGIN_WATCH_H
#define AGENT_DEVICE_PLUGIN_WATCH_H
#include "base/err.h"
#include "loop/loop.h"

struct plugin_watch;
struct plugin_watch_config {
    const char *directory, *kubelet_socket;
    void (*opened)(void *ctx);       /* the directory is there and ours */
    void (*closed)(void *ctx);       /* it has gone */
    void (*kubelet_came)(void *ctx); /* kubelet.sock was made or replaced */
    void (*check)(void *ctx);        /* something was removed, or it is time to look: are our sockets there? */
    void *ctx;
};
struct plugin_watch *plugin_watch_new(struct loop *l, const struct plugin_watch_config *config); /* opens in the next turn */
void plugin_watch_free(struct plugin_watch *w); /* NULL-safe */

#endif
