/* test_label_facts.c - what the machine's own files say: PCI configuration of vGPUs, product name */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/node/labels.h"
#include "base/memory.h"

#define CAPABILITY_AT 0xd0

static char root[64];
static struct arena *arena;
static struct agent_config config;

static int begin(void **state)
{
    (void)state;
    folder_make(root, sizeof root, "facts");
    arena = arena_new();
    agent_config_default(&config);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    folder_remove(root);
    return 0;
}

static void put_file(const char *path, const void *bytes, size_t n)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void put_device(const char *name, const char *vendor, const uint8_t *space, size_t n)
{
    put_file(arena_printf(arena, "/sys/bus/pci/devices/%s/vendor", name), vendor, strlen(vendor));
    put_file(arena_printf(arena, "/sys/bus/pci/devices/%s/config", name), space, n);
}

/* PCI configuration with one capability of message interrupts and, behind it, the vendor's with `n` bytes of content. */
static void fill_space(uint8_t space[256], const void *content, size_t n)
{
    memset(space, 0, 256);
    memcpy(space, "\xde\x10\x30\x23", 4);
    space[0x06] = 0x10;
    space[0x34] = 0x60;
    space[0x60] = 0x05;
    space[0x61] = CAPABILITY_AT;
    space[CAPABILITY_AT] = 0x09;
    space[CAPABILITY_AT + 2] = (uint8_t)(3 + n);
    memcpy(space + CAPABILITY_AT + 3, content, n);
}

static struct label_facts facts(void)
{
    return label_facts_read(arena, root, &config, 1);
}

#define HOST_RECORD "\0\x16" "550.54.10\0" "r550_00\0\0"

static void vgpu_guest(void **state)
{
    (void)state;
    uint8_t space[256];
    fill_space(space, "VF" HOST_RECORD, 2 + 22);
    put_device("0000:02:00.0", "0x10de\n", space, sizeof space);
    struct label_facts f = facts();
    assert_true(f.is_vgpu);
    assert_string_equal(f.vgpu_driver_version, "550.54.10");
    assert_string_equal(f.vgpu_driver_branch, "r550_00");
    fill_space(space, "VF\x01\x05xyz" HOST_RECORD, 2 + 5 + 22); /* another record first */
    put_device("0000:02:00.0", "0x10de\n", space, sizeof space);
    assert_string_equal(facts().vgpu_driver_version, "550.54.10");
}

static void not_a_vgpu(void **state)
{
    (void)state;
    uint8_t space[256];
    assert_false(facts().is_vgpu); /* no /sys at all */
    fill_space(space, "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17); /* passed through */
    put_device("0000:00:05.0", "0x10de\n", space, sizeof space);
    fill_space(space, "VF" HOST_RECORD, 2 + 22);
    put_device("0000:00:06.0", "0x8086\n", space, sizeof space);
    put_device("0000:00:07.0", "0x10de\n", space, 64); /* as without privileges */
    space[0x06] = 0;                                   /* no list */
    put_device("0000:00:08.0", "0x10de\n", space, sizeof space);
    struct label_facts f = facts();
    assert_false(f.is_vgpu);
    assert_null(f.vgpu_driver_version);
}

static void damaged_lists(void **state)
{
    (void)state;
    uint8_t space[256];
    fill_space(space, "VF" HOST_RECORD, 2 + 22);
    space[0x61] = 0x60; /* in a circle */
    put_device("0000:00:01.0", "0x10de\n", space, sizeof space);
    space[0x61] = 0xfe; /* out of the space */
    put_device("0000:00:02.0", "0x10de\n", space, sizeof space);
    memset(space, 0xff, sizeof space); /* fell off the bus */
    put_device("0000:00:03.0", "0x10de\n", space, sizeof space);
    fill_space(space, "VF" HOST_RECORD, 2 + 22);
    space[CAPABILITY_AT + 2] = 0xff; /* longer than the space */
    put_device("0000:00:04.0", "0x10de\n", space, sizeof space);
    assert_false(facts().is_vgpu);
    fill_space(space, "VF\x01\0" HOST_RECORD, 2 + 2 + 22); /* a record without a length */
    put_device("0000:00:05.0", "0x10de\n", space, sizeof space);
    fill_space(space, "VF\0\x16" "550", 2 + 5); /* half a record */
    put_device("0000:00:06.0", "0x10de\n", space, sizeof space);
    struct label_facts f = facts();
    assert_true(f.is_vgpu);
    assert_null(f.vgpu_driver_version);
    assert_null(f.vgpu_driver_branch);
}

static void machine_type(void **state)
{
    (void)state;
    assert_string_equal(facts().machine_type, "");
    put_file("/sys/class/dmi/id/product_name", "PowerEdge XE9680\n", 17);
    assert_string_equal(facts().machine_type, "PowerEdge XE9680");
    config.gfd_machine_type_file = "/other";
    assert_string_equal(facts().machine_type, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(vgpu_guest, begin, end),
        cmocka_unit_test_setup_teardown(not_a_vgpu, begin, end),
        cmocka_unit_test_setup_teardown(damaged_lists, begin, end),
        cmocka_unit_test_setup_teardown(machine_type, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
