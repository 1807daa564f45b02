/* plain.c - plays recordings with a core that was built without optimisation: FOLDER... The same plans have to come of them. TAP. */
#include <stdio.h>
#include "base/arena.h"
#include "sched/record/player.h"

int main(int argc, char **argv)
{
    int failed_n = 0;
    for (int i = 1; i < argc; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const char *const *runs;
        uint32_t n;
        struct player_result r = {0};
        struct err e = {0};
        int code = player_runs(argv[i], a, &runs, &n, &e);
        code = code < 0 ? code : player_play(argv[i], runs[n - 1], &(struct player_options){.until_ms = INT64_MAX}, &r, &e);
        bool good = code == 0 && r.ended && !r.otherwise_n && !r.state_is_other && r.cycles_n;
        printf("%s %d - %s: %llu changes, %llu of %llu cycles otherwise%s%s\n", good ? "ok" : "not ok", i, argv[i],
               (unsigned long long)r.changes_n, (unsigned long long)r.otherwise_n, (unsigned long long)r.cycles_n, *e.text ? ": " : "",
               e.text);
        failed_n += !good;
    }
    printf("1..%d\n", argc - 1);
    return failed_n > 0;
}
