/* selector.c - a line of label selector, a line of field selector, an object: parsing and matching touch only what they
 * are given, and a tree matches what its text does */
#include <string.h>
#include "apiserver/store/selector.h"
#include "../fuzz.h"

static const char *line_take(struct arena *a, struct bytes *rest)
{
    const char *end = memchr(rest->data, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->data) : rest->n;
    char *line = arena_text_n(a, rest->data, n);
    rest->data += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes rest = {(const char *)data, size};
    const char *labels = line_take(a, &rest), *fields = line_take(a, &rest);
    struct selector s;
    struct err e = {0};
    int r = selector_parse(a, labels, fields, &(struct selector_kind){"", "pods", NULL}, &s, &e);
    MUST_HOLD(r == 0 || (e.code == -r && e.text[0]));
    if (r < 0)
        return 0;
    bool match = selector_match(&s, rest);
    MUST_HOLD(!selector_empty(&s) || match);
    const struct json *tree = json_parse(a, rest, NULL, NULL);
    _cleanup_buf_ struct buf text = {0};
    if (tree)
        json_write(&text, tree);
    MUST_HOLD(!tree || selector_match_tree(&s, tree) == selector_match(&s, buf_view(&text)));
    (void)selector_name(&s);
    return 0;
}
