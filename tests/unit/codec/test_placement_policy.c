/* test_placement_policy.c - ConfigMaps that say how nodes are chosen: what counts, what is wrong, what does nothing; what queues say */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "codec/configuration/placement_policy.h"
#include "codec/decode/decode.h"

struct policy_case {
    const char *data, *says, *wrong, *idle; /* says: the policy; "": none. wrong, idle: beginnings of the sentences, by "; " */
};
static const struct policy_case cases[] = {
    {"{}", "", "", ""},
    {"null", "", "", ""},
    {"{\"placement\":\"fgd\"}", "fgd", "", ""},
    {"{\"placement\":\"capstan\",\"gpu-allocate-prefer\":\"spread\"}", "capstan", "", ""},
    {"{\"gpu-allocate-prefer\":\"spread\",\"placement\":\"capstan\"}", "capstan", "", ""},
    {"{\"placement\":\"fgd+load\"}", "fgd+load", "", ""},
    {"{\"placement\":\"random+load\"}", "", "data.placement: \"random+load\": write binpack, spread", ""},
    {"{\"placement\":\"fgd+heat\"}", "", "data.placement: \"fgd+heat\": write binpack, spread", ""},
    {"{\"placement\":\"best\"}", "", "data.placement: \"best\": write binpack, spread", ""},
    {"{\"placement\":\"\"}", "", "data.placement: \"\": write", ""},
    /* KETI's own, as they ship it */
    {"{\"node-gpu-score-weight\":\"0.3 0.7\",\"pod-re-schedule-permit\":\"true\"}", "",
     "data.node-gpu-score-weight: \"0.3 0.7\": write two numbers from 0 to 1 with a colon between them, as 0.4:0.6",
     "data.pod-re-schedule-permit: \"true\" changes nothing"},
    {"{\"node-gpu-score-weight\":\"0.4:0.6\",\"nvlink-weight-percentage\":\"10\",\"gpu-allocate-prefer\":\"spread\","
     "\"node-reservation-permit\":\"false\",\"pod-re-schedule-permit\":\"true\",\"avoid-nvlink-one-gpu\":\"false\","
     "\"multi-node-allocation-permit\":\"false\",\"non-gpu-node-prefer\":\"true\",\"multi-gpu-node-prefer\":\"true\","
     "\"least-score-node-prefer\":\"false\",\"avoid-high-score-node\":\"false\"}", "spread", "",
     "data.node-gpu-score-weight: \"0.4:0.6\" changes nothing; data.nvlink-weight-percentage: \"10\" changes nothing; "
     "data.pod-re-schedule-permit: \"true\" changes nothing; data.multi-node-allocation-permit: \"false\" changes nothing"},
    {"{\"gpu-allocate-prefer\":\"binpack\"}", "binpack", "", ""},
    {"{\"gpu-allocate-prefer\":\"Binpack\"}", "", "data.gpu-allocate-prefer: \"Binpack\": write binpack or spread", ""},
    {"{\"node-gpu-score-weight\":\"1:\"}", "", "data.node-gpu-score-weight", ""},
    {"{\"node-gpu-score-weight\":\":1\"}", "", "data.node-gpu-score-weight", ""},
    {"{\"node-gpu-score-weight\":\"0:0\"}", "", "data.node-gpu-score-weight", ""},
    {"{\"node-gpu-score-weight\":\"nan:1\"}", "", "data.node-gpu-score-weight", ""},
    {"{\"node-gpu-score-weight\":\"0.5:0.5:0.5\"}", "", "data.node-gpu-score-weight", ""},
    {"{\"nvlink-weight-percentage\":\"101\"}", "", "data.nvlink-weight-percentage", ""},
    {"{\"avoid-nvlink-one-gpu\":\"yes\"}", "", "data.avoid-nvlink-one-gpu: \"yes\": write true or false", ""},
    /* one that is wrong spoils all of the map */
    {"{\"placement\":\"fgd\",\"plcement\":\"fgd\"}", "", "data.plcement: there is no such key", ""},
    {"{\"placement\":7}", "", "data.placement", ""},
};

static void begin_alike(const struct json *list, const char *wanted)
{
    const struct json *one = json_item(list, 0);
    char text[1024], *save = NULL;
    snprintf(text, sizeof text, "%s", wanted);
    for (char *part = strtok_r(text, ";", &save); part; part = strtok_r(NULL, ";", &save), one = one->next) {
        part += *part == ' ';
        assert_non_null(one);
        assert_memory_equal(json_text(one, ""), part, strlen(part));
    }
    assert_null(one);
}

static void test_case(void **state)
{
    const struct policy_case *c = *state;
    _cleanup_arena_ struct arena *a = arena_new();
    char text[2048];
    snprintf(text, sizeof text, "{\"data\":%s}", c->data);
    struct placement_policy p = placement_policy_read(a, json_parse(a, bytes_of(text), NULL, NULL));
    assert_string_equal(p.says ? placement_name(p.placement) : "", c->says);
    begin_alike(p.wrong, c->wrong);
    begin_alike(p.idle, c->idle);
}

/* A queue's annotation, the message of its condition (NULL: it has none), and what comes of both. */
static const struct queue_case {
    const char *annotation, *kept, *is;
    bool unread;
} queues[] = {
    {"null", NULL, "", true},
    {"\"\"", "Nodes are chosen by fgd", "", false},
    {"\"fgd\"", NULL, "fgd", false},
    {"\"spread\"", "Nodes are chosen by fgd", "spread", false},
    {"\"FGD\"", NULL, "", true},
    {"\"clustering+load\"", NULL, "clustering+load", false},
    {"\"best\"", "Nodes are chosen by dotproduct+load", "dotproduct+load", true},
    {"\"random+load\"", NULL, "", true},
    {"\"+load\"", NULL, "", true},
    {"\"fgd \"", NULL, "", true},
    {"[\"fgd\"]", NULL, "", true},
    {"\"a name that is longer than any policy's\"", "Nodes are chosen by fgd", "fgd", true},
    {"\"best\"", "metadata.annotations[capstan.dev/placement]: \\\"good\\\": write ...; the policy stays spread", "spread", true},
    {"\"best\"", "metadata.annotations[capstan.dev/placement]: \\\"good\\\": write ...; the policy stays that of all", "", true},
    {"\"best\"", "spread", "", true},
    {"\"best\"", "", "", true},
};

static void what_a_queue_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const char *said = queues[i].kept ? arena_printf(a, "{\"type\":\"capstan.dev/Placement\",\"message\":\"%s\"}", queues[i].kept) : "";
        const char *text = arena_printf(a, "{\"metadata\":{\"annotations\":{\"capstan.dev/placement\":%s}},"
                                           "\"status\":{\"conditions\":[%s]}}", queues[i].annotation, said);
        const struct json *queue = json_parse(a, bytes_of(text), NULL, NULL);
        assert_non_null(queue);
        struct queue_placement p = decode_queue_placement(queue, a);
        assert_string_equal(p.own ? placement_name(p.by) : "", queues[i].is);
        assert_int_equal(p.unread, queues[i].unread);
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct queue_placement none = decode_queue_placement(json_new(a, JSON_OBJECT), a);
    assert_false(none.own || none.unread);
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof *cases + 1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tests[i] = (struct CMUnitTest){cases[i].data, test_case, NULL, NULL, (void *)&cases[i]};
    tests[sizeof cases / sizeof *cases] = (struct CMUnitTest)cmocka_unit_test(what_a_queue_says);
    return _cmocka_run_group_tests("placement_policy", tests, sizeof tests / sizeof *tests, NULL, NULL);
}
