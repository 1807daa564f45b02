/* frame.h - frames of a WebSocket, RFC 6455, as a server reads and writes them; no I/O
 *
 * SHAPE  first byte: FIN, three reserved bits, opcode. Second: a client masks, and says so; length 0..125, 126 and u16, 127 and u64.
 *        Then its mask of four bytes, and the bytes under it.
 * LIMIT  a client's data frames are passed over, however long: nothing of them is kept. Of what is kept there is never more than what was
 *        added last and one control frame.
 */
#ifndef NET_WEBSOCKET_FRAME_H
#define NET_WEBSOCKET_FRAME_H
#include "base/bytes.h"

enum { FRAME_CONTROL_MAX = 125 };
enum frame_opcode { FRAME_TEXT = 1, FRAME_BINARY = 2, FRAME_CLOSE = 8, FRAME_PING = 9, FRAME_PONG = 10 };

/* What a client's frames ask for. */
enum frame_ask {
    FRAME_ASKS_NOTHING, /* more must come */
    FRAME_ASKS_PONG,
    FRAME_ASKS_CLOSE,
    FRAME_IS_WRONG,   /* not masked, reserved bits, a control frame that is long or in parts: nothing behind it can be read */
    FRAME_IS_TOO_BIG, /* longer than a frame can be */
};

struct frame_reader { /* zero: at the beginning of a frame */
    struct buf in;
    uint64_t skip; /* bytes that still come of a data frame */
    char text[FRAME_CONTROL_MAX];
};

void frame_reader_add(struct frame_reader *r, const char *data, size_t n);
/* The next that has to be answered; ret_text: a ping's bytes, valid until the next call. After FRAME_ASKS_CLOSE and what is wrong nobody
 * asks again. */
enum frame_ask frame_reader_next(struct frame_reader *r, struct bytes *ret_text);
void frame_reader_free(struct frame_reader *r);

/* Adds one whole message; not masked, since a server sends it. */
void frame_write(struct buf *out, enum frame_opcode opcode, struct bytes b);

#endif
