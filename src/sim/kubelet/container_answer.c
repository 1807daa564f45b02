/* container_answer.c - see container_answer.h */
#include "sim/kubelet/container_answer.h"
#include "wire/protobuf.h"

/* "env A=b" and so on: fields of a ContainerAllocateResponse. */
static void add_pair(struct buf *out, struct arena *a, const char *word, struct bytes message)
{
    struct protobuf_reader r = protobuf_reader(message);
    const char *text[3] = {"", "", ""};
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;)
        if (f.number >= 1 && f.number <= 2 && f.type == 2)
            text[f.number] = protobuf_arena_text(a, f.bytes);
    buf_printf(out, "%s %s=%s\n", word, text[1] ? text[1] : "?", text[2] ? text[2] : "?");
}

static void add_paths(struct buf *out, struct arena *a, const char *word, struct bytes message)
{
    struct protobuf_reader r = protobuf_reader(message);
    const char *text[4] = {"", "", "", ""};
    bool read_only = false;
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;)
        if (f.number >= 1 && f.number <= 3 && f.type == 2)
            text[f.number] = protobuf_arena_text(a, f.bytes);
        else if (f.number == 3)
            read_only = f.value;
    buf_printf(out, "%s %s %s %s\n", word, text[2] ? text[2] : "?", text[1] ? text[1] : "?",
               read_only ? "ro"
               : text[3] ? text[3]
                         : "");
}

void container_answer_text(struct bytes container_response, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct protobuf_reader r = protobuf_reader(container_response);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        if (f.type != 2)
            continue;
        if (f.number == 1)
            add_pair(out, a, "env", f.bytes);
        else if (f.number == 2)
            add_paths(out, a, "mount", f.bytes);
        else if (f.number == 3)
            add_paths(out, a, "device", f.bytes);
        else if (f.number == 4)
            add_pair(out, a, "annotation", f.bytes);
        else if (f.number == 5) {
            struct protobuf_reader name = protobuf_reader(f.bytes);
            for (struct protobuf_field n; protobuf_next(&name, &n) > 0;)
                if (n.number == 1 && n.type == 2)
                    buf_printf(out, "cdi %.*s\n", (int)n.bytes.n, n.bytes.data);
        }
    }
}
