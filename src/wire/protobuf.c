/* protobuf.c - keys, varints and lengths; nothing is known of any message */
#include "wire/protobuf.h"
#include <assert.h>

enum { VARINT_BYTES_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

static size_t varint_put(uint8_t *at, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        at[n++] = (uint8_t)(value | 0x80);
    at[n++] = (uint8_t)value;
    return n;
}

static void varint_add(struct buf *out, uint64_t value)
{
    uint8_t *at = (uint8_t *)buf_reserve(out, VARINT_BYTES_MAX);
    out->n += varint_put(at, value);
}

static void key_add(struct buf *out, uint32_t number, unsigned type)
{
    assert(number > 0 && number <= NUMBER_MAX);
    varint_add(out, (uint64_t)number << 3 | type);
}

void protobuf_uint(struct buf *out, uint32_t number, uint64_t value)
{
    if (!value)
        return;
    key_add(out, number, PROTOBUF_VARINT);
    varint_add(out, value);
}

void protobuf_int(struct buf *out, uint32_t number, int64_t value)
{
    protobuf_uint(out, number, (uint64_t)value);
}

void protobuf_bool(struct buf *out, uint32_t number, bool value)
{
    protobuf_uint(out, number, value);
}

void protobuf_text_always(struct buf *out, uint32_t number, const char *text)
{
    size_t n = strlen(text);
    key_add(out, number, PROTOBUF_BYTES);
    varint_add(out, n);
    buf_add(out, text, n);
}

void protobuf_text(struct buf *out, uint32_t number, const char *text)
{
    if (text[0])
        protobuf_text_always(out, number, text);
}

/* One byte is kept for the length; most messages are shorter than 128 bytes, the others are moved once. */
size_t protobuf_begin(struct buf *out, uint32_t number)
{
    key_add(out, number, PROTOBUF_BYTES);
    buf_char(out, 0);
    return out->n;
}

void protobuf_end(struct buf *out, size_t mark)
{
    assert(mark > 0 && mark <= out->n);
    uint8_t length[VARINT_BYTES_MAX];
    size_t n = out->n - mark, length_n = varint_put(length, n);
    if (length_n > 1) {
        (void)buf_reserve(out, length_n - 1);
        memmove(out->data + mark + length_n - 1, out->data + mark, n);
        out->n += length_n - 1;
    }
    memcpy(out->data + mark - 1, length, length_n);
}

void protobuf_map_text(struct buf *out, uint32_t number, const char *key, const char *value)
{
    size_t mark = protobuf_begin(out, number);
    protobuf_text_always(out, 1, key);
    protobuf_text_always(out, 2, value);
    protobuf_end(out, mark);
}

struct protobuf_reader protobuf_reader(struct bytes message)
{
    const uint8_t *at = (const uint8_t *)message.data;
    return (struct protobuf_reader){at, message.n ? at + message.n : at};
}

/* Bits beyond the 64th are dropped, as every implementation does. */
bool protobuf_varint(struct protobuf_reader *r, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && r->at < r->end; i++) {
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool fixed_take(struct protobuf_reader *r, unsigned bytes_n, uint64_t *ret_value)
{
    if ((size_t)(r->end - r->at) < bytes_n)
        return false;
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes_n; i++)
        value |= (uint64_t)*r->at++ << (8 * i);
    *ret_value = value;
    return true;
}

static bool bytes_take(struct protobuf_reader *r, struct bytes *ret_bytes)
{
    uint64_t n;
    if (!protobuf_varint(r, &n) || n > (uint64_t)(r->end - r->at))
        return false;
    *ret_bytes = (struct bytes){(const char *)r->at, (size_t)n};
    r->at += n;
    return true;
}

static bool value_take(struct protobuf_reader *r, struct protobuf_field *f)
{
    switch (f->type) {
    case PROTOBUF_VARINT:
        return protobuf_varint(r, &f->value);
    case PROTOBUF_FIXED64:
        return fixed_take(r, 8, &f->value);
    case PROTOBUF_FIXED32:
        return fixed_take(r, 4, &f->value);
    case PROTOBUF_BYTES:
        return bytes_take(r, &f->bytes);
    default:
        return false; /* groups: gone since proto3 */
    }
}

int protobuf_next(struct protobuf_reader *r, struct protobuf_field *ret_field)
{
    if (r->at == r->end)
        return 0;
    struct protobuf_field f = {0};
    uint64_t key;
    if (!protobuf_varint(r, &key) || key >> 3 == 0 || key >> 3 > NUMBER_MAX)
        return -E_PROTO;
    f.number = (uint32_t)(key >> 3);
    f.type = key & 7;
    if (!value_take(r, &f))
        return -E_PROTO;
    *ret_field = f;
    return 1;
}

char *protobuf_arena_text(struct arena *a, struct bytes value)
{
    if (value.n && memchr(value.data, 0, value.n))
        return NULL;
    return arena_text_n(a, value.n ? value.data : "", value.n);
}
