/* test_state.c - the file itself: damage, versions, holders of the lock that die, companion files */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "node.h"

static void write_at(off_t offset, const void *data, size_t size)
{
    int fd = open(node_state, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size, offset), (ssize_t)size);
    assert_int_equal(close(fd), 0);
}

static void expect_open(int code, const char *text)
{
    struct nvsim *n = NULL;
    struct err e = {0};
    assert_int_equal(nvsim_open(node_state, &n, &e), code);
    if (!strstr(e.text, text))
        fail_msg("'%s' is not in '%s'", text, e.text);
}

static void damaged_files(void **s)
{
    nvsim_close(node_make("t4", 1));
    uint32_t layout = 99;
    write_at(offsetof(struct nvsim_state, layout), &layout, sizeof layout);
    expect_open(-E_INVALID, "layout 99");
    layout = NVSIM_LAYOUT;
    write_at(offsetof(struct nvsim_state, layout), &layout, sizeof layout);
    write_at(offsetof(struct nvsim_state, node), "x", 1);
    expect_open(-E_INVALID, "damaged");
    write_at(0, "garbage!", 8);
    expect_open(-E_INVALID, "not the state");
    assert_int_equal(truncate(node_state, sizeof(struct nvsim_state) - 1), 0);
    expect_open(-E_INVALID, "cut off");
    assert_int_equal(truncate(node_state, 3), 0);
    expect_open(-E_INVALID, "not the state");
    assert_int_equal(truncate(node_state, 0), 0);
    expect_open(-E_INVALID, "not the state");
    assert_int_equal(unlink(node_state), 0);
    expect_open(-E_NOTFOUND, "No such file");
    assert_int_equal(mkdir(node_state, 0700), 0);
    expect_open(-E_IO, "");
    node_remove();
}

static void what_create_refuses(void **s)
{
    struct err e = {0};
    struct nvsim_config good = {
        .model = gpu_model_find("t4"), .gpus_n = 1, .seed_name = "n", .driver_version = "1.2", .cuda_version = 13000};
    node_path();
    struct nvsim_config c = good;
    c.model = NULL;
    assert_int_equal(nvsim_create(node_dir, &c, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "a100-40gb"));
    c = good, c.gpus_n = 17;
    assert_int_equal(nvsim_create(node_dir, &c, &e), -E_INVALID);
    c = good, c.gpus_n = 0;
    assert_int_equal(nvsim_create(node_dir, &c, &e), -E_INVALID);
    c = good, c.seed_name = "";
    assert_int_equal(nvsim_create(node_dir, &c, &e), -E_INVALID);
    c = good, c.driver_version = "0123456789012345678901234567890123456789";
    assert_int_equal(nvsim_create(node_dir, &c, &e), -E_INVALID);
    char longest[400];
    memset(longest, 'x', sizeof longest - 1), longest[sizeof longest - 1] = '\0';
    assert_int_equal(nvsim_create(longest, &good, &e), -E_INVALID);
    assert_int_equal(nvsim_create(node_dir, &good, &e), 0);
    assert_int_equal(nvsim_create(node_dir, &good, &e), -E_EXISTS);
    node_remove();
}

static void the_same_name_gives_the_same_gpus(void **s)
{
    struct nvsim *n = node_make("h100-80gb", 8);
    char uuids[8][48];
    for (uint32_t i = 0; i < 8; i++) {
        memcpy(uuids[i], nvsim_gpu_current(n, i)->uuid, 48);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(uuids[i], uuids[k]);
    }
    node_end(n);
    n = node_make("h100-80gb", 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_string_equal(uuids[i], nvsim_gpu_current(n, i)->uuid);
    node_end(n);
}

/* A process dies at any moment while it changes a GPU: the next one goes on with a whole record. */
static void holder_dies(void **s)
{
    struct nvsim *n = node_make("t4", 1);
    struct nvsim_work w = node_work(5, 0);
    assert_int_equal(nvsim_work_start(n, &w, NULL), 0);
    for (int step = 0; step < 3; step++) {
        pid_t child = fork();
        if (child == 0) {
            struct nvsim_gpu *g = nvsim_lock(n, NULL) == 0 ? nvsim_gpu_change(n, 0, nvsim_now_us()) : NULL;
            memset(g, 0xff, step > 0 ? sizeof *g : 1); /* half done */
            if (step > 1)
                n->state->process_gpu[0] = 0; /* a slot is free already, its load not yet gone */
            (void)kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct nvsim_gpu g;
        assert_int_equal(nvsim_gpu_read(n, 0, nvsim_now_us(), &g, NULL), 0);
        assert_int_equal(g.load.processes_n, step > 1 ? 0 : 1);
        assert_int_equal(g.load.memory_mib, step > 1 ? 0 : 1000);
        assert_memory_equal(g.uuid, "GPU-", 4);
    }
    node_end(n);
}

static void read_file(const char *path, char *text, size_t size)
{
    char whole[600];
    (void)snprintf(whole, sizeof whole, "%s/root/%s", node_dir, path);
    FILE *f = fopen(whole, "r");
    if (!f)
        fail_msg("%s is not there", whole);
    text[fread(text, 1, size - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
}

static bool there(const char *path)
{
    char whole[600];
    (void)snprintf(whole, sizeof whole, "%s/root/%s", node_dir, path);
    return access(whole, F_OK) == 0;
}

static void companion_files(void **s)
{
    struct nvsim *n = node_make("a100-40gb", 8);
    static char text[200000];
    read_file("proc/driver/nvidia-caps/mig-minors", text, sizeof text);
    assert_memory_equal(text, "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\n", 58);
    assert_non_null(strstr(text, "\ngpu0/gi1/access 12\n"));
    assert_non_null(strstr(text, "\ngpu1/gi0/access 138\n"));
    assert_non_null(strstr(text, "\ngpu31/gi14/ci7/access 4322\n"));
    assert_int_equal(nvsim_mig_minor(31, 14, 7), 4322);
    read_file("proc/driver/nvidia/version", text, sizeof text);
    assert_non_null(strstr(text, "  580.95.05  "));
    read_file("proc/driver/nvidia/gpus/0000:07:00.0/information", text, sizeof text);
    assert_non_null(strstr(text, nvsim_gpu_current(n, 0)->uuid));
    read_file("sys/bus/pci/devices/0000:bd:00.0/numa_node", text, sizeof text);
    assert_string_equal(text, "1\n");
    read_file("sys/bus/pci/devices/0000:07:00.0/class", text, sizeof text);
    assert_string_equal(text, "0x030200\n");
    read_file("sys/bus/pci/devices/0000:07:00.0/device", text, sizeof text);
    assert_string_equal(text, "0x20b0\n");
    assert_true(there("dev/nvidia7") && there("dev/nvidiactl") && there("dev/nvidia-caps/nvidia-cap1") && !there("dev/nvidia8"));
    assert_int_equal(nvsim_fault(n, 0, -1, -1, "off-bus", "", NULL), 0);
    assert_false(there("sys/bus/pci/devices/0000:07:00.0"));
    assert_int_equal(nvsim_fault(n, 0, -1, -1, "back", "", NULL), 0);
    assert_true(there("sys/bus/pci/devices/0000:07:00.0/vendor"));
    node_end(n);
}

static void the_list_is_json(void **s)
{
    struct nvsim *n = node_make("t4", 2);
    struct nvsim_work w = node_work(5, 0);
    (void)snprintf(w.name, sizeof w.name, "a\"b\\\n");
    assert_int_equal(nvsim_work_start(n, &w, NULL), 0);
    struct buf b;
    buf_init(&b);
    nvsim_list(n, &b);
    assert_non_null(strstr(b.data, "\"name\":\"a\\\"b\\\\\\u000a\""));
    assert_non_null(strstr(b.data, "\"memoryUsedMiB\":1442"));
    buf_free(&b);
    node_end(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files), cmocka_unit_test(what_create_refuses),
        cmocka_unit_test(the_same_name_gives_the_same_gpus), cmocka_unit_test(holder_dies),
        cmocka_unit_test(companion_files), cmocka_unit_test(the_list_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
