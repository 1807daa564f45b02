/* http_socket.c - libcurl's descriptors and timer on the loop
 *
 * WHY  libcurl stops watching a connection after each request and starts again with the next; each change costs system calls. A
 *      descriptor that we opened for libcurl stays watched for reading while it is idle and is let go when libcurl closes it. One that was
 *      not connected yet it closes without a word: after a call that ended before its time we look which are still there.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "net/http_curl.h"

struct curl_socket {
    struct loop_poll *poll;
    struct curl_client *c;
    int fd;
    bool is_ours; /* opened by socket_open, so socket_close will be called */
    bool is_idle; /* libcurl wants no events now */
    ino_t inode;  /* of one that is ours */
};

static void socket_ready(void *arg, int events)
{
    struct curl_socket *s = arg;
    struct curl_client *c = s->c;
    int running = 0;
    if (s->is_idle) { /* the peer closed or spoke unasked: libcurl finds out when it takes the connection again */
        loop_poll_set(s->poll, 0);
        return;
    }
    c->inside++;
    (void)curl_multi_socket_action(
        c->multi, s->fd, (events & LOOP_READ ? CURL_CSELECT_IN : 0) | (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0),
        &running); /* per-call errors come with curl_multi_info_read */
    c->inside--;
    c->progressed(c);
}

static struct curl_socket *socket_add(struct curl_client *c, int fd)
{
    size_t old = c->sockets_cap;
    MEM_RESERVE(c->sockets, c->sockets_cap, (size_t)fd + 1);
    if (c->sockets_cap > old)
        memset(c->sockets + old, 0, (c->sockets_cap - old) * sizeof(struct curl_socket *));
    if (c->sockets[fd])
        return c->sockets[fd];
    struct curl_socket *s = mem_zero(1, sizeof *s);
    s->c = c;
    s->fd = fd;
    s->poll = loop_poll_new(c->base.l, fd, socket_ready, s);
    c->sockets[fd] = s;
    return s;
}

static void socket_drop(struct curl_client *c, int fd)
{
    if ((size_t)fd >= c->sockets_cap || !c->sockets[fd])
        return;
    loop_poll_free(c->sockets[fd]->poll);
    free(c->sockets[fd]);
    c->sockets[fd] = NULL;
}

static int socket_wanted(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    (void)easy;
    (void)unused;
    struct curl_client *c = arg;
    if (what == CURL_POLL_REMOVE) {
        struct curl_socket *s = (size_t)fd < c->sockets_cap ? c->sockets[fd] : NULL;
        if (s && s->is_ours)
            s->is_idle = true;
        else
            socket_drop(c, fd);
        return 0;
    }
    struct curl_socket *s = socket_add(c, fd);
    s->is_idle = false;
    loop_poll_set(s->poll, (what & CURL_POLL_IN ? LOOP_READ : 0) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0));
    return 0;
}

static curl_socket_t socket_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    socket_drop(arg, fd);
    struct curl_socket *s = socket_add(arg, fd);
    struct stat st;
    s->is_ours = true;
    s->inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
    return fd;
}

void http_socket_sweep(struct curl_client *c)
{
    struct stat st;
    for (size_t fd = 0; fd < c->sockets_cap; fd++) {
        const struct curl_socket *s = c->sockets[fd];
        if (s && s->is_ours && (fstat(s->fd, &st) != 0 || st.st_ino != s->inode))
            socket_drop(c, (int)fd);
    }
}

static int socket_close(void *arg, curl_socket_t fd)
{
    socket_drop(arg, fd);
    return close(fd);
}

static void timer_due(void *arg)
{
    struct curl_client *c = arg;
    int running = 0;
    c->inside++;
    (void)curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
                                   &running); /* per-call errors come with curl_multi_info_read */
    c->inside--;
    c->progressed(c);
}

static int timer_wanted(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct curl_client *c = arg;
    if (timeout_ms < 0)
        loop_timer_stop(c->timer);
    else
        loop_timer_start(c->timer, timeout_ms, 0);
    return 0;
}

void http_socket_init(struct curl_client *c)
{
    c->timer = loop_timer_new(c->base.l, timer_due, c);
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
}

void http_socket_easy(struct curl_call *k)
{
    curl_easy_setopt(k->easy, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(k->easy, CURLOPT_OPENSOCKETDATA, k->c);
    curl_easy_setopt(k->easy, CURLOPT_CLOSESOCKETFUNCTION, socket_close);
    curl_easy_setopt(k->easy, CURLOPT_CLOSESOCKETDATA, k->c);
}

void http_socket_fini(struct curl_client *c)
{
    for (size_t fd = 0; fd < c->sockets_cap; fd++)
        socket_drop(c, (int)fd);
    free(c->sockets);
    loop_timer_free(c->timer);
}
