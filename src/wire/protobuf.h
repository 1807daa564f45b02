/* protobuf.h - proto3 messages on the wire: a writer and a pull reader, for the few messages of the kubelet's sockets
 *
 *     field: varint key (number << 3 | type), then   0 varint   1 fixed 8 bytes   2 length + bytes   5 fixed 4 bytes
 *
 * Readers skip fields that they do not know, and take the last one of a scalar that comes twice; everything is bounded by the message.
 * Groups (types 3, 4) are malformed: proto3 has none.
 * SOURCE protobuf.dev, "Encoding".
 */
#ifndef WIRE_PROTOBUF_H
#define WIRE_PROTOBUF_H
#include "base/arena.h"
#include "base/bytes.h"

/* Writer: appends to a buf; zero values are left out as proto3 does, but for *_always. */
void protobuf_uint(struct buf *out, uint32_t number, uint64_t value);
void protobuf_int(struct buf *out, uint32_t number, int64_t value);
void protobuf_bool(struct buf *out, uint32_t number, bool value);
void protobuf_text(struct buf *out, uint32_t number, const char *text);          /* "" is left out */
void protobuf_text_always(struct buf *out, uint32_t number, const char *text);   /* items of repeated fields */
size_t protobuf_begin(struct buf *out, uint32_t number);                         /* embedded message; returns the mark for _end */
void protobuf_end(struct buf *out, size_t mark);
void protobuf_map_text(struct buf *out, uint32_t number, const char *key, const char *value); /* one entry of map<string,string> */

/* Reader: for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) switch (f.number). protobuf_next: 1 field, 0 end, -E_PROTO
 * malformed. */
struct protobuf_reader {
    const uint8_t *at, *end;
};
enum protobuf_type { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };
struct protobuf_field {
    uint32_t number;
    uint8_t type; /* enum protobuf_type */
    uint64_t value;     /* varint, fixed */
    struct bytes bytes; /* type 2 */
};
struct protobuf_reader protobuf_reader(struct bytes message);
int protobuf_next(struct protobuf_reader *r, struct protobuf_field *ret_field);
/* One bare varint, as packed lists have them; false: it is cut, or longer than any number. */
bool protobuf_varint(struct protobuf_reader *r, uint64_t *ret_value);
/* A string field as text of ours; NULL when it holds a NUL byte, which no name or path may. */
char *protobuf_arena_text(struct arena *a, struct bytes value);

#endif
