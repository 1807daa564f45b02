/* frame.c - see frame.h */
#include "net/websocket/frame.h"
#include <string.h>

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, CONTROL = 0x08, MASKED = 0x80, LENGTH = 0x7f, MASK_BYTES = 4 };

static void drop(struct buf *b, size_t n)
{
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}

void frame_reader_add(struct frame_reader *r, const char *data, size_t n)
{
    size_t passed = r->skip < n ? (size_t)r->skip : n; /* nothing is kept while a data frame is passed over */
    r->skip -= passed;
    buf_add(&r->in, data + passed, n - passed);
}

static void pass_over(struct frame_reader *r)
{
    size_t n = r->skip < r->in.n ? (size_t)r->skip : r->in.n;
    drop(&r->in, n);
    r->skip -= n;
}

/* One control frame of n bytes behind `head`. */
static enum frame_ask take_control(struct frame_reader *r, size_t head, size_t n, struct bytes *ret_text)
{
    unsigned opcode = (unsigned char)r->in.data[0] & OPCODE;
    for (size_t i = 0; i < n; i++)
        r->text[i] = (char)(r->in.data[head + i] ^ r->in.data[head - MASK_BYTES + i % MASK_BYTES]);
    *ret_text = (struct bytes){r->text, n};
    drop(&r->in, head + n);
    return opcode == FRAME_PING ? FRAME_ASKS_PONG : opcode == FRAME_CLOSE ? FRAME_ASKS_CLOSE : FRAME_ASKS_NOTHING;
}

/* A frame's head, and a control frame whole. False: more must come. */
static bool take_frame(struct frame_reader *r, enum frame_ask *ret_ask, struct bytes *ret_text)
{
    const unsigned char *p = (const unsigned char *)r->in.data;
    if (r->in.n < 2)
        return false;
    size_t more = (p[1] & LENGTH) == 126 ? 2 : (p[1] & LENGTH) == 127 ? 8 : 0, head = 2 + more + MASK_BYTES;
    bool control = p[0] & CONTROL;
    if ((p[0] & RESERVED) || !(p[1] & MASKED) || (control && (more > 0 || !(p[0] & FIN)))) {
        *ret_ask = FRAME_IS_WRONG;
        return true;
    }
    uint64_t n = more ? 0 : p[1] & LENGTH;
    if (r->in.n < head)
        return false;
    for (size_t i = 0; i < more; i++)
        n = n << 8 | p[2 + i];
    if (control && r->in.n < head + (size_t)n)
        return false;
    if (control) {
        *ret_ask = take_control(r, head, (size_t)n, ret_text);
        return true;
    }
    if (n > INT64_MAX) {
        *ret_ask = FRAME_IS_TOO_BIG;
        return true;
    }
    drop(&r->in, head);
    r->skip = n;
    return true;
}

enum frame_ask frame_reader_next(struct frame_reader *r, struct bytes *ret_text)
{
    enum frame_ask ask = FRAME_ASKS_NOTHING;
    *ret_text = (struct bytes){0};
    do {
        pass_over(r);
    } while (ask == FRAME_ASKS_NOTHING && take_frame(r, &ask, ret_text));
    return ask;
}

void frame_reader_free(struct frame_reader *r)
{
    buf_free(&r->in);
}

/* SHAPE  u8 FIN | opcode   u8 length, or 126 and u16, or 127 and u64   bytes */
void frame_write(struct buf *out, enum frame_opcode opcode, struct bytes b)
{
    unsigned char head[10] = {(unsigned char)(FIN | opcode)};
    size_t n = b.n < 126 ? 0 : b.n <= 0xffff ? 2 : 8;
    head[1] = (unsigned char)(n == 0 ? b.n : n == 2 ? 126 : 127);
    for (size_t i = 0; i < n; i++)
        head[2 + i] = (unsigned char)((uint64_t)b.n >> (8 * (n - 1 - i)));
    buf_add(out, head, 2 + n);
    buf_add(out, b.data, b.n);
}
