/* explain_sorted.c - a list of reasons in the order of their text */
#include "core/explain/explain_part.h"
#include <stdlib.h>

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

#define PARTS_MAX 32

void explain_sorted(struct buf *out, const char *before, const struct reason *parts, explain_part *say, const struct intern *names)
{
    struct buf part[PARTS_MAX];
    char *texts[PARTS_MAX];
    size_t n = 0;
    for (const struct reason *c = parts; c && n < PARTS_MAX; c = c->next) {
        buf_init(&part[n]);
        say(&part[n], c, names);
        if (part[n].n) {
            texts[n] = part[n].data;
            n++;
        }
    }
    if (n > 1)
        qsort(texts, n, sizeof *texts, compare_texts);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? ", " : before, texts[i]);
    while (n)
        buf_free(&part[--n]);
}
