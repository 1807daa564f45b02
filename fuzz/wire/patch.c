/* patch.c - a document, a newline, a patch: applied in both forms; a refused patch changes nothing, an accepted one
 * leaves valid JSON */
#include <string.h>
#include "../fuzz.h"
#include "wire/patch.h"

static void check(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    struct json_parse_info info;
    struct json *again = json_parse(a, buf_view(&out), &info, NULL);
    MUST_HOLD(again && info.duplicate_n == 0 && json_equal(again, v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, '\n', size) : NULL;
    if (!cut || size > 16384)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = json_parse(a, (struct bytes){(const char *)data, (size_t)(cut - data)}, NULL, NULL);
    struct json *patch =
        json_parse(a, (struct bytes){(const char *)cut + 1, (size_t)(data + size - cut - 1)}, NULL, NULL);
    if (!v || !patch)
        return 0;
    struct json *target = v, *before = json_clone(a, v);
    struct err e = {0};
    int r = patch_json(a, &target, patch, &e);
    MUST_HOLD(r == 0 || (target == v && e.code == -r));
    MUST_HOLD(json_equal(v, before));
    check(a, target);
    patch_merge(a, &v, patch);
    check(a, v);
    return 0;
}
