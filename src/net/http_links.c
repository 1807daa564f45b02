/* http_links.c - which connections are cut: those that say nothing, trickle, or do not read
 *
 * LIMIT  connections_max connections, held_bytes_max of bodies and answers in all of them, request_seconds for a request to come,
 *        idle_seconds and what ANSWER_BYTES_PER_SECOND gives for an answer to be taken. What libmicrohttpd itself limits starts anew at
 *        each byte.
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/memory.h"
#include "net/http_server_part.h"

#define ANSWER_BYTES_PER_SECOND (16 << 10) /* a client slower than a modem is none */

struct link *link_new(struct http_server *s, struct MHD_Connection *connection)
{
    struct link *link = mem_zero(1, sizeof *link);
    *link = (struct link){.connection = connection, .next = s->links, .at = &s->links, .since_ms = loop_now_ms(s->l)};
    if (link->next)
        link->next->at = &link->next;
    s->links = link;
    return link;
}

void link_free(struct link *link)
{
    *link->at = link->next;
    if (link->next)
        link->next->at = link->at;
    free(link->user);
    free(link->groups);
    free(link->names);
    free(link);
}

/* Nothing is being answered: the rest of a request is waited for, or the next one. */
static bool link_waits(const struct link *link)
{
    return !link->cut && (!link->exchange || link->exchange->step == STEP_HEAD || link->exchange->step == STEP_BODY);
}

/* An answer is there that the client does not take: a stream without anything to send is suspended, a WebSocket is not blocked. */
static bool link_reads(const struct link *link)
{
    const struct exchange *x = link->exchange;
    return !link->cut && x && x->step == STEP_ANSWERED && (x->socket ? websocket_is_blocked(x->socket) : !x->suspended);
}

static void link_cut(struct link *link)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        (void)shutdown(info->connect_fd, SHUT_RDWR); /* fails when the client was faster; libmicrohttpd sees the end */
    link->cut = true;
}

/* When the server is full, whoever has been waited for longest gives way; not `newest`, which may be NULL.
 * WHY  Connections that say nothing would keep everybody else out for as long as they are allowed to, probes of the kubelet among them. */
void links_make_room(struct http_server *s, const struct link *newest)
{
    struct link *oldest = NULL;
    if (s->connections_n < s->connections_max)
        return;
    for (struct link *link = s->links; link; link = link->next) {
        if (link->cut)
            return; /* there will be room */
        if (link != newest && link_waits(link) && (!oldest || link->since_ms <= oldest->since_ms))
            oldest = link;
    }
    if (oldest)
        link_cut(oldest);
}

static int64_t waited_since(const struct link *link)
{
    return link_reads(link) ? link->exchange->progress_ms : link->since_ms;
}

void exchange_hold(struct exchange *x, size_t bytes)
{
    struct http_server *s = x->server;
    struct link *oldest = NULL;
    if (!s)
        return;
    s->held_bytes += bytes - x->held_bytes;
    x->held_bytes = bytes;
    if (s->held_bytes <= s->held_bytes_max)
        return;
    for (struct link *link = s->links; link; link = link->next)
        if (link->exchange && link->exchange->held_bytes && (link_waits(link) || link_reads(link)) &&
            (!oldest || waited_since(link) < waited_since(oldest)))
            oldest = link;
    if (oldest)
        link_cut(oldest); /* its bytes are given back when libmicrohttpd has seen the end */
}

/* Cut the connections whose request does not come to its end, or whose answer is not taken.
 * WHY  libmicrohttpd's own limit starts anew at each byte: a byte a minute would hold a connection for ever, and a few
 * thousand such clients the server. */
void links_sweep(void *arg)
{
    struct http_server *s = arg;
    int64_t now_ms = loop_now_ms(s->l);
    for (struct link *link = s->links; link; link = link->next) {
        int64_t seconds = link->exchange || !link->answered ? s->request_seconds : s->idle_seconds;
        if (link_reads(link))
            seconds = s->idle_seconds + (int64_t)(link->exchange->held_bytes / ANSWER_BYTES_PER_SECOND);
        if ((link_waits(link) || link_reads(link)) && waited_since(link) <= now_ms - seconds * 1000)
            link_cut(link);
    }
    links_make_room(s, NULL); /* the last that came may be one that says nothing */
}
