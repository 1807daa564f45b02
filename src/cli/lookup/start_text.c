/* start_text.c - see start_text.h */
#include "cli/lookup/start_text.h"
#include "base/clock.h"
#include "core/time/forecast.h"

const char *start_text(struct arena *a, int64_t start_ms, uint8_t basis, int64_t now_ms)
{
    char at[TIME_TEXT_MAX], in[TIME_TEXT_MAX];
    const char *when = start_ms > now_ms ? arena_printf(a, "in %s", time_age(in, start_ms - now_ms)) : "any moment";
    return arena_printf(a, "about %s (%s; as far as %s%s%s tell)", time_format(at, start_ms), when, basis & END_BY_LIMIT ? "limits of time" : "",
                        basis == (END_BY_LIMIT | END_BY_RUNS) ? " and " : "", basis & END_BY_RUNS ? "earlier runs" : "");
}

const char *start_text_of(struct arena *a, const struct json *start, int64_t now_ms)
{
    int64_t ms;
    uint8_t basis = 0;
    if (!time_parse(bytes_of(json_get_text(start, "about", "")), &ms))
        return NULL;
    JSON_EACH (from, json_get(start, "from"))
        basis |= text_equal(json_text(from, ""), "limits") ? END_BY_LIMIT : text_equal(json_text(from, ""), "runs") ? END_BY_RUNS : 0;
    return basis ? start_text(a, ms, basis, now_ms) : NULL;
}

const struct json *start_promised(const struct json *tree)
{
    JSON_EACH (child, json_get(tree, "children"))
        if (text_equal(json_get_text(child, "code", ""), "start-promised"))
            return child;
    return NULL;
}
