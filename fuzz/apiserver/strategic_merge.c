/* strategic_merge.c - a pod, a newline, a patch: what is accepted leaves valid JSON, and applying it twice changes
 * nothing more unless it orders lists; then server-side apply of the same document keeps its own promises */
#include <string.h>
#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/strategic_merge.h"
#include "../fuzz.h"

static void check(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    struct json_parse_info info;
    struct json *again = json_parse(a, buf_view(&out), &info, NULL);
    MUST_HOLD(again && info.duplicate_n == 0 && json_equal(again, v));
}

static void apply(struct arena *a, const struct schema *s, const struct json *live, const struct json *config)
{
    struct managed_writer writer = {"fuzz", "v1", "", "2026-01-01T00:00:00Z"};
    struct managed_conflict *conflicts = NULL;
    struct json *first = NULL, *second = NULL;
    struct err e = {0};
    if (managed_fields_apply(a, s, live, config, true, &writer, &first, &conflicts, &e) != 0)
        return;
    check(a, first);
    MUST_HOLD(managed_fields_apply(a, s, first, config, false, &writer, &second, &conflicts, &e) == 0);
    MUST_HOLD(json_equal(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, '\n', size) : NULL;
    if (!cut || size > 8192)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct schema *pod = schema_of("", "v1", "Pod");
    struct json *v = json_parse(a, (struct bytes){(const char *)data, (size_t)(cut - data)}, NULL, NULL);
    struct json *patch =
        json_parse(a, (struct bytes){(const char *)cut + 1, (size_t)(data + size - cut - 1)}, NULL, NULL);
    if (!json_is(v, JSON_OBJECT) || !json_is(patch, JSON_OBJECT))
        return 0;
    struct err e = {0};
    struct json *target = json_clone(a, v);
    int r = strategic_merge(a, pod, target, patch, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    if (r == 0)
        check(a, target);
    apply(a, pod, v, patch);
    return 0;
}
