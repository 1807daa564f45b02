/* protobuf_echo.c - messages from standard input read and written again, for a comparison with another implementation
 *
 *     record:  u8 shape | u32 length, little endian | message
 *     shape:   'a' AllocateResponse, 'l' ListAndWatchResponse, 'p' ListPodResourcesResponse
 *
 * Answer: u32 length | message, or length 0xffffffff when it is malformed.
 */
#include <stdio.h>
#include <stdlib.h>
#include "wire/protobuf.h"

/* One field: number, kind ('s' text, 'i' int, 'b' bool, 'm' message, 't' map of texts), and the shape of a message. */
struct field { uint32_t number; char kind; const struct field *shape; };
static const struct field mount[] = {{1, 's', NULL}, {2, 's', NULL}, {3, 'b', NULL}, {0}};
static const struct field spec[] = {{1, 's', NULL}, {2, 's', NULL}, {3, 's', NULL}, {0}};
static const struct field name_only[] = {{1, 's', NULL}, {0}};
static const struct field container_answer[] = {{1, 't', NULL}, {2, 'm', mount}, {3, 'm', spec}, {4, 't', NULL}, {5, 'm', name_only}, {0}};
static const struct field allocate_response[] = {{1, 'm', container_answer}, {0}};
static const struct field numa_node[] = {{1, 'i', NULL}, {0}};
static const struct field topology[] = {{1, 'm', numa_node}, {0}};
static const struct field device[] = {{1, 's', NULL}, {2, 's', NULL}, {3, 'm', topology}, {0}};
static const struct field list_response[] = {{1, 'm', device}, {0}};
static const struct field devices[] = {{1, 's', NULL}, {2, 'S', NULL}, {3, 'm', topology}, {0}};
static const struct field memory[] = {{1, 's', NULL}, {2, 'i', NULL}, {3, 'm', topology}, {0}};
static const struct field container[] = {{1, 's', NULL}, {2, 'm', devices}, {4, 'm', memory}, {0}};
static const struct field pod[] = {{1, 's', NULL}, {2, 's', NULL}, {3, 'm', container}, {0}};
static const struct field pods_response[] = {{1, 'm', pod}, {0}};

static int echo(struct bytes message, const struct field *shape, struct buf *out);

static void echo_entry(struct arena *a, struct bytes entry, uint32_t number, struct buf *out)
{
    const char *texts[3] = {"", "", ""};
    struct protobuf_reader r = protobuf_reader(entry);
    struct protobuf_field f;
    while (protobuf_next(&r, &f) > 0)
        if (f.number <= 2 && f.type == 2)
            texts[f.number] = arena_text_n(a, f.bytes.n ? f.bytes.data : "", f.bytes.n);
    protobuf_map_text(out, number, texts[1], texts[2]);
}

static int echo_field(const struct field *shape, const struct protobuf_field *f, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text = f->type == 2 ? arena_text_n(a, f->bytes.n ? f->bytes.data : "", f->bytes.n) : "";
    switch (shape->kind) {
    case 's':
        protobuf_text(out, f->number, text);
        return 0;
    case 'S':
        protobuf_text_always(out, f->number, text);
        return 0;
    case 'i':
        protobuf_int(out, f->number, (int64_t)f->value);
        return 0;
    case 'b':
        protobuf_bool(out, f->number, f->value);
        return 0;
    case 't':
        echo_entry(a, f->bytes, f->number, out);
        return 0;
    default:
        break;
    }
    size_t mark = protobuf_begin(out, f->number);
    int r = echo(f->bytes, shape->shape, out);
    protobuf_end(out, mark);
    return r;
}

static int echo(struct bytes message, const struct field *shape, struct buf *out)
{
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    int got;
    while ((got = protobuf_next(&r, &f)) > 0)
        for (const struct field *s = shape; s->number; s++)
            if (s->number == f.number && (got = echo_field(s, &f, out)) < 0)
                return got;
    return got;
}

int main(void)
{
    int shape;
    while ((shape = getchar()) != EOF) {
        uint32_t n, answer_n;
        _cleanup_buf_ struct buf message = {0}, out = {0};
        if (fread(&n, sizeof n, 1, stdin) != 1 || n > (64u << 20) || fread(buf_reserve(&message, n + 1), 1, n, stdin) != n)
            return 1;
        message.n = n;
        int r = echo(buf_view(&message), shape == 'a' ? allocate_response : shape == 'l' ? list_response : pods_response, &out);
        answer_n = r < 0 ? UINT32_MAX : (uint32_t)out.n;
        (void)fwrite(&answer_n, sizeof answer_n, 1, stdout);
        if (r == 0 && out.n)
            (void)fwrite(out.data, 1, out.n, stdout);
        (void)fflush(stdout);
    }
    return 0;
}
