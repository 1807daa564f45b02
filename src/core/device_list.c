/* device_list.c - see device_list.h */
#include "core/device_list.h"

/* What stands before the first of these characters, which goes as well; *ret_end is it, 0 at the end of the text. */
static struct bytes take(struct bytes *rest, const char *ends, char *ret_end)
{
    struct bytes word = {rest->data, 0};
    while (word.n < rest->n && !strchr(ends, rest->data[word.n]))
        word.n++;
    *ret_end = word.n < rest->n ? rest->data[word.n] : '\0';
    size_t used = word.n + (*ret_end != '\0');
    *rest = (struct bytes){rest->data + used, rest->n - used};
    return word;
}

bool device_list_next(struct device_list *l)
{
    char end;
    while (l->rest.n > 0) {
        struct bytes word = take(&l->rest, l->part.n ? ",;" : "=;", &end);
        if (end == '=') {
            l->part = word;
            continue;
        }
        l->resource = l->part;
        l->id = word;
        if (end == ';')
            l->part = (struct bytes){"", 0};
        if (l->resource.n > 0 && l->id.n > 0)
            return true;
    }
    return false;
}

void device_list_add(struct buf *out, const char *last, const char *resource, const char *id)
{
    if (text_equal(last, resource)) {
        buf_char(out, ',');
    } else {
        buf_text(out, last ? ";" : "");
        buf_text(out, resource);
        buf_char(out, '=');
    }
    buf_text(out, id);
}
