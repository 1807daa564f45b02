/* Any bytes: what is read field by field and written again is read as the same fields. */
#include "../fuzz.h"
#include "wire/protobuf.h"

enum { FIELDS_MAX = 4096 };

static void field_write(struct buf *out, const struct protobuf_field *f)
{
    if (f->type == 2) {
        size_t mark = protobuf_begin(out, f->number);
        buf_bytes(out, f->bytes);
        protobuf_end(out, mark);
    } else {
        protobuf_uint(out, f->number, f->value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    _cleanup_buf_ struct buf out = {0};
    struct protobuf_reader r = protobuf_reader((struct bytes){(const char *)data, n});
    struct protobuf_field f, g;
    int got, fields_n = 0;
    while ((got = protobuf_next(&r, &f)) > 0 && fields_n++ < FIELDS_MAX)
        field_write(&out, &f);
    if (got)
        return 0;
    r = protobuf_reader((struct bytes){(const char *)data, n});
    struct protobuf_reader again = protobuf_reader(buf_view(&out));
    while (protobuf_next(&r, &f) > 0) {
        if (f.type != 2 && !f.value)
            continue; /* zero is left out */
        MUST_HOLD(protobuf_next(&again, &g) == 1);
        MUST_HOLD(g.number == f.number && (g.type == 2) == (f.type == 2));
        MUST_HOLD(f.type == 2 ? bytes_equal(f.bytes, g.bytes) : f.value == g.value);
    }
    MUST_HOLD(protobuf_next(&again, &g) == 0);
    return 0;
}
