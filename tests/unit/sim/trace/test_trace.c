/* test_trace.c - traces as they are written, rightly and wrongly; orders of pods and nodes */
#include "trace_files.h"
#include "sim/trace/trace.h"

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
#define TWO_NODES NODES "a,64000,1024,2,T4\nb,96000,2048,8,G2\n"
#define THREE_PODS PODS "p,1000,10,1,500,\nq,2000,20,2,1000,G2|T4\nr,1000,10,1,500,\n"

/* What is wrong, after the path's folder; "" nothing. */
static const char *load(struct trace *t, const char *nodes, const char *pods)
{
    static char text[ERR_TEXT_MAX];
    struct err e = {0};
    int r = trace_load(t, trace_file("nodes.csv", nodes), trace_file("pods.csv", pods), &e);
    size_t n = strlen(trace_folder) + 1;
    snprintf(text, sizeof text, "%s", r < 0 ? strncmp(e.text, trace_folder, n - 1) ? e.text : e.text + n : "");
    return text;
}

static void what_is_there(void **state)
{
    (void)state;
    struct trace t;
    assert_string_equal(load(&t, TWO_NODES, THREE_PODS), "");
    assert_int_equal(t.nodes_n, 2);
    assert_int_equal(t.gpu_milli, 10000);
    assert_int_equal(t.pods_n, 3);
    assert_int_equal(t.kinds_n, 2);
    assert_int_equal(t.kinds[0].count, 2);
    assert_int_equal(t.kinds[0].gpu_milli, 500);
    assert_int_equal(t.kinds[1].models, 3);
    assert_string_equal(t.kinds[1].spec, "G2|T4");
    trace_fini(&t);
    assert_string_equal(load(&t, TWO_NODES, "num_gpu,cpu_milli,gpu_milli,memory_mib\n0,5.0,,7\n"), ""); /* no spec, none of a GPU */
    assert_int_equal(t.kinds[0].cpu_milli, 5);
    trace_fini(&t);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *nodes, *pods, *wrong;
    } cases[] = {
        {"sn,cpu_milli,memory_mib,gpu\n", THREE_PODS, "nodes.csv: line 1: no column model"},
        {NODES "a,-4,1,1,T4\n", THREE_PODS, "nodes.csv: line 2, column cpu_milli: \"-4\": want a whole number, 0 or more"},
        {NODES "a,1,1,65,T4\n", THREE_PODS, "nodes.csv: line 2, column gpu: \"65\": at most 64 is taken"},
        {NODES "a,1,1,1,T4\na,1,1,1,T4\n", THREE_PODS, "nodes.csv: line 3, column sn: \"a\" is another node's name already"},
        {NODES ",1,1,1,T4\n", THREE_PODS, "nodes.csv: line 2, column sn: want a name of 1 to 253 bytes"},
        {NODES "a,1,1,1,T|4\n", THREE_PODS, "nodes.csv: line 2, column model: a model's name holds no |"},
        {NODES "a,1,1,0,\n", THREE_PODS, "nodes.csv: no node has a GPU"},
        {TWO_NODES, "cpu_milli,memory_mib,num_gpu\n", "pods.csv: line 1: no column gpu_milli"},
        {TWO_NODES, PODS, "pods.csv: no pods"},
        {TWO_NODES, PODS "p,1,1,1,0,\n", "pods.csv: line 2, column gpu_milli: 0 of a GPU: want 1 to 1000"},
        {TWO_NODES, PODS "p,1,1,1,1001,\n", "pods.csv: line 2, column gpu_milli: \"1001\": at most 1000 is taken"},
        {TWO_NODES, PODS "p,1,1,2,500,\n",
         "pods.csv: line 2, column gpu_milli: 500 of each of 2 GPUs: parts are taken of one GPU, more of them whole (1000)"},
        {TWO_NODES, PODS "p,1,1,1,500,G2|X9\n", "pods.csv: line 2, column gpu_spec: \"X9\": no node has such a GPU"},
        {TWO_NODES, PODS "p,9223372036854775807,1,1,500,\n",
         "pods.csv: line 2, column cpu_milli: \"9223372036854775807\": at most 1000000000 is taken"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace t;
        assert_string_equal(load(&t, cases[i].nodes, cases[i].pods), cases[i].wrong);
    }
}

static const char *order(struct trace *t, const char *pods, const char *nodes)
{
    static char text[ERR_TEXT_MAX];
    struct err e = {0};
    (void)trace_file("o.pods", pods);
    remove(trace_file("o.nodes", NULL));
    if (nodes)
        (void)trace_file("o.nodes", nodes);
    int r = trace_order(t, trace_file("o.pods", pods), &e);
    snprintf(text, sizeof text, "%s", r < 0 ? e.text + strlen(trace_folder) + 1 : "");
    return text;
}

static void orders(void **state)
{
    (void)state;
    static const struct {
        const char *pods, *nodes, *wrong;
    } cases[] = {
        {"0\n2\n2\n", "a 7\nb 3\n", ""},
        {"1\n", "b 0\n", ""},
        {"1\n", NULL, ""},
        {"0\n3\n", NULL, "o.pods: line 2: \"3\": at most 2 is taken"},
        {"0\nx\n", NULL, "o.pods: line 2: \"x\": want a whole number, 0 or more"},
        {"", NULL, "o.pods: no pods"},
        {"0\n", "a\n", "o.nodes: line 1: want a node's name, a space and its rank"},
        {"0\n", "a 1\na 2\n", "o.nodes: line 2: a node's name for the second time"},
        {"0\n", "a 1\nc 2\n", "o.nodes: names 2 nodes, of which 1 are among the nodes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace t;
        assert_string_equal(load(&t, TWO_NODES, THREE_PODS), "");
        assert_string_equal(order(&t, cases[i].pods, cases[i].nodes), cases[i].wrong);
        if (i == 0) {
            assert_string_equal(t.nodes[0].name, "b");
            assert_int_equal(t.arrivals_n, 3);
        }
        if (i == 1)
            assert_int_equal(t.gpu_milli, 8000); /* a takes no part */
        trace_fini(&t);
    }
}

static void drawn(void **state)
{
    (void)state;
    struct trace t, same;
    for (uint64_t seed = 1; seed < 20; seed++) {
        assert_string_equal(load(&t, TWO_NODES, THREE_PODS), "");
        assert_string_equal(load(&same, TWO_NODES, THREE_PODS), "");
        trace_draw(&t, seed, 1300);
        trace_draw(&same, seed, 1300);
        assert_int_equal(t.arrivals_n, same.arrivals_n);
        assert_memory_equal(t.arrivals, same.arrivals, t.arrivals_n * sizeof *t.arrivals);
        assert_string_equal(t.nodes[0].name, same.nodes[0].name);
        int64_t asked = 0;
        int seen[3] = {0};
        for (uint32_t i = 0; i < t.arrivals_n; i++) {
            const struct trace_kind *k = &t.kinds[t.pods[t.arrivals[i]]];
            asked += (int64_t)k->gpus_n * k->gpu_milli;
            seen[t.arrivals[i]] += i < 3;
        }
        assert_true(asked <= 13000 && asked > 13000 - 2000);
        assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
        trace_fini(&t);
        trace_fini(&same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_there), cmocka_unit_test(what_is_wrong), cmocka_unit_test(orders),
                                       cmocka_unit_test(drawn)};
    return cmocka_run_group_tests(tests, trace_folder_open, trace_folder_close);
}
