/* test_network.c - bytes of a node's network, from files below a root */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "exporter/collect/network.h"

static char root[] = "/tmp/network-XXXXXX";

/* Below the root; folders are made. */
static void put(const char *path, const char *text)
{
    char full[300];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void nothing_is_not_zero(void **state)
{
    struct network_count c = {.bytes = 7};
    assert_false(network_read(root, &c));
    assert_int_equal(c.bytes, 7);
    put("/proc/1/net/dev", "Inter-|   Receive\n face |bytes\n    lo: 5 0 0 0 0 0 0 0 5 0\n veth1: 9 0 0 0 0 0 0 0 9 0\n");
    assert_false(network_read(root, &c)); /* nothing that leaves the node */
}

static void interfaces_of_the_node(void **state)
{
    struct network_count c;
    put("/proc/1/net/dev", "Inter-|   Receive                            |  Transmit\n"
                           " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
                           "    lo: 5 0 0 0 0 0 0 0 5 0\n"
                           "  eth0: 1000 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
                           "enp3s0:30 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n"
                           "cali12: 999999 1 0 0 0 0 0 0 999999 1\n"
                           "  eth1: what is this\n");
    assert_true(network_read(root, &c));
    assert_int_equal(c.bytes, 1234);
    assert_false(c.rdma);
}

static void ports_count_words(void **state)
{
    struct network_count c;
    put("/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "100\n");
    put("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "20\n");
    put("/sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data", "3\n");
    put("/sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data", "none\n");
    assert_true(network_read(root, &c));
    assert_int_equal(c.bytes, 1234 + 4 * 123);
    assert_true(c.rdma);
}

static int gone(const char *path, const struct stat *unused, int type, struct FTW *at)
{
    (void)unused, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_not_zero),
        cmocka_unit_test(interfaces_of_the_node),
        cmocka_unit_test(ports_count_words),
    };
    if (!mkdtemp(root))
        return 1;
    int failed_n = cmocka_run_group_tests(tests, NULL, NULL);
    return nftw(root, gone, 8, FTW_DEPTH | FTW_PHYS) ? 1 : failed_n;
}
