/* fields.c - a line of names, an object: what is left of the object is JSON again, and no longer than it was; naming the same of that
 * leaves it as it is */
#include <string.h>
#include "apiserver/request/fields.h"
#include "wire/json.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
    struct fields f;
    struct err e = {0};
    if (size > 16384 || !end)
        return 0;
    int r = fields_parse((struct bytes){text, (size_t)(end - text)}, &f, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    if (r < 0)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf less = {0}, again = {0};
    struct bytes object = {end + 1, size - (size_t)(end + 1 - text)};
    bool is_json = json_parse(a, object, NULL, NULL) != NULL, written = fields_write(&less, &f, object);
    MUST_HOLD(written || (!is_json && less.n == 0));
    if (!is_json)
        return 0;
    MUST_HOLD(less.n <= object.n + 2 && json_parse(a, buf_view(&less), NULL, NULL));
    MUST_HOLD(fields_write(&again, &f, buf_view(&less)));
    MUST_HOLD(again.n == less.n && memcmp(again.data ? again.data : "", less.data ? less.data : "", less.n) == 0);
    return 0;
}
