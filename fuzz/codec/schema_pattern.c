/* schema_pattern.c - a line of pattern, then a text: whatever a definition says is matched in bounded time, within what it is given */
#include <string.h>
#include "codec/schema/schema_checks.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *end = memchr(data, '\n', size);
    size_t n = end ? (size_t)(end - (const char *)data) : size;
    const char *pattern = arena_text_n(a, (const char *)data, n), *text = arena_text_n(a, end ? end + 1 : "", end ? size - n - 1 : 0);
    bool first = schema_pattern_matches(pattern, text);
    MUST_HOLD(schema_pattern_matches(pattern, text) == first);
    return 0;
}
