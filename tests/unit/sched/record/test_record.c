/* Recordings: each record comes back as it went in; files are bounded; what is cut or damaged is played up to there */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "../../core/world.h"
#include "../../folder.h"
#include "base/log.h"
#include "base/random.h"
#include "sched/record/change_io.h"
#include "sched/record/player.h"
#include "sched/record/recorder.h"
#include "sched/record/recording.h"

/* ---- one record ---- */

/* Written, read with another pool of names, and written again: the same bytes. */
static void comes_back(struct world *w, struct change c)
{
    _cleanup_buf_ struct buf first = {0}, second = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    struct intern *others = intern_new();
    (void)intern_text_id(others, "so that ids differ");
    struct change_io out = {.names = w->names, .out = &first};
    change_io_change(&out, &c);
    struct change read = {0};
    struct change_io in = {.reading = true, .names = others, .arena = a, .at = first.data, .end = first.data + first.n};
    change_io_change(&in, &read);
    assert_false(in.bad);
    assert_ptr_equal(in.at, in.end);
    struct change_io again = {.names = others, .out = &second};
    change_io_change(&again, &read);
    assert_int_equal(first.n, second.n);
    assert_memory_equal(first.data, second.data, first.n);
    for (size_t n = 0; n < first.n; n++) { /* cut anywhere it is bad, and nothing beyond is read */
        char *exact = malloc(n ? n : 1);
        memcpy(exact, first.data, n);
        struct change_io cut = {.reading = true, .names = others, .arena = a, .at = exact, .end = exact + n};
        change_io_change(&cut, &read);
        assert_true(cut.bad);
        change_io_fini(&cut);
        free(exact);
    }
    change_io_fini(&out);
    change_io_fini(&in);
    change_io_fini(&again);
    intern_free(others);
}

static void every_kind_comes_back(void **state)
{
    struct world w = world_new();
    name_id x = id(&w, "x"), y = id(&w, "y"), z = id(&w, "a longer name, with ünïcode");
    const name_id names[] = {x, y, z};
    const struct label labels[] = {{x, y}, {z, 0}};
    const struct amount amounts[] = {{x, INT64_MAX}, {y, INT64_MIN}, {z, -1}};
    const struct taint taints[] = {{x, y, TAINT_NO_EXECUTE}, {y, 0, TAINT_NO_SCHEDULE}};
    const struct toleration tolerations[] = {{.key = x, .value = y, .exists = true, .effects = 7}};
    const struct requirement all[] = {{.key = x, .op = REQUIRE_IN, .is_field = true, .values = names, .values_n = 3},
                                      {.key = y, .op = REQUIRE_LESS, .number = -42}};
    const struct selector terms[] = {{all, 2, false}, {NULL, 0, true}};
    const struct node_preference wishes[] = {{terms[0], 100}};
    const struct host_port ports[] = {{x, 65535, 2}};
    const struct pod_affinity affinities[] = {{.pods = terms[0], .namespaces = names, .namespaces_n = 2, .topology_key = y, .anti = true},
                                              {.all_namespaces = true}};
    const struct topology_spread spreads[] = {{.pods = terms[1], .topology_key = x, .max_skew = 3, .min_domains = 2}};
    const struct pod_affinity rather[] = {{.pods = terms[1], .topology_key = z, .anti = true, .weight = 100}};
    struct shape shape = {amounts, 3, labels, 2, terms, 2, wishes, rather, spreads, 1, 1, 1, tolerations, 1, ports, 1, affinities, 2,
                          spreads, 1, labels, 1, z};
    const struct device devices[] = {{x, y, 7, 3, true, 2, 1000, 81920}, {.resource = z, .id = x}};
    const struct device_feedback feedback[] = {{x, -1, INT16_MAX, 1, 2, true, 79, 1767225600000}};
    comes_back(&w, (struct change){.type = CHANGE_NODE,
                                   .node = {x, labels, 2, taints, 2, amounts, 3, devices, 2, feedback, 1, 5, -6, true, true}});
    comes_back(&w, (struct change){.type = CHANGE_NAMESPACE, .ns = {x, labels, 2}});
    const int64_t tiers[] = {1, -2};
    const struct topology_row rows[] = {{x, names}, {y, names + 1}};
    comes_back(&w, (struct change){.type = CHANGE_TOPOLOGY, .topology = {x, names, 2, tiers, rows, 2}});
    comes_back(&w, (struct change){.type = CHANGE_TOPOLOGY, .topology = {x, names, 3, NULL, NULL, 0}});
    comes_back(&w, (struct change){.type = CHANGE_FLAVOR, .flavor = {x, y, labels, 2, taints, 1, tolerations, 1}});
    const struct quota_record quotas[] = {{x, y, 1, NO_LIMIT, 5, true, NO_END}, {0, z, 0, 0, NO_LIMIT, false, 0}};
    comes_back(&w, (struct change){.type = CHANGE_COHORT, .cohort = {x, y, quotas, 2, true, 1500000000}});
    const struct resource_group groups[] = {{names, 2, names + 1, 2}};
    const struct queue_check checks[] = {{x, names, 3}, {y, NULL, 0}};
    const struct counting counts[] = {{x, y, 1000, 3, COUNTS_PART, true, z}, {y, z, 1, 1, COUNTS_EACH, false, 0}};
    const struct queue_shares shares = {x, 4, true, true, amounts, amounts + 1, amounts + 2, 3, 2, 1, 60000, 90000, counts, 2};
    comes_back(&w, (struct change){.type = CHANGE_QUEUE,
                                   .queue = {x,
                                             y,
                                             z,
                                             QUEUE_VOLCANO,
                                             QUEUE_STRICT_FIFO,
                                             BACKFILL_EASY,
                                             {.own = true, .unread = true, .by = PLACEMENT_FGD},
                                             600,
                                             STOP_HOLD_AND_DRAIN,
                                             terms[0],
                                             groups,
                                             1,
                                             quotas,
                                             2,
                                             true,
                                             true,
                                             true,
                                             true,
                                             PREEMPT_ANY,
                                             PREEMPT_LOWER_PRIORITY,
                                             PREEMPT_NEVER,
                                             true,
                                             -7,
                                             true,
                                             9,
                                             3,
                                             checks,
                                             2,
                                             true,
                                             &shares,
                                             true,
                                             x}});
    comes_back(&w, (struct change){.type = CHANGE_QUEUE, .queue = {.name = x}});
    const struct fine_amount fine[] = {{x, 5, 999999999}};
    comes_back(&w, (struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = {x, y, z, x, STOP_HOLD, true, 3, fine, 1, 1767225600000}});
    const struct pod_set sets[] = {{.name = x,
                                    .topology = {TOPOLOGY_PREFERRED, y, {{x, 4}, {z, 2}}, 2, z},
                                    .shape = shape,
                                    .charged = amounts,
                                    .charged_n = 2,
                                    .is_charged = true,
                                    .count = 8,
                                    .min_count = 2,
                                    .reclaimed = 1,
                                    .granted = 4,
                                    .in_turns = true,
                                    .later = true,
                                    .serial = true},
                                   {.name = y}};
    const struct flavor_choice choices[] = {{1, x, y}};
    const struct domain_choice domains[] = {{1, x, 3}};
    const struct booked_place places[] = {{1, x, 2}};
    const struct booked_quota booked[] = {{x, y, -5}};
    const struct booking_record booking = {1767225600000, 3, true, places, booked, 1, 1};
    const struct gang_check gang_checks[] = {{x, CHECK_REJECTED}};
    const struct subgroup_policy subgroups[] = {{x, 2, terms[0], names, 3, 4, 2, {TOPOLOGY_PREFERRED, -6, y}}, {.name = z}};
    comes_back(&w, (struct change){.type = CHANGE_GANG,
                                   .gang = {x,
                                            GANG_NATIVE,
                                            y,
                                            z,
                                            x,
                                            y,
                                            QUEUE_LOCAL,
                                            -5,
                                            7,
                                            6,
                                            z,
                                            true,
                                            sets,
                                            2,
                                            3,
                                            amounts,
                                            2,
                                            amounts,
                                            3,
                                            true,
                                            {TOPOLOGY_REQUIRED, 5, x},
                                            subgroups,
                                            2,
                                            3,
                                            true,
                                            78,
                                            true,
                                            true,
                                            80,
                                            79,
                                            true,
                                            true,
                                            true,
                                            z,
                                            7,
                                            true,
                                            true,
                                            true,
                                            true,
                                            8,
                                            x,
                                            choices,
                                            1,
                                            domains,
                                            1,
                                            gang_checks,
                                            1,
                                            9,
                                            10,
                                            true,
                                            11, 77, true, &booking,
                                            true,
                                            true,
                                            PODS_UNSAID,
                                            12,
                                            13,
                                            14}});
    comes_back(&w, (struct change){.type = CHANGE_POD, .pod = {x, y, z, GANG_POD, x, shape, -3,   4,    5,    POD_FAILED, x,    y,
                                                               z, 6, x, y,        z, true,  true, true, true, true,       true, true}});
    comes_back(&w, (struct change){.type = CHANGE_BUDGET, .budget = {x, y, terms[0], -1, names, 3}});
    comes_back(&w, (struct change){.type = CHANGE_OUTCOME, .outcome = {EFFECT_MOVE, OUTCOME_FAILED, x, y, E_CONFLICT}});
    comes_back(&w, (struct change){.type = CHANGE_POD_GONE, .gone = z});
    world_free(&w);
}

/* Bytes of chance are refused, or are a record: then written again they are read the same. */
static void chance_is_no_harm(void **state)
{
    struct random random = {7};
    uint32_t good_n = 0;
    for (int i = 0; i < 50000; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct intern *names = intern_new();
        char bytes[64];
        size_t n = 1 + random_below(&random, sizeof bytes - 1);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(random_below(&random, 3) ? random_below(&random, 6) : random_next(&random));
        struct change c = {0};
        struct change_io in = {.reading = true, .names = names, .arena = a, .at = bytes, .end = bytes + n};
        change_io_change(&in, &c);
        if (!in.bad) {
            struct world w = {.names = names};
            good_n++;
            comes_back(&w, c);
        }
        change_io_fini(&in);
        intern_free(names);
    }
    assert_true(good_n > 100);
}

/* ---- files ---- */

struct files {
    char dir[64];
    struct loop *loop;
};

static int setup(void **state)
{
    static struct files f;
    folder_make(f.dir, sizeof f.dir, "record");
    f.loop = loop_new_virtual(1767225600000);
    log_set_level(LOG_ERROR);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct files *f = *state;
    loop_free(f->loop);
    folder_remove(f->dir);
    return 0;
}

/* A scheduler's life: pods come and are bound. Returns what was written. */
static uint64_t record(const struct files *f, int64_t limit_bytes, int turns, int pods_n)
{
    struct recorder *r;
    struct err e = {0};
    if (recorder_new(f->loop, f->dir, limit_bytes, &r, &e) < 0)
        fail_msg("%s", e.text);
    struct world w = world_new();
    struct policy policy = {
        .consumption = {
            .on = true, .half_life_ms = 1000, .sampling_ms = 1000, .weights = &(struct resource_weight){"cpu", 5}, .weights_n = 1}};
    state_set_consumption_policy(w.s, &policy.consumption);
    recorder_begin(r, w.s, &policy);
    struct change n = {.type = CHANGE_NODE, .node = a_node(&w, "n0", "cpu=1000000,pods=10000", "a=b")};
    recorder_change(r, &n);
    state_apply(w.s, &n);
    char text[64];
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < pods_n; i++) {
            snprintf(text, sizeof text, "ns/pod-%d-%d", turn, i);
            struct change p = {.type = CHANGE_POD,
                               .pod = {.key = id(&w, text), .uid = id(&w, text), .ours = true, .shape = shape_of(&w, "cpu=1", "")}};
            recorder_change(r, &p);
            state_apply(w.s, &p);
        }
        struct decide_config config = {.hold = turn % 2};
        arena_reset(w.cycle);
        decide(w.s, &config, w.now_ms += 1000, w.cycle, &w.plan);
        recorder_cycle(r, &config, w.now_ms, &w.plan);
        loop_run_for(f->loop, 2000, NULL);
        if (turn % 3 == 2) { /* names go */
            recorder_forget(r);
            state_mark_names(w.s);
            intern_sweep(w.names);
        }
    }
    uint64_t bytes = recorder_bytes(r);
    recorder_free(r);
    world_free(&w);
    return bytes;
}

static uint32_t play(const struct files *f, struct player_result *ret, int64_t until_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *const *runs;
    uint32_t n;
    struct err e = {0};
    if (player_runs(f->dir, a, &runs, &n, &e) < 0 ||
        player_play(f->dir, runs[n - 1], &(struct player_options){.until_ms = until_ms}, ret, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(ret->otherwise_n, 0);
    assert_false(ret->state_is_other);
    return n;
}

static void a_run_is_played_alike(void **state)
{
    struct player_result r;
    (void)record(*state, 1 << 30, 10, 5);
    assert_int_equal(play(*state, &r, INT64_MAX), 1);
    assert_int_equal(r.changes_n, 51);
    assert_int_equal(r.cycles_n, 10);
    assert_true(r.ended);
    assert_string_equal(r.cut, "");
    (void)play(*state, &r, 1000000 + 4000);
    assert_int_equal(r.cycles_n, 4);
    assert_false(r.ended);
}

static char *newest_file(const struct files *f, char path[512])
{
    struct dirent **all;
    int n = scandir(f->dir, &all, NULL, alphasort);
    snprintf(path, 512, "%s/%s", f->dir, all[n - 1]->d_name);
    for (int i = 0; i < n; i++)
        free(all[i]);
    free(all);
    return path;
}

/* Cut at every byte: what is whole before it is played, and where it was cut is said. */
static void what_is_cut_is_played_up_to_there(void **state)
{
    struct files *f = *state;
    struct player_result r;
    char path[512];
    (void)record(f, 1 << 30, 6, 2);
    (void)newest_file(f, path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    uint64_t before_n = UINT64_MAX;
    for (off_t n = st.st_size - 1; n >= 0; n--) {
        assert_int_equal(truncate(path, n), 0);
        (void)play(f, &r, INT64_MAX);
        assert_false(r.ended);
        assert_true(r.changes_n <= before_n);
        before_n = r.changes_n;
        bool whole_blocks = !r.cut[0];
        assert_true(whole_blocks || strstr(r.cut, "is cut at byte"));
    }
    assert_int_equal(before_n, 0);
}

static void what_is_damaged_is_not_played(void **state)
{
    struct files *f = *state;
    struct player_result whole, r;
    char path[512];
    (void)record(f, 1 << 30, 6, 2);
    (void)play(f, &whole, INT64_MAX);
    int fd = open(newest_file(f, path), O_RDWR | O_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = RECORDING_HEAD_N; at < st.st_size; at++) {
        char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = (char)(byte ^ 0x10);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        (void)play(f, &r, INT64_MAX);
        assert_true(r.cut[0] && !r.ended && r.changes_n < whole.changes_n + 1);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    struct err e = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    const char *const *runs;
    uint32_t n;
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "X", 1, 0), 1);
    close(fd);
    assert_int_equal(player_runs(f->dir, a, &runs, &n, &e), 0);
    assert_int_equal(player_play(f->dir, runs[0], &(struct player_options){.until_ms = INT64_MAX}, &r, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "is no recording of this version"));
}

static uint64_t folder_bytes(const struct files *f, int *ret_n)
{
    struct dirent **all;
    int n = scandir(f->dir, &all, NULL, alphasort);
    uint64_t sum = 0;
    *ret_n = 0;
    for (int i = 0; i < n; i++) {
        char path[512];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", f->dir, all[i]->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            sum += (uint64_t)st.st_size;
            ++*ret_n;
        }
        free(all[i]);
    }
    free(all);
    return sum;
}

static void old_runs_go_and_a_run_ends_at_the_limit(void **state)
{
    struct files *f = *state;
    struct player_result r;
    int files_n;
    uint64_t one = record(f, 1 << 30, 10, 5), limit = 3 * one;
    for (int i = 0; i < 10; i++) {
        (void)record(f, (int64_t)limit, 10, 5);
        assert_true(folder_bytes(f, &files_n) <= limit);
        assert_true(play(f, &r, INT64_MAX) <= 3);
        assert_true(r.ended);
    }
    (void)record(f, (int64_t)limit, 100, 5); /* larger than all may be */
    assert_true(folder_bytes(f, &files_n) <= limit);
    assert_int_equal(play(f, &r, INT64_MAX), 1);
    assert_false(r.ended);
    assert_true(r.cycles_n > 10 && r.cycles_n < 100);
    struct err e = {0};
    struct recorder *none;
    assert_true(recorder_new(f->loop, "/proc/none/record", 1, &none, &e) < 0);
    _cleanup_arena_ struct arena *a = arena_new();
    const char *const *runs;
    uint32_t n;
    assert_true(player_runs("/proc/none", a, &runs, &n, &e) < 0);
}

/* A run is longer than a file. */
static void a_run_has_several_files(void **state)
{
    struct files *f = *state;
    struct player_result r;
    int files_n;
    (void)record(f, 16 << 20, 30, 3000);
    (void)folder_bytes(f, &files_n);
    assert_true(files_n > 2);
    (void)play(f, &r, INT64_MAX);
    assert_true(r.ended);
    assert_int_equal(r.files_n, files_n);
    assert_int_equal(r.changes_n, 30 * 3000 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(chance_is_no_harm),
        cmocka_unit_test_setup_teardown(a_run_is_played_alike, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_cut_is_played_up_to_there, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_not_played, setup, teardown),
        cmocka_unit_test_setup_teardown(old_runs_go_and_a_run_ends_at_the_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_has_several_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
