/* test_jobs.c - traces of jobs: what is read, what is wrong with them, and who waits how long in which queue */
#include "trace_files.h"
#include "base/limits.h"
#include "sim/trace/job_replay.h"

/* "came+runs/gpus;" of each job in ms, or what is wrong, after the path. */
static const char *jobs(const char *path, int64_t gpus_most)
{
    static char text[512];
    struct job_trace t;
    struct err e = {0};
    int n = 0;
    text[0] = 0;
    if (job_trace_load(&t, path, gpus_most, &e) < 0) {
        snprintf(text, sizeof text, "%s", strstr(e.text, ": ") ? strstr(e.text, ": ") + 2 : e.text);
        return text;
    }
    for (uint32_t i = 0; i < t.jobs_n; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld+%lld/%u;", (long long)t.jobs[i].came_ms, (long long)t.jobs[i].runs_ms,
                      t.jobs[i].gpus_n);
    snprintf(text + n, sizeof text - (size_t)n, " late %u, without %u", t.late_n, t.without_gpus_n);
    job_trace_fini(&t);
    return text;
}

#define HEAD "timestamp,duration,num_gpus\n"

static void is_read(void **state)
{
    (void)state;
    assert_string_equal(jobs(trace_file("j.csv", HEAD "5,2.0,1\n7.25,0,8\n"), 8), "0+2000/1;2250+0/8; late 0, without 0");
    assert_string_equal(jobs(trace_file("j.csv", "num_gpus,user,duration,timestamp\n2.0,x,3.5019,9\n1,y,1,4\n0,z,1,6\n3,z,1,4\n"), 8),
                        "0+1000/1;0+1000/3;5000+3501/2; late 2, without 1");
    assert_string_equal(jobs(trace_file("j.csv", HEAD "2017-10-09 07:01:55,66.0,1\n2017-10-09 07:01:54.5,1,1\n"), 8),
                        "0+1000/1;500+66000/1; late 1, without 0");
    assert_string_equal(jobs(trace_file("j.csv", HEAD "2017-10-09T09:00:00+02:00,1,1\n2017-10-09T07:00:01Z,1,1\n"), 8),
                        "0+1000/1;1000+1000/1; late 0, without 0");
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"", "is empty: want a line that names the columns"},
        {"timestamp,num_gpus\n", "line 1: no column duration"},
        {HEAD, "no rows below line 1: want one for each job"},
        {HEAD "1,1,0\n", "no row asks for a GPU"},
        {HEAD "1,1,1\n1,-5,1\n", "line 3, column duration: \"-5\" is less than 0"},
        {HEAD "-1,5,1\n", "line 2, column timestamp: \"-1\" is less than 0"},
        {HEAD "1,5,-1\n", "line 2, column num_gpus: \"-1\" is less than 0"},
        {HEAD "1,5,\n", "line 2, column num_gpus: \"\": want a whole number, 0 or more"},
        {HEAD "1,5,1.5\n", "line 2, column num_gpus: \"1.5\": want a whole number, 0 or more"},
        {HEAD "1,,1\n", "line 2, column duration: \"\": want seconds, 0 or more"},
        {HEAD "1,1e9,1\n", "line 2, column duration: \"1e9\": want seconds, 0 or more"},
        {HEAD "1,nan,1\n", "line 2, column duration: \"nan\": want seconds, 0 or more"},
        {HEAD "1,1.,1\n1,5.x,1\n", "line 3, column duration: \"5.x\": want seconds, 0 or more"},
        {HEAD "1,99999999999999999999999,1\n", "line 2, column duration: \"99999999999999999999999\": at most 1000000000 is taken"},
        {HEAD "99999999999999999999999,1,1\n", "line 2, column timestamp: \"99999999999999999999999\": at most 1000000000000 is taken"},
        {HEAD "soon,1,1\n", "line 2, column timestamp: \"soon\": want seconds, 0 or more, or a time as 2017-10-09 07:01:55"},
        {HEAD "2017-13-09 07:01:55,1,1\n",
         "line 2, column timestamp: \"2017-13-09 07:01:55\": want seconds, or a time as 2017-10-09 07:01:55"},
        {HEAD "2017-10-09,1,1\n", "line 2, column timestamp: \"2017-10-09\": want seconds, or a time as 2017-10-09 07:01:55"},
        {HEAD "2017-10-09 07:01:55,1,1\n5,1,1\n",
         "line 3, column timestamp: is seconds, where the rows before have times of day: want one of the two throughout"},
        {HEAD "1,1,9\n", "line 2, column num_gpus: \"9\": the cluster has 8 GPUs: leave the job out, or name a larger --cluster"},
        {HEAD "1,1,1\n1,1\n", "line 3: fewer cells than line 1 names columns (3)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(jobs(trace_file("j.csv", cases[i].text), 8), cases[i].wrong);
    assert_non_null(strstr(jobs("/nowhere/j.csv", 8), "No such file"));
}

static void too_many(void **state)
{
    (void)state;
    const char *path = trace_file("many.csv", NULL);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(HEAD, f);
    for (int i = 0; i <= LIMIT_TRACE_JOBS; i++)
        fputs("1,1,1\n", f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(jobs(path, 8),
                        "line 5000002, column timestamp: is of one job more than the 5000000 that are taken: replay a part of the trace");
    assert_int_equal(unlink(path), 0);
}

/* ---- replays ---- */

/* "start start ..." in seconds, by arrival. */
static const char *starts(const char *text, enum job_queue queue, double error, struct job_result *ret_result)
{
    static char out[256];
    struct job_trace t;
    struct job_options o = {.nodes_n = 2, .gpus_n = 4, .queue = queue, .forecasts_n = 1000};
    struct err e = {0};
    int n = 0;
    assert_int_equal(job_trace_load(&t, trace_file("j.csv", text), 8, &e), 0);
    job_trace_expect(&t, error, 7);
    job_replay(&t, &o, ret_result);
    for (uint32_t i = 0; i < t.jobs_n; i++)
        n += snprintf(out + n, sizeof out - (size_t)n, "%s%lld", i ? " " : "", (long long)t.jobs[i].started_ms / 1000);
    job_trace_fini(&t);
    return out;
}

/* Two nodes of 4: one is busy until 100. A gang of 8 comes, then short and long jobs of one GPU. */
static const char waiting[] = HEAD "0,100,4\n1,50,8\n2,98,1\n3,200,1\n4,10,2\n";

static void who_starts_when(void **state)
{
    (void)state;
    struct job_result r;
    assert_string_equal(starts(waiting, JOB_QUEUE_FIFO, 1, &r), "0 100 150 150 150");
    assert_string_equal(starts(waiting, JOB_QUEUE_SKIP, 1, &r), "0 203 2 3 4");
    assert_string_equal(starts(waiting, JOB_QUEUE_EASY, 1, &r), "0 100 2 150 4"); /* the third ends in time, the fourth would not */
    assert_string_equal(starts(waiting, JOB_QUEUE_SJF, 1, &r), "0 203 2 3 4");
    assert_string_equal(starts(HEAD "0,100,8\n1,50,4\n2,20,4\n3,9,8\n", JOB_QUEUE_SJF, 1, &r), "0 109 109 100");
    assert_string_equal(starts(HEAD "0,0,8\n0,0,8\n0,5,8\n", JOB_QUEUE_EASY, 1, &r), "0 0 0"); /* of no length */
}

/* Two nodes of 4, and every half minute a job of 4 for a minute: there is always one that has less to do than the gang of 8. */
static void a_gang_comes_due(void **state)
{
    (void)state;
    char text[2048] = HEAD "1,100,8\n";
    struct job_result r;
    for (int at = 0, n = (int)strlen(text); at < 1200; at += 30)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d,60,4\n", at);
    (void)starts(text, JOB_QUEUE_SJF, 1, &r);
    assert_int_equal(r.all.wait.most_ms, 1229000); /* until nobody comes any more */
    (void)starts(text, JOB_QUEUE_CAPSTAN, 1, &r);
    assert_int_equal(r.all.wait.most_ms, 449000); /* due at 401, it is promised both nodes from when the last on them ends */
}

static void figures(void **state)
{
    (void)state;
    struct job_result r;
    assert_string_equal(starts(HEAD "0,100,8\n0,50,8\n50,100,4\n", JOB_QUEUE_FIFO, 1, &r), "0 100 150");
    assert_int_equal(r.all.jobs_n, 3);
    assert_int_equal(r.all.wait.median_ms, 100000);
    assert_int_equal(r.all.wait.p99_ms, 100000);
    assert_int_equal(r.all.wait.most_ms, 100000);
    assert_int_equal((int64_t)(r.all.wait.mean_ms * 3 + 0.5), 200000);
    assert_int_equal((int64_t)(r.all.completion.mean_ms * 3 + 0.5), 450000);
    assert_int_equal((int64_t)(r.all.bounded_slowdown * 300 + 0.5), 600); /* 1, 3, 2 */
    assert_int_equal((int64_t)(r.utilisation * 10 + 0.5), 800);           /* 1600 of 250 s x 8 */
    assert_int_equal(r.end_ms, 250000);
    assert_int_equal(r.large.jobs_n, 0);
}

static void same_seed_same_starts(void **state)
{
    (void)state;
    struct job_result r;
    char first[256];
    snprintf(first, sizeof first, "%s", starts(waiting, JOB_QUEUE_CAPSTAN, 5, &r));
    assert_string_equal(starts(waiting, JOB_QUEUE_CAPSTAN, 5, &r), first);
}

/* Who waits is told when he comes. Nobody passes in fifo, so it is so; by length a shorter one that comes later does. */
static void starts_that_are_told(void **state)
{
    (void)state;
    struct job_result r;
    (void)starts(waiting, JOB_QUEUE_FIFO, 1, &r);
    assert_int_equal(r.forecasts.jobs_n, 4);
    assert_true(r.forecasts.median_error == 0 && r.forecasts.p90_error == 0);
    assert_string_equal(starts(HEAD "0,100,8\n1,50,8\n2,10,8\n", JOB_QUEUE_SJF, 1, &r), "0 110 100");
    assert_int_equal(r.forecasts.jobs_n, 2);
    assert_true(r.forecasts.median_error == 0 && r.forecasts.p90_error > 9.1 && r.forecasts.p90_error < 9.2); /* 10 of 109 s */
    (void)starts(HEAD "0,100,8\n", JOB_QUEUE_SJF, 1, &r);
    assert_int_equal(r.forecasts.jobs_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(too_many),
        cmocka_unit_test(who_starts_when),
        cmocka_unit_test(a_gang_comes_due),
        cmocka_unit_test(figures),
        cmocka_unit_test(same_seed_same_starts),
        cmocka_unit_test(starts_that_are_told),
    };
    return cmocka_run_group_tests(tests, trace_folder_open, trace_folder_close);
}
