/* test_pod_absence.c - whose slots are free after a list: short ones, pods that ended, were deleted, came again under their name */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "agent/inventory/pod_absence.h"

struct world {
    struct loop *loop;
    struct inventory *inventory;
    struct pod_absence *absence;
    const char *alive; /* uid of a pod with processes */
};

static bool lives(void *ctx, const char *uid)
{
    const struct world *w = ctx;
    return text_equal(w->alive, uid);
}

static void start(struct world *w, bool with_api)
{
    *w = (struct world){.loop = loop_new_virtual(1767225600000)};
    assert_int_equal(inventory_open(w->loop, NULL, &w->inventory, NULL), 0);
    w->absence = pod_absence_new(with_api, lives, w);
}

static void end(struct world *w)
{
    pod_absence_free(w->absence);
    inventory_close(w->inventory);
    loop_free(w->loop);
}

static void word(struct world *w, const char *uid, const char *name, bool begun, bool ended)
{
    pod_absence_word(w->absence, &(struct pod_word){.uid = uid, .ns = "ns", .name = name, .begun = begun, .ended = ended, .asks = true});
}

/* podresources names the pods in `pods` ("a b"); each has the slot of its name. */
static bool list(struct world *w, const char *pods)
{
    struct slot_owner owners[8];
    struct pod_name named[8];
    char text[64], *save = NULL;
    uint32_t n = 0;
    (void)snprintf(text, sizeof text, "%s", pods);
    for (char *one = strtok_r(text, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        named[n] = (struct pod_name){"ns", one};
        owners[n++] = (struct slot_owner){"r", one, "ns", one, "main"};
    }
    return pod_absence_settle(w->absence, w->inventory, &(struct pod_list){owners, n, named, n, true}, loop_now_ms(w->loop));
}

static uint32_t owners_n(struct world *w)
{
    return inventory_now(w->inventory)->owners_n;
}

static void test_short_list_frees_nobody(void **state)
{
    struct world w;
    start(&w, true);
    word(&w, "1", "a", true, false);
    word(&w, "2", "b", true, false);
    assert_true(list(&w, "a b"));
    assert_int_equal(owners_n(&w), 2);
    for (int i = 0; i < 100; i++) {
        pod_absence_kubelet_restarted(w.absence, loop_now_ms(w.loop));
        assert_false(list(&w, i % 2 ? "" : "b"));
        assert_int_equal(owners_n(&w), 2);
        assert_true(inventory_now(w.inventory)->owners_unsure);
        assert_int_equal(loop_run_for(w.loop, 5000, NULL), 0);
    }
    assert_string_equal(pod_absence_missing(w.absence), "ns/a");
    assert_true(list(&w, "a b"));
    assert_false(inventory_now(w.inventory)->owners_unsure);
    end(&w);
}

static void test_gone_when_deleted_or_ended(void **state)
{
    struct world w;
    start(&w, true);
    word(&w, "1", "a", true, false);
    word(&w, "2", "b", true, false);
    assert_true(list(&w, "a b"));
    pod_absence_deleted(w.absence, "1");
    assert_true(list(&w, "b"));
    assert_int_equal(owners_n(&w), 1);
    word(&w, "2", "b", true, true);
    assert_true(list(&w, "b")); /* kubelets list it until it is deleted */
    assert_int_equal(owners_n(&w), 0);
    end(&w);
}

static void test_processes_keep_a_deleted_pod(void **state)
{
    struct world w;
    start(&w, true);
    word(&w, "1", "a", true, false);
    assert_true(list(&w, "a"));
    w.alive = "1";
    pod_absence_deleted(w.absence, "1");
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 1);
    w.alive = NULL;
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 0);
    end(&w);
}

static void test_same_name_again(void **state)
{
    struct world w;
    start(&w, true);
    word(&w, "1", "a", true, false);
    assert_true(list(&w, "a"));
    pod_absence_deleted(w.absence, "1");
    word(&w, "2", "a", false, false); /* of a StatefulSet: bound, not begun */
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 1); /* nobody says that the slot is not the new one's */
    const struct slot_owner now[] = {{"r", "other", "ns", "a", "main"}};
    const struct pod_name named[] = {{"ns", "a"}};
    word(&w, "2", "a", true, false);
    assert_true(pod_absence_settle(w.absence, w.inventory, &(struct pod_list){now, 1, named, 1, true}, loop_now_ms(w.loop)));
    assert_int_equal(owners_n(&w), 1);
    assert_string_equal(inventory_now(w.inventory)->owners[0].slot, "other");
    pod_absence_deleted(w.absence, "2");
    pod_absence_word(w.absence, &(struct pod_word){.uid = "3", .ns = "ns", .name = "a", .begun = true}); /* it asks for nothing */
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 0);
    end(&w);
}

static void test_unheard_of_pod_needs_a_minute(void **state)
{
    struct world w;
    start(&w, true);
    assert_true(list(&w, "static"));
    assert_int_equal(loop_run_for(w.loop, 5000, NULL), 0);
    assert_true(list(&w, ""));
    assert_int_equal(loop_run_for(w.loop, ABSENCE_UNHEARD_MS / 2, NULL), 0);
    assert_true(list(&w, "static"));
    assert_int_equal(loop_run_for(w.loop, 5000, NULL), 0);
    assert_true(list(&w, ""));
    assert_int_equal(loop_run_for(w.loop, ABSENCE_UNHEARD_MS - 1000, NULL), 0);
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 1);
    assert_int_equal(loop_run_for(w.loop, 2000, NULL), 0);
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 0);
    end(&w);
}

static void test_without_an_api_server_time_tells(void **state)
{
    struct world w;
    start(&w, false);
    assert_false(list(&w, "a"));
    assert_int_equal(loop_run_for(w.loop, ABSENCE_KUBELET_MS, NULL), 0);
    assert_true(list(&w, "a"));
    pod_absence_kubelet_restarted(w.absence, loop_now_ms(w.loop));
    assert_false(list(&w, ""));
    assert_int_equal(owners_n(&w), 1);
    assert_int_equal(loop_run_for(w.loop, ABSENCE_KUBELET_MS, NULL), 0);
    assert_true(list(&w, ""));
    assert_int_equal(owners_n(&w), 0);
    end(&w);
}

static void test_silence(void **state)
{
    struct world w;
    start(&w, true);
    pod_absence_silent(w.absence, w.inventory, true);
    assert_false(inventory_now(w.inventory)->owners_unsure);
    pod_absence_silent(w.absence, w.inventory, false);
    assert_true(inventory_now(w.inventory)->owners_unsure);
    word(&w, "1", "a", true, false);
    pod_absence_silent(w.absence, w.inventory, true); /* somebody runs, whatever became of the socket */
    assert_true(inventory_now(w.inventory)->owners_unsure);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_list_frees_nobody),         cmocka_unit_test(test_gone_when_deleted_or_ended),
        cmocka_unit_test(test_processes_keep_a_deleted_pod),    cmocka_unit_test(test_same_name_again),
        cmocka_unit_test(test_unheard_of_pod_needs_a_minute),   cmocka_unit_test(test_without_an_api_server_time_tells),
        cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
