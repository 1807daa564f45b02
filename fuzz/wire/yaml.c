/* yaml.c - any text: refused with a message, or trees that are valid JSON */
#include "../fuzz.h"
#include "wire/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    struct json *docs, *again;
    struct json_parse_info info;
    struct err e = {0};
    int r = yaml_parse(a, (struct bytes){(const char *)data, size}, &docs, &info, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    if (r < 0)
        return 0;
    JSON_EACH (doc, docs) {
        buf_clear(&out);
        json_write(&out, doc);
        again = json_parse(a, buf_view(&out), &info, NULL);
        MUST_HOLD(again && json_equal(doc, again) && info.duplicate_n == 0);
        buf_clear(&out);
        yaml_write(&out, doc);
    }
    return 0;
}
