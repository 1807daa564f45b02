/* test_xid_line.c - the forms that drivers have written, and records that only look like them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "agent/health/xid_line.h"
#include "base/random.h"

#define HEAD "3,1204,98765432,-;"
#define NONE XID_LINE_NONE
#define UUID "GPU-efbdfde9-5798-a6e7-4c46-12518fa15375"

static const struct {
    const char *record, *uuid;
    uint32_t domain, bus, device, gi, ci, xid, pid;
    enum driver_severity severity;
} forms[] = {
    {HEAD "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "", 0, 0x3b, 0, NONE, NONE, 79,
     0},
    {HEAD "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "", 0, 0x3b, 0, NONE, NONE, 79, 0},
    {HEAD "NVRM: Xid (PCI:0002:CB:1f): 13, pid=2512125, name=python3.10, Ch 00000008", "", 2, 0xcb, 0x1f, NONE, NONE, 13, 2512125},
    {HEAD "NVRM: Xid (PCI:0000:01:00): 94, pid='7194', name=python3, Contained", "", 0, 1, 0, NONE, NONE, 94, 7194},
    {HEAD "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel", "", 0, 1, 0, 5, NONE, 94, 7194},
    {HEAD "NVRM: Xid (PCI:0000:01:00 GPU-I:11 GPU-CI:02): 43, pid=7, name=a, Ch 1", "", 0, 1, 0, 11, 2, 43, 7},
    {HEAD "NVRM: Xid (0000:03:00): 14, Channel 00000001", "", 0, 3, 0, NONE, NONE, 14, 0},
    {HEAD "NVRM: Xid (0003:00): 13, 0005 00000000", "", 0, 3, 0, NONE, NONE, 13, 0},
    {HEAD "NVRM: Xid (PCI:0001:00:00.0): 79, GPU has fallen off the bus", "", 1, 0, 0, NONE, NONE, 79, 0},
    {HEAD "NVRM: Xid (PCI:10000:07:00): 62", "", 0x10000, 7, 0, NONE, NONE, 62, 0},
    {HEAD "NVRM: Xid (" UUID "): 48, pid=1", UUID, NONE, NONE, NONE, NONE, NONE, 48, 1},
    {HEAD "NVRM: Xid (" UUID " GPU-I:01): 48", UUID, NONE, NONE, NONE, 1, NONE, 48, 0},
    {HEAD "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)", "", 9, 1, 0, NONE, NONE, 149,
     0, DRIVER_SEVERITY_FATAL},
    {HEAD "NVRM: Xid (PCI:0002:00:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 10 (0x00000004 0x00000040)", "", 2, 0, 0, NONE, NONE, 145, 0,
     DRIVER_SEVERITY_NONFATAL},
    {HEAD "NVRM: Xid (PCI:0002:00:00): 146, TLW_RX/TLW_RX_PIPE0 Nonfatal XC1", "", 2, 0, 0, NONE, NONE, 146, 0, DRIVER_SEVERITY_NONFATAL},
    {HEAD "NVRM: Xid (PCI:0002:00:00): 145, pid=9, name=X Nonfatal XC0, RLW_REMAP Fatal XC1", "", 2, 0, 0, NONE, NONE, 145, 9},
    {HEAD "NVRM: Xid (PCI:0002:00:00): 145, RLW_REMAP Nonfatal", "", 2, 0, 0, NONE, NONE, 145, 0},
    {"0,1,2,c,caller=T12;NVRM: Xid (PCI:0000:3b:00): 154, pid=1", "", 0, 0x3b, 0, NONE, NONE, 154, 1},
};
static const char *const others[] = {
    "",
    "x",
    HEAD,
    "NVRM: Xid (PCI:0000:3b:00): 79",          /* no prefix: not of the kernel */
    "12,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79", /* of a program */
    "3,1,2;NVRM: Xid (PCI:0000:3b:00): 79",
    "3,1,2,-,,,,,,,;NVRM: Xid (PCI:0000:3b:00): 79",
    "3,1,2,-",
    HEAD "systemd: NVRM: Xid (PCI:0000:3b:00): 79",
    HEAD "NVRM: GPU at PCI:0000:3b:00: " UUID,
    HEAD "NVRM: Xid (PCI:0000:3b:00):",
    HEAD "NVRM: Xid (PCI:0000:3b:00): ",
    HEAD "NVRM: Xid (PCI:0000:3b:00): x",
    HEAD "NVRM: Xid (PCI:0000:3b:00): 79x",
    HEAD "NVRM: Xid (PCI:0000:3b:00): -1",
    HEAD "NVRM: Xid (PCI:0000:3b:00): 99999999999",
    HEAD "NVRM: Xid (PCI:0000:3b:00 79",
    HEAD "NVRM: Xid (PCI:): 79",
    HEAD "NVRM: Xid (PCI:3b): 79",
    HEAD "NVRM: Xid (PCI:0:0:0:0): 79",
    HEAD "NVRM: Xid (PCI:0000:3b:00.): 79",
    HEAD "NVRM: Xid (PCI:0000:3b:00 GPU-I:): 79",
    HEAD "NVRM: Xid (PCI:0000:3b:00 GPU-CI:1): 79",
    HEAD "NVRM: Xid (GPU-efbdfde9): 79",
    HEAD "nvidia-nvswitch0: SXid (PCI:0000:3b:00): 20034, Fatal",
    " SUBSYSTEM=pci",
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct xid_line l;
        if (!xid_line_parse(bytes_of(forms[i].record), &l))
            fail_msg("refused: %s", forms[i].record);
        assert_string_equal(l.uuid, forms[i].uuid);
        uint32_t got[] = {l.domain, l.bus, l.device, l.gi, l.ci, l.xid, l.pid, l.severity};
        uint32_t want[] = {forms[i].domain, forms[i].bus, forms[i].device, forms[i].gi,
                           forms[i].ci,     forms[i].xid, forms[i].pid,    forms[i].severity};
        assert_memory_equal(got, want, sizeof got);
    }
}

static void test_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct xid_line l = {.xid = 12345};
        if (xid_line_parse(bytes_of(others[i]), &l))
            fail_msg("taken: %s", others[i]);
        assert_int_equal(l.xid, 12345);
    }
}

static void test_whose(void **state)
{
    (void)state;
    struct xid_line l = {.domain = 0, .bus = 0x3b, .device = 0};
    assert_true(xid_line_is_of(&l, UUID, "0000:3b:00.0"));
    assert_true(xid_line_is_of(&l, UUID, "00000000:3B:00.0")); /* as the library writes it */
    assert_false(xid_line_is_of(&l, UUID, "0001:3b:00.0"));
    assert_false(xid_line_is_of(&l, UUID, "0000:3b:01.0"));
    assert_false(xid_line_is_of(&l, UUID, ""));
    (void)memcpy(l.uuid, UUID, sizeof UUID);
    assert_true(xid_line_is_of(&l, UUID, ""));
    assert_false(xid_line_is_of(&l, "GPU-0", "0000:3b:00.0"));
}

static void test_damaged(void **state)
{
    (void)state;
    struct random r = {3};
    for (int i = 0; i < 200000; i++) {
        const char *from = forms[random_below(&r, sizeof forms / sizeof *forms)].record;
        size_t n = strlen(from);
        char *copy = malloc(n); /* exact: a read behind it is seen */
        memcpy(copy, from, n);
        for (uint64_t k = random_below(&r, 4); k > 0; k--)
            copy[random_below(&r, n)] = "():;,. -xf09\0"[random_below(&r, 13)];
        struct xid_line l;
        if (xid_line_parse((struct bytes){copy, random_below(&r, n + 1)}, &l))
            assert_true(strlen(l.uuid) == 0 || strlen(l.uuid) == 40);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_others), cmocka_unit_test(test_whose),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
