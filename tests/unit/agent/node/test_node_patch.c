/* test_node_patch.c - what a Node object lacks: nothing of others is touched, nothing is written twice */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/node/node_patch.h"

static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const char *patch(const char *metadata, const struct node_wish *w)
{
    struct buf text = {0};
    const struct json *p = node_patch_metadata(arena, json_parse(arena, bytes_of(metadata), NULL, NULL), w);
    if (!p)
        return "(none)";
    json_write(&text, p);
    const char *kept = arena_text(arena, text.data);
    buf_free(&text);
    return kept;
}

static const struct label_pair labels[] = {{"nvidia.com/gfd.timestamp", "20"}, {"nvidia.com/gpu.count", "2"}};
static const struct label_pair set[] = {{"nvidia.com/mig.config.state", "success"}};
static const struct node_wish wish = {.labels = labels, .labels_n = 2, .set = set, .set_n = 1, .devices = "[]"};

static void an_empty_node_lacks_all(void **state)
{
    (void)state;
    assert_string_equal(patch("{}", &wish),
                        "{\"metadata\":{\"labels\":{\"nvidia.com/gfd.timestamp\":\"20\",\"nvidia.com/gpu.count\":\"2\","
                        "\"nvidia.com/mig.config.state\":\"success\"},\"annotations\":{\"capstan.dev/devices\":\"[]\"}}}");
}

#define NODE(count, more)                                                                                                        \
    "{\"labels\":{\"zone\":\"a\",\"nvidia.com/gpu.deploy.driver\":\"true\",\"nvidia.com/gpu.count\":\"" count                    \
    "\",\"nvidia.com/gfd.timestamp\":\"10\",\"nvidia.com/mig.config.state\":\"success\"" more                                    \
    "},\"annotations\":{\"other\":\"x\",\"capstan.dev/devices\":\"[]\"}}"

static void a_patched_node_lacks_nothing(void **state)
{
    (void)state;
    assert_string_equal(patch(NODE("2", ""), &wish), "(none)"); /* the time alone is no reason */
}

static void what_differs_is_set_and_what_nobody_wants_goes(void **state)
{
    (void)state;
    assert_string_equal(patch(NODE("8", ",\"nvidia.com/gpu.family\":\"ampere\""), &wish),
                        "{\"metadata\":{\"labels\":{\"nvidia.com/gpu.count\":\"2\",\"nvidia.com/gpu.family\":null,"
                        "\"nvidia.com/gfd.timestamp\":\"20\"}}}");
}

static void single_labels_stand_above_the_others(void **state)
{
    (void)state;
    static const struct label_pair count[] = {{"nvidia.com/gpu.count", "7"}};
    const struct node_wish w = {.labels = labels, .labels_n = 2, .set = count, .set_n = 1, .devices = "[]"};
    assert_string_equal(patch(NODE("7", ""), &w), "(none)");
    assert_non_null(strstr(patch(NODE("2", ""), &w), "\"nvidia.com/gpu.count\":\"7\""));
}

static void without_devices_the_annotation_goes(void **state)
{
    (void)state;
    const struct node_wish w = {.labels = labels, .labels_n = 2, .set = set, .set_n = 1};
    assert_string_equal(patch(NODE("2", ""), &w), "{\"metadata\":{\"annotations\":{\"capstan.dev/devices\":null}}}");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(an_empty_node_lacks_all), T(a_patched_node_lacks_nothing),
                                       T(what_differs_is_set_and_what_nobody_wants_goes), T(single_labels_stand_above_the_others),
                                       T(without_devices_the_annotation_goes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
