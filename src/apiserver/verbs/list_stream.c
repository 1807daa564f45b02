#include "apiserver/verbs/list_stream.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/request/status.h"

struct list_stream {
    struct http_exchange *x;
    char *head;
    struct fields fields; /* of each item; meaningless where has_less is false */
    bool has_less;
    struct buf less;      /* what they name of the item of this step */
    struct blob **items;
    size_t items_n;
    size_t step;       /* 0 the head, 1 the first item, 2 a comma, 3 the second item, ... 2 * items_n the end */
    struct bytes left; /* of this step */
};

/* What is no JSON in the store is shown whole. */
static struct bytes item_text(struct list_stream *s, const struct blob *item)
{
    struct bytes whole = {item->data, item->n};
    buf_clear(&s->less);
    return s->has_less && fields_write(&s->less, &s->fields, whole) ? buf_view(&s->less) : whole;
}

static struct bytes step_text(struct list_stream *s)
{
    if (s->step == 0)
        return bytes_of(s->head);
    if (s->step == 2 * s->items_n)
        return bytes_of("]}\n");
    return s->step % 2 ? item_text(s, s->items[s->step / 2]) : bytes_of(",");
}

static void step_end(struct list_stream *s)
{
    if (s->step % 2) { /* the object may have been replaced meanwhile: let its text go */
        blob_unref(s->items[s->step / 2]);
        s->items[s->step / 2] = NULL;
    }
    s->step++;
    if (s->step <= 2 * s->items_n)
        s->left = step_text(s);
}

static ssize_t pull(void *arg, char *out, size_t max)
{
    struct list_stream *s = arg;
    size_t done = 0;
    while (done < max && s->step <= 2 * s->items_n) {
        size_t n = s->left.n < max - done ? s->left.n : max - done;
        memcpy(out + done, s->left.data, n);
        done += n;
        s->left = (struct bytes){s->left.data + n, s->left.n - n};
        if (s->left.n == 0)
            step_end(s);
    }
    return done ? (ssize_t)done : -1;
}

static void closed(void *arg)
{
    struct list_stream *s = arg;
    for (size_t i = 0; i < s->items_n; i++)
        blob_unref(s->items[i]);
    free(s->items);
    free(s->head);
    buf_free(&s->less);
    free(s);
}

static void durable(void *arg, bool ok)
{
    struct list_stream *s = arg;
    if (ok) {
        http_stream(s->x, 200, "application/json", pull, closed, s);
        return;
    }
    status_reply(s->x, 500, "InternalError", NULL, NULL,
                 "a write that this list shows could not be stored (is the disk full?): list again");
    closed(s);
}

void list_stream_reply(struct apiserver *server, struct http_exchange *x, struct bytes head, struct blob **items,
                       size_t n, const struct fields *fields)
{
    struct list_stream *s = mem_zero(1, sizeof *s);
    *s = (struct list_stream){.x = x, .head = mem_text_n(head.data, head.n), .items = items, .items_n = n};
    if (fields) {
        s->fields = *fields;
        s->has_less = true;
    }
    s->left = step_text(s);
    if (store_dirty(server->store))
        store_when_durable(server->store, durable, s);
    else
        durable(s, true);
}
