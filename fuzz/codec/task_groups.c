/* task_groups.c - any bytes as YuniKorn's annotation: refused with a sentence, or groups within their bounds */
#include "base/limits.h"
#include "codec/groups/task_groups.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 16384)
        return 0;
    struct arena *a = arena_new();
    struct task_groups g;
    struct err e = {0};
    const char *text = arena_text_n(a, (const char *)data, n);
    int64_t members = 0;
    int r = task_groups_read(a, (struct bytes){(const char *)data, n}, &g, &e);
    MUST_HOLD((r == 0) == (e.text[0] == '\0'));
    for (uint32_t i = 0; r == 0 && i < g.n; i++) {
        MUST_HOLD(g.all[i].min_member >= 1 && g.all[i].name[0]);
        members += g.all[i].min_member;
    }
    MUST_HOLD(r < 0 || (g.n >= 1 && g.n <= LIMIT_TASK_GROUPS && members == g.members && members <= LIMIT_GANG_MEMBERS));
    MUST_HOLD(strlen(application_group(a, text)) < LIMIT_NAME);
    (void)scheduling_parameters_unused(a, text);
    (void)is_placeholder_note((struct bytes){(const char *)data, n});
    arena_free(a);
    return 0;
}
