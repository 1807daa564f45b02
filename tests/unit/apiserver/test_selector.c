#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "apiserver/store/question.h"
#include "apiserver/store/selector.h"
#include "codec/kinds/label_selector.h"

#define OBJECT                                                                                                         \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{\"a\":\"1\",\"x.io/"               \
    "b\":\"q\\u0022\"}},"                                                                                              \
    "\"spec\":{\"nodeName\":\"n1\",\"hostNetwork\":true},\"status\":{}}"

static bool match(const char *labels, const char *fields, const char *plural)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct selector s;
    struct err e = {0};
    if (selector_parse(a, labels, fields, &(struct selector_kind){"", plural, NULL}, &s, &e) < 0)
        fail_msg("%s", e.text);
    bool text = selector_match(&s, BYTES(OBJECT));
    assert_int_equal(selector_match_tree(&s, json_parse(a, BYTES(OBJECT), NULL, &e)), text);
    return text;
}

static int parse(const char *labels, const char *fields)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct selector s;
    struct err e = {0};
    return selector_parse(a, labels, fields, &(struct selector_kind){"", "pods", NULL}, &s, &e);
}

static void labels(void **state)
{
    assert_true(match(NULL, NULL, "pods"));
    assert_true(match("", "", "pods"));
    static const char *const yes[] = {"a=1",
                                      "a==1",
                                      "a",
                                      "!c",
                                      "a!=2",
                                      "c!=2",
                                      "a in (1,2)",
                                      "a in(1)",
                                      " a = 1 , !c",
                                      "a notin (2, 3)",
                                      "c notin (2)",
                                      "x.io/b=q\"",
                                      "a in (1),!c,a!=x",
                                      NULL};
    static const char *const no[] = {"a=2",         "c",  "!a",       "a!=1",  "a in (2)",
                                     "a notin (1)", "c=", "c in (1)", "a=1,c", NULL};
    for (size_t i = 0; yes[i]; i++)
        if (!match(yes[i], NULL, "pods"))
            fail_msg("%s should match", yes[i]);
    for (size_t i = 0; no[i]; i++)
        if (match(no[i], NULL, "pods"))
            fail_msg("%s should not match", no[i]);
}

static void label_errors(void **state)
{
    static const char *const bad[] = {"a in",  "a in (b", "a in b", "a foo (b)", "=", "!",
                                      "a=1 b", "(a)",     "a=(b)",  "/x=1",      NULL};
    for (size_t i = 0; bad[i]; i++)
        if (parse(bad[i], NULL) != -E_INVALID)
            fail_msg("%s should be refused", bad[i]);
    char key[80];
    memset(key, 'k', 64);
    key[64] = 0;
    assert_int_equal(parse(key, NULL), -E_INVALID);
}

static void fields(void **state)
{
    assert_true(match(NULL, "metadata.name=p", "pods"));
    assert_true(match(NULL, "metadata.name==p,metadata.namespace=n", "configmaps"));
    assert_true(match(NULL, "spec.nodeName=n1,status.phase=", "pods"));
    assert_true(match(NULL, "status.phase!=Failed", "pods"));
    assert_true(match(NULL, "spec.hostNetwork=true", "pods"));
    assert_true(match(NULL, "spec.unschedulable=false", "nodes"));
    assert_true(match(NULL, "involvedObject.namespace=,involvedObject.name=", "events"));
    assert_false(match(NULL, "spec.nodeName=", "pods"));
    assert_true(match(NULL, "spec.nodeName!=", "pods")); /* it has one */
    assert_false(match(NULL, "status.nominatedNodeName!=", "pods"));
    assert_true(match(NULL, "status.nominatedNodeName!=x", "pods"));
    assert_false(match(NULL, "metadata.name=p\\,q", "pods"));
    assert_int_equal(parse(NULL, "spec.foo=1"), -E_INVALID);
    assert_int_equal(parse(NULL, "metadata.name"), -E_INVALID);
    assert_int_equal(parse(NULL, "metadata.name in (a)"), -E_INVALID);
}

/* What a tree answers is what its text answers, whatever stands where a text is expected. */
static void tree_as_text(void **state)
{
    static const char *const values[] = {"\"x\"", "\"\"",   "\"q\\\"\\u0001\"", "7",  "-0.50",        "true",        "false",
                                         "null",  "[\"x\"]", "{\"x\":\"x\"}",   "{}", "{\"name\":1}", "[{\"a\":\"x\"}]"};
    static const char *const questions[][2] = {
        {"a=x", ""},          {"a", ""},           {"!a", ""},           {"a!=x", ""},         {"a in (x,q\"\001)", ""},
        {"a notin (x)", ""},  {"", "spec.nodeName=x"}, {"", "spec.nodeName!="}, {"", "status.phase!=x"}, {"", "status.podIP=7"},
        {"", "spec.hostNetwork=true"}, {"", "spec.hostNetwork=false"}, {"a", "metadata.name=x,spec.schedulerName!=x"},
    };
    const size_t values_n = sizeof values / sizeof *values;
    uint32_t seed = 1, yes_n = 0, n = 0;
    for (int round = 0; round < 4000; round++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf text = {0};
        struct err e = {0};
        const char *v[6];
        for (size_t i = 0; i < 6; i++) {
            seed = seed * 1664525 + 1013904223;
            v[i] = values[(seed >> 16) % (i < 2 && round % 8 ? 3 : values_n)];
        }
        const char *labels = round % 5 ? arena_printf(a, "{\"b\":\"x\",\"a\":%s}", v[0]) : v[0];
        const char *spec = round % 7 ? arena_printf(a, "{\"containers\":[%s],\"hostNetwork\":%s,\"nodeName\":%s}", v[1], v[2], v[3]) : v[3];
        const char *object = arena_printf(a, "{\"metadata\":{\"name\":%s,\"labels\":%s},\"spec\":%s,\"status\":{\"phase\":%s,\"podIP\":%s}}", v[1],
                                          labels, spec, v[4], v[5]);
        const struct json *tree = json_parse(a, bytes_of(object), NULL, &e);
        if (!tree)
            fail_msg("%s: %s", object, e.text);
        json_write(&text, tree);
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
            struct selector s;
            assert_int_equal(selector_parse(a, questions[i][0], questions[i][1], &(struct selector_kind){"", "pods", NULL}, &s, &e), 0);
            bool match = selector_match(&s, buf_view(&text));
            if (selector_match_tree(&s, tree) != match)
                fail_msg("%s %s of %s: the text says %d", questions[i][0], questions[i][1], text.data, match);
            yes_n += match;
            n++;
        }
    }
    assert_true(yes_n > n / 8 && yes_n < n - n / 8); /* both answers were seen */
}

static void by_object(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    const struct json *have = json_parse(a, BYTES("{\"a\":\"1\",\"b\":\"2\"}"), NULL, &e);
    static const struct {
        const char *selector;
        bool match;
    } cases[] = {
        {"{}", true},
        {"{\"matchLabels\":{\"a\":\"1\"}}", true},
        {"{\"matchLabels\":{\"a\":\"2\"}}", false},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"In\",\"values\":[\"1\",\"2\"]}]}", true},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"NotIn\",\"values\":[\"2\"]}]}", false},
        {"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"Exists\"}]}", false},
        {"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"DoesNotExist\"}]}", true},
        {"null", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(label_selector_matches(json_parse(a, bytes_of(cases[i].selector), NULL, &e), have),
                         cases[i].match);
}

static void workloads_by_queue(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct selector s;
    struct err e = {0};
    assert_int_equal(
        selector_parse(a, NULL, "status.admission.clusterQueue=cq", &(struct selector_kind){"kueue.x-k8s.io", "workloads", NULL}, &s, &e),
        0);
    assert_true(selector_match(&s, BYTES("{\"status\":{\"admission\":{\"clusterQueue\":\"cq\"}}}")));
    assert_false(selector_match(&s, BYTES("{\"status\":{\"admission\":{\"clusterQueue\":\"other\"}}}")));
    assert_false(selector_match(&s, BYTES("{\"status\":{}}")));
}

/* A LabelSelector says the same of an object's text as of its labels as a tree. */
static void label_selectors_of_objects(void **state)
{
    (void)state;
    static const char *const selectors[] = {
        "null", "{}", "{\"matchLabels\":{\"a\":\"1\"}}", "{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"0\",\"1\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"Exists\"}]}",
        "{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"DoesNotExist\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\",\"values\":[\"1\"]}]}",
    };
    static const char *const labels[] = {"{}", "{\"a\":\"1\"}", "{\"a\":\"2\"}", "{\"a\":\"1\",\"b\":\"2\"}", "{\"b\":\"1\"}"};
    _cleanup_arena_ struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
            const struct json *wanted = json_parse(a, bytes_of(selectors[i]), NULL, NULL);
            const struct json *have = json_parse(a, bytes_of(labels[k]), NULL, NULL);
            const char *object = arena_printf(a, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"labels\":%s}}", labels[k]);
            struct selector s;
            bool matches = selector_of_object(a, wanted, &s) && selector_match(&s, bytes_of(object));
            if (matches != label_selector_matches(wanted, have))
                fail_msg("%s of %s: %s", selectors[i], labels[k], matches ? "matches" : "does not match");
        }
}

/* Those of one kind leave the others their numbers: a kind that many ask about takes none from those that few do. */
static void questions_of_each_kind(void **state)
{
    struct questions *q = questions_new();
    _cleanup_arena_ struct arena *a = arena_new();
    const struct selector_kind pods = {"", "pods", NULL}, maps = {"", "configmaps", NULL};
    for (uint32_t i = 0; i < STORE_NOTE_QUESTIONS + 2; i++)
        assert_int_equal(question_of(q, 7, &maps, arena_printf(a, "a=%u", i), NULL), i < STORE_NOTE_QUESTIONS ? i : STORE_NOTE_QUESTIONS);
    assert_int_equal(question_of(q, 3, &pods, "a=1", NULL), 0);
    assert_int_equal(question_of(q, 3, &pods, "a=2", NULL), 1);
    assert_int_equal(question_of(q, 3, &pods, "a=1", NULL), 0);
    struct blob *asked = blob_new(OBJECT, sizeof OBJECT - 1), *noted = blob_new(OBJECT, sizeof OBJECT - 1);
    questions_note(q, 3, json_parse(a, BYTES(OBJECT), NULL, NULL), NULL, NULL, noted);
    questions_note(q, 99, json_parse(a, BYTES(OBJECT), NULL, NULL), NULL, NULL, asked); /* of a kind that nobody asked about */
    assert_true(question_answer(q, 3, 0, asked) && question_answer(q, 3, 0, noted));
    assert_false(question_answer(q, 3, 1, asked) || question_answer(q, 3, 1, noted));
    assert_int_equal(asked->notes, noted->notes);
    blob_unref(asked);
    blob_unref(noted);
    questions_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels), cmocka_unit_test(label_errors),
                                       cmocka_unit_test(label_selectors_of_objects),
                                       cmocka_unit_test(fields), cmocka_unit_test(workloads_by_queue), cmocka_unit_test(by_object),
                                       cmocka_unit_test(tree_as_text), cmocka_unit_test(questions_of_each_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
