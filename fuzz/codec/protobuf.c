/* Protobuf request bodies: whatever decodes must print as JSON that parses without repeated keys, and fit its own type. */
#include <stdint.h>
#include <stdio.h>
#include "codec/schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct schema *type_of(struct arena *a, const struct json *object)
{
    const char *version = json_get_text(object, "apiVersion", ""), *slash = strchr(version, '/');
    const char *group = slash ? arena_text_n(a, version, (size_t)(slash - version)) : "";
    return schema_of(group, slash ? slash + 1 : version, json_get_text(object, "kind", ""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text;
    struct json *object;
    struct err e = {0};
    buf_init(&text);
    if (schema_decode_protobuf(a, (struct bytes){(const char *)data, n}, &object, &e) < 0)
        return 0;
    json_write(&text, object);
    struct json_parse_info info = {0};
    if (!json_parse(a, buf_view(&text), &info, &e) || info.duplicate_n)
        __builtin_trap();
    const struct schema *s = type_of(a, object);
    struct schema_findings found;
    if (s && schema_prune(a, s, object, &found, &e) == 0) {
        schema_default(a, s, object);
        if (found.unknown_n)
            __builtin_trap();
    }
    return 0;
}
