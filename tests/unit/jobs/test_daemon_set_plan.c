/* What a DaemonSet does next: pods as words, the plan as one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "jobs/apps/daemon_set_plan.h"

/* nodes: "a+ b- c=": wanted, not to be there, may stay. pods: "ar bu ...": a node, then r ready, u running but not ready, p pending, f
 * failed, d being deleted, x expected, m ready just now; capital letters have the update.
 * Answer: "+a -b0 again " (pods numbered as given) and desired/scheduled/misscheduled/ready/available/updated. */
static const char *plan_of(struct arena *a, struct daemon_spec spec, const char *nodes_text, const char *pods_text)
{
    struct daemon_node nodes[8];
    const struct job_pod *pods[16];
    uint32_t nodes_n = 0, n = 0;
    spec.update = "new";
    for (const char *at = nodes_text; *at; at += 2 + (at[2] == ' '))
        nodes[nodes_n++] = (struct daemon_node){arena_printf(a, "%c", at[0]), at[1] == '+', at[1] != '-'};
    for (const char *at = pods_text; *at; at += 2 + (at[2] == ' ')) {
        bool is_new = at[1] >= 'A' && at[1] <= 'Z';
        char c = is_new ? (char)(at[1] - 'A' + 'a') : at[1];
        struct job_pod *p = arena_zero(a, 1, sizeof *p);
        p->name = arena_printf(a, "%c%u", at[0], n);
        p->node = arena_printf(a, "%c", at[0]);
        p->revision = arena_text(a, is_new ? "new" : "old");
        p->phase = c == 'f' ? JOB_POD_FAILED : c == 'p' || c == 'x' ? JOB_POD_PENDING : JOB_POD_RUNNING;
        p->ready = c == 'r' || c == 'm';
        p->deleting = c == 'd';
        p->expected = c == 'x';
        p->created_ms = (int64_t)n;
        p->ready_ms = c == 'm' ? 100000 : 50000;
        pods[n++] = p;
    }
    struct daemon_plan plan;
    daemon_set_plan(a, &spec, nodes, nodes_n, pods, n, 101000, &plan);
    _cleanup_buf_ struct buf out = {0};
    for (uint32_t i = 0; i < plan.create_n; i++)
        buf_printf(&out, "+%s ", plan.create[i]);
    for (uint32_t i = 0; i < plan.remove_n; i++)
        buf_printf(&out, "-%s ", plan.remove[i]->name);
    buf_printf(&out, "%s%d/%d/%d/%d/%d/%d", plan.again_ms ? "again " : "", (int)plan.desired_n, (int)plan.scheduled_n,
               (int)plan.misscheduled_n, (int)plan.ready_n, (int)plan.available_n, (int)plan.updated_n);
    return arena_text(a, out.data);
}

#define IS(text, nodes, pods, ...) assert_string_equal(plan_of(a, (struct daemon_spec){__VA_ARGS__}, nodes, pods), text)

static void every_wanted_node_gets_one(void **state)
{
    struct arena *a = *state;
    IS("0/0/0/0/0/0", "", "", .max_unavailable = 1);
    IS("+a +c 2/0/0/0/0/0", "a+ b- c+", "", .max_unavailable = 1);
    IS("+c 2/0/0/0/0/0", "a+ b- c+", "aX", .max_unavailable = 1);
    IS("2/2/0/2/2/2", "a+ b- c+", "aR cR", .max_unavailable = 1);
    IS("2/2/0/1/1/2", "a+ c+", "aD cR", .max_unavailable = 1); /* the next when it has gone */
    IS("-a1 1/1/0/1/1/1", "a+", "aR aR", .max_unavailable = 1);
    IS("-a0 -a1 0/0/1/0/0/0", "a-", "aR aR", .max_unavailable = 1);
    IS("0/0/1/0/0/0", "a=", "aR", .max_unavailable = 1);
    IS("0/0/1/0/0/0", "a=", "ar", .max_unavailable = 1); /* and is left as it is */
    IS("-z1 1/1/0/1/1/1", "a+", "aR zP zR", .max_unavailable = 1); /* z is no node */
}

static void pods_that_ended_are_replaced(void **state)
{
    struct arena *a = *state;
    IS("-a0 1/1/0/0/0/1", "a+", "aF", .max_unavailable = 1);
}

static void an_update_keeps_most_nodes_served(void **state)
{
    struct arena *a = *state;
    IS("-a0 3/3/0/3/3/0", "a+ b+ c+", "ar br cr", .max_unavailable = 1);
    IS("-a0 -b1 3/3/0/3/3/0", "a+ b+ c+", "ar br cr", .max_unavailable = 2);
    IS("3/3/0/2/2/0", "a+ b+ c+", "ad br cr", .max_unavailable = 1);
    IS("+a 3/2/0/2/2/0", "a+ b+ c+", "br cr", .max_unavailable = 1);
    IS("3/3/0/2/2/1", "a+ b+ c+", "aP br cr", .max_unavailable = 1);
    IS("-b1 3/3/0/3/3/1", "a+ b+ c+", "aR br cr", .max_unavailable = 1);
    IS("-c2 3/3/0/2/2/0", "a+ b+ c+", "ar br cu", .max_unavailable = 1); /* one that is out of service already costs nothing */
    IS("3/3/0/3/3/0", "a+ b+ c+", "ar br cr", .max_unavailable = 1, .is_on_delete = true);
}

static void a_surge_comes_beside(void **state)
{
    struct arena *a = *state;
    IS("+a 2/2/0/2/2/0", "a+ b+", "ar br", .max_surge = 1);
    IS("2/2/0/2/2/0", "a+ b+", "ar aP br", .max_surge = 1);
    IS("+b -a0 2/2/0/2/2/0", "a+ b+", "ar aR br", .max_surge = 1);
    IS("+a +b 2/2/0/2/2/0", "a+ b+", "ar br", .max_surge = 2);
}

static void a_pod_counts_when_it_has_been_ready_for_long(void **state)
{
    struct arena *a = *state;
    IS("again 2/2/0/2/1/1", "a+ b+", "aM br", .max_unavailable = 1, .min_ready_ms = 5000);
    IS("-b1 2/2/0/2/2/1", "a+ b+", "aM br", .max_unavailable = 1, .min_ready_ms = 1000);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_wanted_node_gets_one),        TEST(pods_that_ended_are_replaced),
        TEST(an_update_keeps_most_nodes_served), TEST(a_surge_comes_beside),
        TEST(a_pod_counts_when_it_has_been_ready_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
