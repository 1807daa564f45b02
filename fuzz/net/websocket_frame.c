/* websocket_frame.c - what a client sends on a WebSocket: the same is asked for however the bytes are cut, nothing is kept of what is
 * passed over, and a message that we write is read as it was. First byte: in pieces of how many. */
#include <string.h>
#include "../fuzz.h"
#include "net/websocket/frame.h"

static bool is_end(enum frame_ask ask)
{
    return ask == FRAME_ASKS_CLOSE || ask == FRAME_IS_WRONG || ask == FRAME_IS_TOO_BIG;
}

/* All that is asked for, one behind the other: its kind, how long its text is, its text. */
static void read_in_pieces(const char *data, size_t n, size_t piece, struct buf *out)
{
    struct frame_reader r = {0};
    enum frame_ask ask = FRAME_ASKS_NOTHING;
    for (size_t at = 0; at < n && !is_end(ask); at += piece) {
        struct bytes text;
        size_t now = n - at < piece ? n - at : piece;
        frame_reader_add(&r, data + at, now);
        while (!is_end(ask = frame_reader_next(&r, &text)) && ask != FRAME_ASKS_NOTHING) {
            buf_printf(out, "%d %zu ", (int)ask, text.n);
            buf_add(out, text.data, text.n);
        }
        if (is_end(ask))
            buf_printf(out, "%d", (int)ask);
        MUST_HOLD(is_end(ask) || r.in.n < 6 + FRAME_CONTROL_MAX + 8);
    }
    frame_reader_free(&r);
}

/* A message of ours has no mask: with one of zeros it is a client's. */
static void there_and_back(const char *data, size_t n)
{
    struct buf out = {0}, in = {0};
    struct frame_reader r = {0};
    struct bytes text;
    frame_write(&out, FRAME_PING, (struct bytes){data, n});
    MUST_HOLD(out.n == n + 2);
    char head[2] = {out.data[0], (char)(out.data[1] | 0x80)};
    buf_add(&in, head, 2);
    buf_add(&in, "\0\0\0\0", 4);
    buf_add(&in, data, n);
    frame_reader_add(&r, in.data, in.n);
    MUST_HOLD(frame_reader_next(&r, &text) == FRAME_ASKS_PONG && text.n == n && (n == 0 || memcmp(text.data, data, n) == 0));
    MUST_HOLD(frame_reader_next(&r, &text) == FRAME_ASKS_NOTHING && r.in.n == 0);
    frame_reader_free(&r);
    buf_free(&out);
    buf_free(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > (64u << 10))
        return 0;
    const char *bytes = (const char *)data + 1;
    size_t n = size - 1, piece = data[0] ? data[0] : 256;
    struct buf whole = {0}, cut = {0};
    buf_text(&whole, "");
    buf_text(&cut, "");
    read_in_pieces(bytes, n, n ? n : 1, &whole);
    read_in_pieces(bytes, n, piece, &cut);
    MUST_HOLD(whole.n == cut.n && memcmp(whole.data, cut.data, whole.n) == 0);
    buf_free(&whole);
    buf_free(&cut);
    there_and_back(bytes, n < FRAME_CONTROL_MAX ? n : FRAME_CONTROL_MAX);
    return 0;
}
