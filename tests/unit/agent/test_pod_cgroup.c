/* test_pod_cgroup.c - the forms of runtimes and drivers, and paths that only look like them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/pod_cgroup.h"
#include "base/random.h"

#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_ "0a1b2c3d_1111_2222_3333_444455556666"
#define CID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CID2 "fedcba98fedcba98fedcba98fedcba98fedcba98fedcba98fedcba98fedcba98"
#define STATIC "00112233445566778899aabbccddeeff"

static const struct {
    const char *text, *uid, *container;
} forms[] = {
    {"0::/kubepods/pod" UID "/" CID "\n", UID, CID},
    {"0::/kubepods/burstable/pod" UID "/" CID "\n", UID, CID},
    {"0::/kubepods/besteffort/pod" UID "/" CID "\n", UID, CID},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" CID ".scope\n", UID, CID},
    {"0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" CID ".scope\n", UID, CID},
    {"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" CID ".scope\n", UID, CID},
    {"0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" CID ".scope/container\n", UID, CID},
    {"0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" CID ".scope\n", UID, ""},
    {"0::/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" CID ".scope\n", UID, CID},
    {"0::/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" CID "\n", UID, CID},
    {"0::/kubepods/burstable/pod" UID "/crio-" CID "\n", UID, CID},
    {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_
     ".slice/cri-containerd-" CID ".scope\n", UID, CID},
    {"0::/kubelet/kubepods/burstable/pod" UID "/" CID "\n", UID, CID},
    {"0::/docker/" CID2 "/kubelet/kubepods/pod" UID "/" CID "\n", UID, CID},
    {"0::/kubepods/pod" STATIC "/" CID2 "/kubelet/kubepods/pod" UID "/" CID "\n", UID, CID},
    {"0::/docker/" CID "\n", "", CID},
    {"0::/system.slice/docker-" CID ".scope\n", "", CID},
    {"0::/machine.slice/libpod-" CID ".scope/container\n", "", CID},
    {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" CID ".scope\n", "", CID},
    {"0::/../../kubepods/pod" UID "/" CID "\n", UID, CID},
    {"0::/../cri-containerd-" CID ".scope\n", "", CID},
    {"0::/kubepods/pod" UID "/" CID "/system.slice/docker-" CID2 ".scope\n", UID, CID},
    {"0::/kubepods/burstable/pod" STATIC "/" CID "\n", STATIC, CID},
    {"12:memory:/kubepods/burstable/pod" UID "/" CID "\n11:cpu,cpuacct:/kubepods/burstable/pod" UID "/" CID "\n0::/\n", UID, CID},
    {"13:pids:/system.slice/docker-" CID2 ".scope\n12:memory:/kubepods/burstable/pod" UID "/" CID "\n0::/init.scope\n", UID, CID},
    {"1:name=systemd:/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" CID ".scope\n", UID, CID},
    {"0::/kubepods/pod" UID, UID, ""},
};
static const char *const others[] = {
    "", "\n", "0::/\n", "0::/init.scope\n", "0::/user.slice/user-1000.slice/session-3.scope\n", "x", "0:", "0::", ":::::",
    "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", "0::/kubepods/podfrog/abc\n",
    "0::/kubepods/pod" UID "x/\n", "0::/kubepods.slice\n", "0::/system.slice/podman.service\n",
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct pod_cgroup c;
        assert_true(pod_cgroup_parse(bytes_of(forms[i].text), &c));
        assert_string_equal(c.uid, forms[i].uid);
        assert_string_equal(c.container, forms[i].container);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct pod_cgroup c;
        assert_false(pod_cgroup_parse(bytes_of(others[i]), &c));
        assert_string_equal(c.uid, "");
    }
}

static void test_damaged(void **state)
{
    (void)state;
    struct random r = {9};
    for (int i = 0; i < 200000; i++) {
        const char *from = forms[random_below(&r, sizeof forms / sizeof *forms)].text;
        size_t n = strlen(from);
        char *copy = malloc(n); /* exact: a read behind it is seen */
        memcpy(copy, from, n);
        for (uint64_t k = random_below(&r, 4); k > 0; k--)
            copy[random_below(&r, n)] = "/:-_.\npodx0\0"[random_below(&r, 12)];
        struct pod_cgroup c;
        (void)pod_cgroup_parse((struct bytes){copy, random_below(&r, n + 1)}, &c);
        assert_true(strlen(c.uid) < sizeof c.uid && strlen(c.container) < sizeof c.container);
        free(copy);
    }
}

static void test_read(void **state)
{
    (void)state;
    struct pod_cgroup c;
    assert_true(pod_cgroup_read("", (uint32_t)getpid(), &c) >= 0);
    assert_int_equal(pod_cgroup_read("", 0x7ffffffe, &c), -E_NOTFOUND);
    assert_int_equal(pod_cgroup_read("/nonexistent", 1, &c), -E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_damaged), cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
