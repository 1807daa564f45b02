/* start_note.c - see start_note.h */
#include "sched/forecast/start_note.h"
#include <string.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "core/time/forecast.h"

enum { NEWS_MS = 60000, NEWS_PART = 8 };

char *start_note(const char *tree, int64_t start_ms, uint8_t basis)
{
    static const char key[] = ",\"start\":{\"about\":"; /* in a text its quotes would be escaped */
    const char *was = strstr(tree, key);
    size_t n = was ? (size_t)(was - tree) : strlen(tree);
    struct buf out;
    char time[TIME_TEXT_MAX];
    buf_init(&out);
    if (!was && n)
        n--; /* its last brace */
    buf_add(&out, tree, n);
    if (start_ms)
        buf_printf(&out, "%s\"%s\",\"from\":[%s%s%s]}", key, time_format(time, start_ms), basis & END_BY_LIMIT ? "\"limits\"" : "",
                   basis == (END_BY_LIMIT | END_BY_RUNS) ? "," : "", basis & END_BY_RUNS ? "\"runs\"" : "");
    buf_char(&out, '}');
    return buf_take(&out, NULL);
}

bool start_is_news(int64_t told_ms, uint8_t told_basis, int64_t start_ms, uint8_t basis, int64_t now_ms)
{
    if (!told_ms || !start_ms)
        return told_ms != start_ms;
    if (told_basis != basis)
        return true;
    int64_t moved_ms = start_ms > told_ms ? start_ms - told_ms : told_ms - start_ms, ahead_ms = told_ms > now_ms ? told_ms - now_ms : 0;
    return moved_ms > NEWS_MS && moved_ms > ahead_ms / NEWS_PART;
}
