/* view_stream.c - who looks: everybody is sent the same bytes, each at his own pace
 *
 *   deltas  [ 7 | 8 | 9 | 10 ]──▶ each viewer: the message that goes now, and the number of the next one
 *
 * WHY    a viewer holds one message at most; who falls DELTAS behind, or takes nothing for SLOW_MS, is let go. His page connects again and
 *        begins with everything.
 */
#include <stdlib.h>
#include "sched/view/view_part.h"

enum { DELTAS = 32, SLOW_MS = 15000, BEAT_MS = 20000 };
#define BEGIN "data: "
#define END "\n\n"
#define BEAT ": still here\n\n"

struct viewer {
    struct viewers *all; /* NULL: the view is gone */
    struct viewer *next, **at;
    struct http_exchange *x;
    struct blob *now; /* what goes out; NULL: nothing does */
    size_t sent;      /* of BEGIN, now and END together */
    uint64_t next_delta;
    int64_t progress_ms;
    bool lost, beats;
};
struct viewers {
    struct loop *loop;
    struct viewer *first;
    uint32_t n;
    struct blob *deltas[DELTAS];
    uint64_t deltas_n;
};

struct viewers *view_stream_new(struct loop *l)
{
    struct viewers *all = mem_zero(1, sizeof *all);
    all->loop = l;
    return all;
}

void view_stream_free(struct viewers *all)
{
    for (struct viewer *one = all->first; one; one = one->next) {
        one->all = NULL;
        http_stream_wake(one->x); /* it ends at the next pull */
    }
    for (int i = 0; i < DELTAS; i++)
        blob_unref(all->deltas[i]);
    free(all);
}

uint32_t view_stream_count(const struct viewers *all)
{
    return all->n;
}

void view_stream_tell(struct viewers *all, struct blob *delta)
{
    struct blob **slot = &all->deltas[all->deltas_n++ % DELTAS];
    blob_unref(*slot);
    *slot = delta;
    for (struct viewer *one = all->first; one; one = one->next)
        http_stream_wake(one->x);
}

void view_stream_look(struct viewers *all)
{
    int64_t now_ms = loop_now_ms(all->loop);
    for (struct viewer *one = all->first; one; one = one->next) {
        if (one->now && now_ms - one->progress_ms > SLOW_MS) {
            blob_unref(one->now);
            one->now = NULL;
            one->lost = true;
        } else if (!one->now && now_ms - one->progress_ms > BEAT_MS) { /* finds out whether he is still there */
            one->beats = true;
            http_stream_wake(one->x);
        }
    }
}

/* The next message. 1: there is one, 0: there is none yet, -1: he has missed some. */
static int next_message(struct viewer *one)
{
    struct viewers *all = one->all;
    if (one->next_delta == all->deltas_n)
        return 0;
    if (all->deltas_n - one->next_delta > DELTAS)
        return -1;
    one->now = blob_ref(all->deltas[one->next_delta++ % DELTAS]);
    one->sent = 0;
    return 1;
}

/* From `sent` on, through the three parts of a message. */
static size_t message_copy(struct viewer *one, char *out, size_t max)
{
    const struct bytes parts[] = {BYTES(BEGIN), {one->now->data, one->now->n}, BYTES(END)};
    size_t from = one->sent, n = 0;
    for (int i = 0; i < 3 && n < max; i++) {
        if (from >= parts[i].n) {
            from -= parts[i].n;
            continue;
        }
        size_t more = parts[i].n - from < max - n ? parts[i].n - from : max - n;
        memcpy(out + n, parts[i].data + from, more);
        n += more;
        from = 0;
    }
    one->sent += n;
    if (one->sent == one->now->n + sizeof BEGIN - 1 + sizeof END - 1) {
        blob_unref(one->now);
        one->now = NULL;
    }
    return n;
}

static ssize_t pull(void *arg, char *out, size_t max)
{
    struct viewer *one = arg;
    if (!one->all || one->lost)
        return -1;
    int r = one->now ? 1 : next_message(one);
    if (r < 0)
        return -1;
    bool beats = one->beats && r == 0 && max >= sizeof BEAT;
    if (r == 0 && !beats)
        return 0;
    one->beats = false;
    one->progress_ms = loop_now_ms(one->all->loop);
    if (r > 0)
        return (ssize_t)message_copy(one, out, max);
    memcpy(out, BEAT, sizeof BEAT - 1);
    return sizeof BEAT - 1;
}

static void closed(void *arg)
{
    struct viewer *one = arg;
    if (one->all) {
        one->all->n--;
        *one->at = one->next;
        if (one->next)
            one->next->at = one->at;
    }
    blob_unref(one->now);
    free(one);
}

void view_stream_add(struct viewers *all, struct http_exchange *x, struct blob *snapshot)
{
    struct viewer *one = mem_zero(1, sizeof *one);
    *one = (struct viewer){.all = all,
                           .next = all->first,
                           .at = &all->first,
                           .x = x,
                           .now = snapshot,
                           .next_delta = all->deltas_n,
                           .progress_ms = loop_now_ms(all->loop)};
    if (all->first)
        all->first->at = &one->next;
    all->first = one;
    all->n++;
    http_stream(x, 200, "text/event-stream", pull, closed, one);
}
