/* device_plugin_watch.c - lock, inotify and a slow look at everything in case that an event was missed */
#include "agent/plugin/device_plugin_watch.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/log.h"
#include "base/memory.h"

enum {
    OPEN_AGAIN_MS = 1000,
    LOOK_MS = 30000,         /* everything is looked at, also when inotify says nothing */
    LOOK_BLIND_MS = 1000,    /* without inotify */
    EVENTS_BYTES = 16 << 10,
};

struct plugin_watch {
    struct loop *loop;
    struct plugin_watch_config config;
    char *directory, *kubelet_socket;
    const char *kubelet_name; /* within kubelet_socket */
    int directory_fd, inotify_fd, directory_wd, kubelet_wd;
    struct loop_poll *poll;
    struct loop_timer *timer;
    dev_t kubelet_device;
    ino_t kubelet_inode; /* 0: not there */
    struct err said;     /* the last reason that was logged */
};

static void watch_say(struct plugin_watch *w, const struct err *e)
{
    if (!text_equal(w->said.text, e->text))
        log_error("device plugin waits reason=\"%s\"", e->text);
    w->said = *e;
}

/* True when kubelet.sock is another file than at the last look. */
static bool kubelet_look(struct plugin_watch *w)
{
    struct stat st;
    bool there = lstat(w->kubelet_socket, &st) == 0;
    bool other = there && (st.st_ino != w->kubelet_inode || st.st_dev != w->kubelet_device);
    w->kubelet_inode = there ? st.st_ino : 0;
    w->kubelet_device = there ? st.st_dev : 0;
    return other;
}

static void watch_close(struct plugin_watch *w)
{
    loop_poll_free(w->poll);
    w->poll = NULL;
    fd_close_p(&w->inotify_fd);
    fd_close_p(&w->directory_fd);
    w->inotify_fd = w->directory_fd = w->directory_wd = w->kubelet_wd = -1;
    w->kubelet_inode = 0;
}

static void watch_lost(struct plugin_watch *w)
{
    watch_close(w);
    loop_timer_start(w->timer, OPEN_AGAIN_MS / 10, 0);
    w->config.closed(w->config.ctx);
}

struct events_seen { bool lost, came, removed; };

static void event_note(const struct plugin_watch *w, const struct inotify_event *event, struct events_seen *seen)
{
    const char *name = event->len ? event->name : "";
    if (event->mask & IN_Q_OVERFLOW)
        seen->came = seen->removed = true;
    else if (event->wd == w->directory_wd && event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT))
        seen->lost = true;
    else if (event->wd == w->kubelet_wd && event->mask & (IN_CREATE | IN_MOVED_TO) && text_equal(name, w->kubelet_name))
        seen->came = true;
    else if (event->mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO))
        seen->removed = true;
}

static void watch_ready(void *arg, int loop_events)
{
    struct plugin_watch *w = arg;
    union {
        struct inotify_event event; /* for its alignment */
        char bytes[EVENTS_BYTES];
    } u;
    struct events_seen seen = {0};
    ssize_t n;
    while ((n = read(w->inotify_fd, u.bytes, sizeof u.bytes)) > 0)
        for (char *at = u.bytes; at < u.bytes + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            event_note(w, event, &seen);
            at += sizeof *event + event->len;
        }
    if (seen.lost) {
        watch_lost(w);
        return;
    }
    if (seen.removed)
        w->config.check(w->config.ctx);
    if (seen.came) {
        (void)kubelet_look(w);
        w->config.kubelet_came(w->config.ctx);
    }
}

static void inotify_start(struct plugin_watch *w)
{
    const uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->inotify_fd >= 0)
        w->directory_wd = inotify_add_watch(w->inotify_fd, w->directory, mask);
    if (w->directory_wd < 0) {
        log_warning("device plugin has no inotify reason=\"%s\" instead=\"looks every second\" "
                    "advice=\"raise fs.inotify.max_user_instances and max_user_watches\"", strerror(errno));
        fd_close_p(&w->inotify_fd);
        w->inotify_fd = -1;
        return;
    }
    _cleanup_free_ char *kubelet_directory = mem_text_n(w->kubelet_socket, (size_t)(w->kubelet_name - w->kubelet_socket));
    w->kubelet_wd = inotify_add_watch(w->inotify_fd, kubelet_directory[0] ? kubelet_directory : ".", mask);
    w->poll = loop_poll_new(w->loop, w->inotify_fd, watch_ready, w);
    loop_poll_set(w->poll, LOOP_READ);
}

static int watch_open(struct plugin_watch *w, struct err *e)
{
    w->directory_fd = open(w->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->directory_fd < 0)
        return err_errno(e, errno, "directory %s (made by the kubelet)", w->directory);
    if (flock(w->directory_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, E_EXISTS, "directory %s: another capstan agent of this node holds it; stop that one first", w->directory);
    inotify_start(w);
    return 0;
}

static void watch_look(struct plugin_watch *w)
{
    struct stat now, held;
    if (stat(w->directory, &now) < 0 || fstat(w->directory_fd, &held) < 0 || now.st_ino != held.st_ino || now.st_dev != held.st_dev) {
        watch_lost(w);
        return;
    }
    w->config.check(w->config.ctx);
    if (kubelet_look(w))
        w->config.kubelet_came(w->config.ctx);
}

static void watch_timer(void *arg)
{
    struct plugin_watch *w = arg;
    struct err e;
    if (w->directory_fd >= 0) {
        watch_look(w);
        return;
    }
    if (watch_open(w, &e) < 0) {
        watch_say(w, &e);
        watch_close(w);
        loop_timer_start(w->timer, OPEN_AGAIN_MS, 0);
        return;
    }
    w->said = (struct err){0};
    int64_t look_ms = w->poll ? LOOK_MS : LOOK_BLIND_MS;
    loop_timer_start(w->timer, look_ms, look_ms);
    (void)kubelet_look(w);
    w->config.opened(w->config.ctx);
}

struct plugin_watch *plugin_watch_new(struct loop *l, const struct plugin_watch_config *config)
{
    struct plugin_watch *w = mem_zero(1, sizeof *w);
    w->loop = l;
    w->config = *config;
    w->directory = mem_text(config->directory);
    w->kubelet_socket = mem_text(config->kubelet_socket);
    const char *slash = strrchr(w->kubelet_socket, '/');
    w->kubelet_name = slash ? slash + 1 : w->kubelet_socket;
    w->directory_fd = w->inotify_fd = w->directory_wd = w->kubelet_wd = -1;
    w->timer = loop_timer_new(l, watch_timer, w);
    loop_timer_start(w->timer, 0, 0);
    return w;
}

void plugin_watch_free(struct plugin_watch *w)
{
    if (!w)
        return;
    watch_close(w);
    loop_timer_free(w->timer);
    free(w->directory);
    free(w->kubelet_socket);
    free(w);
}
