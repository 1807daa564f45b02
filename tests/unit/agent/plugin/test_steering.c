/* test_steering.c - who gets which slots and limits, one rule a test; tests/model/agent_steering.c has the random pods */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "agent/plugin/steering.h"

#define GPU "nvidia.com/gpu"
static const char *const all[] = {"a", "b", "c", "d"};

struct fixture {
    struct steering *g;
    struct arena *a;
};

static int setup(void **state)
{
    struct fixture *f = mem_zero(1, sizeof *f);
    f->g = steering_new();
    f->a = arena_new();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    steering_free(f->g);
    arena_free(f->a);
    free(f);
    return 0;
}

static void pod_add(struct fixture *f, const char *name, const char *slot1, const char *slot2, uint32_t percentage)
{
    const char *slots[2] = {slot1, slot2};
    struct steering_want w = {"main", GPU, slot1 ? slots : NULL, slot2 ? 2 : 1, {percentage, 0}, false};
    steering_pod(f->g, "ns", name, name, &w, 1, 0);
}

static const char *prefer(struct fixture *f, uint32_t size)
{
    const char **slots = NULL;
    if (!steering_prefer(f->g, f->a, GPU, all, 4, size, 0, &slots))
        return "";
    return size == 2 ? arena_printf(f->a, "%s,%s", slots[0], slots[1]) : slots[0];
}

static int admit(struct fixture *f, const char *slot, struct allocate_limits *ret, const char **ret_pod)
{
    const char *ns, *pod = "", *slots[1] = {slot};
    struct allocate_limits limits;
    struct err e = {0};
    int r = steering_admit(f->g, GPU, slots, 1, 0, ret ? ret : &limits, &ns, &pod, &e);
    if (ret_pod)
        *ret_pod = pod;
    return r;
}

static void settle(struct fixture *f, const char *pod, const char *slot)
{
    const struct slot_owner o = {GPU, slot, "ns", pod, "main"};
    steering_settled(f->g, &o, 1);
}

static void test_one_pod(void **state)
{
    struct fixture *f = *state;
    struct allocate_limits limits;
    const char *pod;
    assert_string_equal(prefer(f, 1), "");
    pod_add(f, "p", "c", NULL, 30);
    assert_string_equal(prefer(f, 2), "");
    assert_string_equal(prefer(f, 1), "c");
    assert_int_equal(admit(f, "c", &limits, &pod), 0);
    assert_int_equal(limits.thread_percentage, 30);
    assert_string_equal(pod, "p");
    assert_string_equal(prefer(f, 1), ""); /* nobody waits any more */
    assert_int_equal(steering_waiting(f->g), 1);
    settle(f, "p", "c");
    assert_int_equal(steering_waiting(f->g), 0);
    struct steering_difference *list;
    assert_int_equal(steering_differences(f->g, f->a, &list), 0);
    assert_int_equal(admit(f, "a", &limits, &pod), 0); /* somebody we do not know: no limits of others */
    assert_int_equal(limits.thread_percentage, 0);
    assert_string_equal(pod, "");
}

static void test_two_slots_and_sizes(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "two", "d", "b", 0);
    pod_add(f, "one", "a", NULL, 0);
    assert_string_equal(prefer(f, 2), "b,d");
    assert_string_equal(prefer(f, 1), "a");
    const char **slots;
    assert_int_equal(steering_unreserved(f->g, f->a, GPU, all, 4, 1, 0, &slots), 1);
    assert_string_equal(slots[0], "c");
    assert_int_equal(steering_unreserved(f->g, f->a, GPU, all, 4, 2, 0, &slots), 3); /* too few left: but for those of the other pod */
    assert_string_equal(slots[0], "b");
    assert_int_equal(steering_unreserved(f->g, f->a, GPU, all, 4, 4, 0, &slots), 4);
    assert_int_equal(steering_unreserved(f->g, f->a, GPU, all, 4, 1, STEERING_RESERVE_MS, &slots), 4);
    assert_int_equal(steering_unreserved(f->g, f->a, GPU, NULL, 0, 0, 0, &slots), 0);
}

static void test_interchangeable(void **state)
{
    struct fixture *f = *state;
    struct steering_difference *list;
    const char *pod;
    pod_add(f, "p1", "a", NULL, 50);
    pod_add(f, "p2", "b", NULL, 50);
    assert_string_equal(prefer(f, 1), "a");
    assert_int_equal(admit(f, "a", NULL, &pod), 0);
    assert_string_equal(pod, ""); /* p1 or p2 */
    assert_string_equal(prefer(f, 1), "b");
    settle(f, "p2", "a"); /* it was p2 */
    assert_string_equal(prefer(f, 1), "b"); /* p1 takes over what was chosen for p2 */
    assert_int_equal(steering_differences(f->g, f->a, &list), 0); /* an exchange is no news */
    assert_int_equal(admit(f, "b", NULL, &pod), 0);
    assert_string_equal(pod, "p1");
    pod_add(f, "p2", "a", NULL, 50); /* the annotation was put right */
    settle(f, "p1", "b");
    assert_int_equal(steering_differences(f->g, f->a, &list), 0);
}

static void test_differences(void **state)
{
    struct fixture *f = *state;
    struct steering_difference *list;
    pod_add(f, "p1", "a", NULL, 50);
    pod_add(f, "p2", "b", NULL, 50);
    pod_add(f, "p3", "c", NULL, 20);
    settle(f, "p1", "d"); /* chosen for nobody */
    settle(f, "p2", "c"); /* for one with other limits */
    assert_int_equal(steering_differences(f->g, f->a, &list), 2);
    assert_string_equal(list[0].pod, "p1");
    assert_string_equal(list[0].chosen, "a");
    assert_string_equal(list[0].given, "d");
    assert_string_equal(list[1].pod, "p2");
    assert_int_equal(steering_differences(f->g, f->a, &list), 0); /* once each */
}

/* The one who asked was taken for another: podresources shows it, and it is said. */
static void test_wrong_limits(void **state)
{
    struct fixture *f = *state;
    struct steering_wrong_limits *wrong;
    struct allocate_limits limits;
    pod_add(f, "p1", "a", NULL, 50);
    assert_int_equal(admit(f, "a", &limits, NULL), 0); /* it is p2 who asks */
    assert_int_equal(limits.thread_percentage, 50);
    pod_add(f, "p2", "b", NULL, 20);
    settle(f, "p2", "a");
    assert_int_equal(steering_wrong_limits(f->g, f->a, &wrong), 1);
    assert_string_equal(wrong[0].pod, "p2");
    assert_int_equal(wrong[0].asked.thread_percentage, 20);
    assert_int_equal(wrong[0].given.thread_percentage, 50);
    assert_int_equal(steering_wrong_limits(f->g, f->a, &wrong), 0); /* once */
    assert_true(steering_awaits(f->g, GPU, 1, false, 0)); /* p1 is still to be asked for */
    assert_int_equal(admit(f, "c", &limits, NULL), 0);
    assert_int_equal(limits.thread_percentage, 50);
    settle(f, "p1", "c");
    assert_int_equal(steering_wrong_limits(f->g, f->a, &wrong), 0);
}

static void test_awaits(void **state)
{
    struct fixture *f = *state;
    assert_false(steering_awaits(f->g, GPU, 1, false, 0));
    pod_add(f, "p1", "a", NULL, 0);
    assert_true(steering_awaits(f->g, GPU, 1, false, 0));
    assert_false(steering_awaits(f->g, GPU, 2, false, 0));
    assert_false(steering_awaits(f->g, GPU, 0, false, 0));
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    assert_false(steering_awaits(f->g, GPU, 1, false, 0));
    assert_false(steering_awaits(f->g, GPU, 1, false, STEERING_UNSETTLED_MS)); /* the kubelet may have lost the answer, or not */
    assert_true(steering_awaits(f->g, GPU, 1, true, STEERING_UNSETTLED_MS));
    pod_add(f, "p2", "b", NULL, 0);
    assert_true(steering_awaits(f->g, GPU, 1, false, STEERING_UNSETTLED_MS));
    steering_begun(f->g, "p2", STEERING_UNSETTLED_MS);
    assert_false(steering_awaits(f->g, GPU, 1, false, STEERING_UNSETTLED_MS));
}

static void test_different_limits_are_refused(void **state)
{
    struct fixture *f = *state;
    struct allocate_limits limits;
    pod_add(f, "p1", "a", NULL, 50);
    pod_add(f, "p2", "b", NULL, 20);
    assert_string_equal(prefer(f, 1), "a"); /* the first in line */
    assert_int_equal(admit(f, "a", NULL, NULL), -E_CONFLICT);
    assert_int_equal(admit(f, "b", NULL, NULL), -E_CONFLICT);
    steering_pod_gone(f->g, "p1");
    assert_int_equal(admit(f, "b", &limits, NULL), 0);
    assert_int_equal(limits.thread_percentage, 20);

    pod_add(f, "p3", "c", NULL, 70); /* p2 has been admitted: nobody else asks */
    assert_int_equal(admit(f, "c", &limits, NULL), 0);
    assert_int_equal(limits.thread_percentage, 70);
}

static void test_slots_chosen_for_another(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "two", "a", "b", 50);
    pod_add(f, "one", "c", NULL, 20);
    assert_int_equal(admit(f, "a", NULL, NULL), -E_CONFLICT); /* the kubelet did not listen */
    assert_int_equal(admit(f, "d", NULL, NULL), 0);           /* nor here, but nobody is wronged */
    struct steering_difference *list;
    settle(f, "one", "d");
    assert_int_equal(steering_differences(f->g, f->a, &list), 1);
    assert_string_equal(list[0].chosen, "c");
}

static void test_sibling_goes(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "p1", "a", NULL, 50);
    pod_add(f, "p2", "b", NULL, 50);
    assert_int_equal(admit(f, "a", NULL, NULL), 0); /* p1 or p2 */
    steering_pod_gone(f->g, "p2");                  /* if it was p2, p1 still waits */
    pod_add(f, "p3", "c", NULL, 10);
    assert_int_equal(admit(f, "c", NULL, NULL), -E_CONFLICT);
    settle(f, "p1", "a");
    assert_int_equal(admit(f, "c", NULL, NULL), 0);
}

/* Two that were refused elsewhere go one after the other: the answer that one of them was marked for may have been the third's. */
static void test_two_siblings_go(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "p0", "a", NULL, 30);
    pod_add(f, "p1", "b", NULL, 30);
    pod_add(f, "p2", "a", NULL, 30);
    assert_int_equal(admit(f, "a", NULL, NULL), 0); /* p0 is marked */
    assert_true(steering_awaits(f->g, GPU, 1, false, 0));
    steering_pod_gone(f->g, "p1");
    assert_false(steering_awaits(f->g, GPU, 1, false, 0));
    steering_pod_gone(f->g, "p0");
    assert_false(steering_awaits(f->g, GPU, 1, false, 0));
    assert_true(steering_awaits(f->g, GPU, 1, true, 0));
    settle(f, "p2", "a");
    assert_false(steering_awaits(f->g, GPU, 1, true, 0));
}

static void test_kubelet_restarts(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "p1", "a", NULL, 50);
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    steering_kubelet_restarted(f->g); /* before it wrote down what it was given */
    assert_string_equal(prefer(f, 1), "a");
    pod_add(f, "p2", "b", NULL, 10);
    assert_int_equal(admit(f, "a", NULL, NULL), -E_CONFLICT);
    settle(f, "p1", "a");
    assert_int_equal(admit(f, "b", NULL, NULL), 0);
}

static void test_old_name(void **state)
{
    struct fixture *f = *state;
    struct allocate_limits limits;
    pod_add(f, "p", "a", NULL, 50);
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    settle(f, "p", "a");
    const char *slots[1] = {"b"};
    struct steering_want w = {"main", GPU, slots, 1, {10, 0}, false};
    steering_pod(f->g, "ns", "p", "p-second", &w, 1, 0); /* made again before the first has gone */
    settle(f, "p", "a");
    assert_int_equal(steering_waiting(f->g), 1);
    steering_pod_gone(f->g, "p");
    settle(f, "p", "a"); /* the kubelet still lists the dead one */
    assert_int_equal(steering_waiting(f->g), 1);
    assert_int_equal(admit(f, "b", &limits, NULL), 0);
    assert_int_equal(limits.thread_percentage, 10);
    settle(f, "p", "b");
    assert_int_equal(steering_waiting(f->g), 0);
}

static void test_known_pods_are_replaced(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "p", "a", NULL, 50);
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    pod_add(f, "p", "a", NULL, 50); /* its status has changed */
    assert_string_equal(prefer(f, 1), "");
    settle(f, "p", "a");
    pod_add(f, "p", "a", NULL, 50);
    assert_int_equal(steering_waiting(f->g), 0);
    pod_add(f, "q", "b", NULL, 50);
    pod_add(f, "q", "c", NULL, 50); /* chosen anew while it waits */
    assert_string_equal(prefer(f, 1), "c");
}

static void test_init_containers(void **state)
{
    struct fixture *f = *state;
    const char *slots[1] = {"a"};
    const struct steering_want w[2] = {{"init", GPU, slots, 1, {50, 0}, true}, {"main", GPU, slots, 1, {50, 0}, false}};
    steering_pod(f->g, "ns", "p", "p", w, 2, 0);
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    assert_int_equal(admit(f, "a", NULL, NULL), 0);
    settle(f, "p", "a"); /* only "main" is listed */
    assert_int_equal(steering_waiting(f->g), 0);
}

static void test_without_a_choice(void **state)
{
    struct fixture *f = *state;
    pod_add(f, "plain", NULL, NULL, 0);
    pod_add(f, "limited", "b", NULL, 20);
    assert_int_equal(admit(f, "b", NULL, NULL), -E_CONFLICT); /* it may be the plain one */
    settle(f, "plain", "a");
    assert_int_equal(admit(f, "b", NULL, NULL), 0);
}

static const char *given(struct fixture *f, const char *uid)
{
    struct steering_given *list = NULL;
    const char *text = "";
    uint32_t n = steering_given(f->g, f->a, uid, &list);
    for (uint32_t i = 0; i < n; i++) {
        text = arena_printf(f->a, "%s%s=", text, list[i].resource);
        for (uint32_t k = 0; k < list[i].n; k++)
            text = arena_printf(f->a, "%s%s ", text, list[i].slots[k]);
    }
    return text;
}

/* Others chose for it: what it has is known once all of its containers have theirs, in their order, and is no difference from anything. */
static void test_given(void **state)
{
    struct fixture *f = *state;
    struct steering_want w[4] = {{"init", GPU, NULL, 2, {0}, true}, {"a", GPU, NULL, 1, {0}, false}, {"b", GPU, NULL, 1, {0}, false},
                                 {"b", "keti.com/mpsgpu", NULL, 1, {0}, false}};
    const struct slot_owner owners[] = {{GPU, "d", "ns", "p", "a"}, {GPU, "b", "ns", "p", "b"}, {"keti.com/mpsgpu", "x", "ns", "p", "b"}};
    const char *const first[] = {"a", "d"}, *const after[] = {"d", "b"}, *ns, *pod;
    struct allocate_limits limits;
    struct steering_difference *list;
    steering_pod(f->g, "ns", "p", "p", w, 4, 0);
    assert_int_equal(steering_admit(f->g, GPU, first, 2, 0, &limits, &ns, &pod, NULL), 0);
    assert_string_equal(given(f, "p"), "");
    steering_settled(f->g, owners, 1);
    assert_string_equal(given(f, "p"), ""); /* the kubelet has not come to "b" yet */
    steering_settled(f->g, owners, 3);
    assert_string_equal(given(f, "p"), GPU "=d b a keti.com/mpsgpu=x ");
    assert_string_equal(given(f, "nobody"), "");
    for (uint32_t i = 0; i < 3; i++) /* the pod comes with that as its annotation */
        w[i].slots = i == 2 ? &after[1] : after;
    steering_pod(f->g, "ns", "p", "p", w, 4, 0);
    assert_int_equal(steering_differences(f->g, f->a, &list), 0);
    assert_string_equal(given(f, "p"), GPU "=d b a keti.com/mpsgpu=x ");
}

static void test_limits(void **state)
{
    struct fixture *f = *state;
    char name[20];
    for (int i = 0; i < LIMIT_STEERING_PODS + 10; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        pod_add(f, name, "a", NULL, 0);
    }
    assert_int_equal(steering_waiting(f->g), LIMIT_STEERING_PODS);
    for (int i = 0; i < 600; i++) { /* more dead pods than are remembered */
        (void)snprintf(name, sizeof name, "p%d", i);
        settle(f, name, "a");
        steering_pod_gone(f->g, name);
    }
    steering_pod_gone(f->g, "nobody");
    assert_int_equal(steering_waiting(f->g), LIMIT_STEERING_PODS - 600);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_one_pod),     T(test_two_slots_and_sizes), T(test_interchangeable), T(test_differences),
        T(test_wrong_limits), T(test_awaits),      T(test_different_limits_are_refused),
        T(test_slots_chosen_for_another), T(test_sibling_goes), T(test_two_siblings_go), T(test_kubelet_restarts), T(test_old_name),
        T(test_known_pods_are_replaced), T(test_init_containers), T(test_without_a_choice), T(test_given), T(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
