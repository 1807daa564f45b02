/* configuration.c - any file as Kueue's Configuration: refused with a sentence, or values within their bounds */
#include "codec/configuration/configuration.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 16384)
        return 0;
    struct arena *a = arena_new();
    struct buf warnings = {0}, problems = {0};
    struct configuration c;
    int r = configuration_parse(a, (struct bytes){(const char *)data, n}, &c, &warnings, &problems);
    MUST_HOLD((r == 0) == (problems.n == 0));
    if (r == 0) {
        const struct ready_policy *ready = &c.policy.ready;
        MUST_HOLD(ready->timeout_ms >= 0 && ready->recovery_ms >= 0 && ready->retries_most >= -1);
        MUST_HOLD(ready->backoff_ms >= 0 && ready->backoff_most_ms >= 0);
        MUST_HOLD(c.policy.fair.strategies_n <= 2 && c.policy.fair.on == (c.policy.fair.strategies_n > 0));
    }
    buf_free(&warnings);
    buf_free(&problems);
    arena_free(a);
    return 0;
}
