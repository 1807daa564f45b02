#include "codec/schema/schema_path.h"

#define PATH_SHOWN_MAX 300 /* bytes of one member name that are shown: keys are as long as a client likes */

void schema_path_text(struct buf *out, const struct schema_path *at)
{
    if (!at || !at->up)
        return;
    schema_path_text(out, at->up);
    if (!at->name) {
        buf_printf(out, "[%u]", at->index);
        return;
    }
    if (at->up->up)
        buf_char(out, '.');
    size_t n = strlen(at->name);
    buf_add(out, at->name, n < PATH_SHOWN_MAX ? n : PATH_SHOWN_MAX);
}

char *schema_path_copy(struct arena *a, const struct schema_path *at)
{
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    schema_path_text(&text, at);
    return arena_text_n(a, text.n ? text.data : "", text.n);
}
