#include "cli/lookup/gang_size.h"

struct gang_size gang_size_of(const struct json *workload)
{
    struct gang_size size = {0};
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        int64_t count = json_get_int64(set, "count", 1);
        size.asked_n += count;
        size.fewest_n += json_get_int64(set, "minCount", count);
    }
    JSON_EACH (given, json_path(workload, "status", "admission", "podSetAssignments", NULL))
        size.granted_n += json_get_int64(given, "count", 0);
    return size;
}

const char *gang_size_text(struct arena *a, struct gang_size size)
{
    const char *all = arena_printf(a, "%lld", (long long)size.asked_n);
    if (size.granted_n && size.granted_n < size.asked_n)
        all = arena_printf(a, "%lld of %s", (long long)size.granted_n, all);
    return size.fewest_n < size.asked_n ? arena_printf(a, "%s (at least %lld)", all, (long long)size.fewest_n) : all;
}
