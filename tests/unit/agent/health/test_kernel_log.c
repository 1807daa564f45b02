/* test_kernel_log.c - a file in place of /dev/kmsg: what is told, what is known already, and what comes of floods and rubbish */
#include "health_node.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/health/kernel_log.h"
#include "base/memory.h"

#define HEAD "3,1,2,-;NVRM: Xid "

struct world {
    struct node node;
    struct kernel_log *log;
    char path[128];
    int fd; /* where the kernel writes */
    int64_t now_ms;
};

static void kernel_says(struct world *w, const char *text)
{
    assert_int_equal(write(w->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(w->path, sizeof w->path, "%.90s/kmsg-XXXXXX", tmp ? tmp : "/tmp");
    w->fd = mkstemp(w->path);
    node_make(&w->node);
    for (uint32_t i = 0; i < 3; i++)
        (void)snprintf(w->node.gpus[i].bus_id, sizeof w->node.gpus[i].bus_id, "0000:%02x:00.0", 7 + i);
    kernel_says(w, HEAD "(PCI:0000:07:00): 79, of before the start\n");
    w->now_ms = 50000;
    *state = w;
    return w->fd < 0 ? -1 : kernel_log_open(w->path, &w->log, NULL);
}

static int teardown(void **state)
{
    struct world *w = *state;
    kernel_log_free(w->log);
    (void)close(w->fd);
    (void)unlink(w->path);
    free(w);
    return 0;
}

/* Reads, and waits until what was read is told: "GPU-0 79 5/- pid 7, ..." with "known" where it is. */
static const char *told(struct world *w)
{
    static const char *const severities[] = {"", " fatal", " nonfatal"};
    static char text[1024];
    struct driver_event e;
    bool known;
    size_t n = 0;
    kernel_log_read(w->log, &w->node.reading, w->now_ms);
    w->now_ms += KERNEL_LOG_HOLD_MS;
    text[0] = '\0';
    while (kernel_log_next(w->log, w->now_ms, &e, &known))
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %d %d/%d pid %u%s%s", n ? ", " : "", e.uuid, (int)e.data, (int)e.gi,
                              (int)e.ci, e.pid, severities[e.severity], known ? " known" : "");
    return text;
}

static void test_lines(void **state)
{
    struct world *w = *state;
    assert_string_equal(told(w), "");
    kernel_says(w, "6,1,2,-;usb 1-1: new device\n SUBSYSTEM=usb\n" HEAD "(PCI:0000:08:00): 79, pid=7, name=x, off\n SUBSYSTEM=pci\n");
    kernel_says(w, HEAD "(PCI:0000:09:00 GPU-I:02 GPU-CI:00): 43, pid=9\n" HEAD "(PCI:0000:55:00): 79, not ours\n");
    assert_string_equal(told(w), "GPU-1 79 -1/-1 pid 7, GPU-2 43 2/0 pid 9");
    kernel_says(w, HEAD "(PCI:0000:07:00");
    assert_string_equal(told(w), "");
    kernel_says(w, "): 48\n");
    assert_string_equal(told(w), "GPU-0 48 -1/-1 pid 0");
}

static void test_driver_first(void **state)
{
    struct world *w = *state;
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 31);
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms));
    kernel_says(w,
                HEAD "(PCI:0000:07:00): 31, pid=7\n" HEAD "(PCI:0000:07:00): 31, more of it\n" HEAD "(PCI:0000:08:00): 31, another GPU\n");
    assert_string_equal(told(w), "GPU-0 31 -1/-1 pid 7 known, GPU-0 31 -1/-1 pid 0 known, GPU-1 31 -1/-1 pid 0");
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms)); /* another error */
    w->now_ms += KERNEL_LOG_SAME_MS;
    kernel_says(w, HEAD "(PCI:0000:07:00): 31, pid=8, which the driver does not tell\n");
    assert_string_equal(told(w), "GPU-0 31 -1/-1 pid 8");
}

static void test_log_first(void **state)
{
    struct world *w = *state;
    kernel_says(w, HEAD "(PCI:0000:07:00): 31, pid=7\n" HEAD "(PCI:0000:07:00): 48\n");
    assert_string_equal(told(w), "GPU-0 31 -1/-1 pid 7, GPU-0 48 -1/-1 pid 0");
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 31);
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms));
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms)); /* the second of the driver is its own */
    e = (struct driver_event){.uuid = "GPU-0", .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .kind = DRIVER_EVENT_ECC_DOUBLE};
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms)); /* a double bit error is XID 48 */
    e.kind = DRIVER_EVENT_LOST;
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms));
    e = node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 31);
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms));
}

static void test_line_waits_for_the_driver(void **state)
{
    struct world *w = *state;
    kernel_says(w, HEAD "(PCI:0000:09:00): 43, pid=9\n");
    kernel_log_read(w->log, &w->node.reading, w->now_ms);
    struct driver_event e = node_xid("GPU-2", 2, 0, 43), other;
    bool known = false;
    assert_false(kernel_log_next(w->log, w->now_ms + KERNEL_LOG_HOLD_MS - 1, &other, &known));
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms + 500)); /* it knows the instance, the line does not */
    assert_true(kernel_log_next(w->log, w->now_ms + KERNEL_LOG_HOLD_MS, &other, &known));
    assert_true(known);
    assert_int_equal(other.pid, 9);
    e = node_xid("GPU-2", 2, 0, 94);
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms));
    kernel_says(w, HEAD "(PCI:0000:09:00 GPU-I:03): 94, of another instance\n" HEAD "(PCI:0000:09:00 GPU-I:02): 94\n");
    assert_string_equal(told(w), "GPU-2 94 3/-1 pid 0, GPU-2 94 2/-1 pid 0 known");
}

/* One number for fatal errors and others: the driver's event waits for the line that says which. */
static void test_severity_comes_from_the_log(void **state)
{
    struct world *w = *state;
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 145);
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms));
    w->now_ms += 500;
    kernel_says(w, HEAD "(PCI:0000:07:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 02 (0x00000004)\n");
    assert_string_equal(told(w), "GPU-0 145 -1/-1 pid 0 nonfatal");
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms)); /* the next one is no other than its line says, either */
    kernel_says(w, HEAD "(PCI:0000:07:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 03 (0x00000004)\n");
    assert_string_equal(told(w), "GPU-0 145 -1/-1 pid 0 nonfatal known");
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms));
    kernel_says(w, HEAD "(PCI:0000:07:00): 145, RLW_REMAP Fatal XC0 i0 Link 03 (0x00000004)\n");
    assert_string_equal(told(w), "GPU-0 145 -1/-1 pid 0 fatal");
    assert_string_equal(told(w), "");
    w->now_ms += KERNEL_LOG_SAME_MS;
    assert_false(kernel_log_is_news(w->log, &e, w->now_ms)); /* a log without it */
    assert_string_equal(told(w), "GPU-0 145 -1/-1 pid 0");
    w->now_ms += KERNEL_LOG_SAME_MS / 2;
    for (int i = 0; i < KERNEL_LOG_HELD; i++)
        assert_false(kernel_log_is_news(w->log, &e, w->now_ms)); /* within the second they are one */
    assert_string_equal(told(w), "GPU-0 145 -1/-1 pid 0");       /* another one than five seconds ago */
    for (int i = 0; i < KERNEL_LOG_HELD; i++) {
        char uuid[16];
        (void)snprintf(uuid, sizeof uuid, "GPU-%d", i);
        e = node_xid(uuid, HEALTH_WHOLE, HEALTH_WHOLE, 149);
        assert_false(kernel_log_is_news(w->log, &e, w->now_ms));
    }
    e = node_xid("GPU-more", HEALTH_WHOLE, HEALTH_WHOLE, 149);
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms)); /* no room to wait in */
    e.data = 150; /* always fatal */
    assert_true(kernel_log_is_news(w->log, &e, w->now_ms));
}

static void test_floods(void **state)
{
    struct world *w = *state;
    char *junk = mem_alloc(3 << 20);
    memset(junk, 'x', 3 << 20);
    junk[(3 << 20) - 1] = '\0';
    kernel_says(w, junk);
    kernel_says(w, "\n" HEAD "(PCI:0000:07:00): 31, after a long line\n");
    assert_string_equal(told(w), "GPU-0 31 -1/-1 pid 0");
    free(junk);
    for (int i = 0; i < 300; i++)
        kernel_says(w, HEAD "(PCI:0000:08:00): 13, Graphics SM Warp Exception\n");
    struct driver_event e;
    bool known;
    uint32_t news_n = 0, n = 0;
    kernel_log_read(w->log, &w->node.reading, w->now_ms);
    while (kernel_log_next(w->log, w->now_ms + KERNEL_LOG_HOLD_MS, &e, &known)) {
        news_n += !known;
        n++;
    }
    assert_int_equal(n, KERNEL_LOG_HELD);
    assert_int_equal(news_n, 1);
}

static void test_fifo_and_nothing(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    kernel_log_free(w->log);
    w->log = NULL;
    assert_int_equal(kernel_log_open("/nonexistent/kmsg", &w->log, &e), -E_NOTFOUND);
    assert_int_equal(kernel_log_open("/dev/null", &w->log, &e), -E_INVALID);
    assert_int_equal(kernel_log_open("/tmp", &w->log, &e), -E_INVALID);
    assert_int_equal(unlink(w->path) | mkfifo(w->path, 0600), 0);
    assert_int_equal(kernel_log_open(w->path, &w->log, &e), 0);
    assert_string_equal(told(w), ""); /* nobody writes */
    (void)close(w->fd);
    w->fd = open(w->path, O_WRONLY | O_NONBLOCK);
    assert_string_equal(told(w), "");
    kernel_says(w, HEAD "(PCI:0000:07:00): 79\n");
    assert_string_equal(told(w), "GPU-0 79 -1/-1 pid 0");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_lines), T(test_driver_first), T(test_log_first), T(test_line_waits_for_the_driver),
                                       T(test_severity_comes_from_the_log), T(test_floods), T(test_fifo_and_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
