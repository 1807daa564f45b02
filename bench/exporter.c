/* exporter.c - what monitoring costs
 *
 *     exporter.private.8gpu         memory that an agent alone has (anonymous pages), 8 idle GPUs, scraped each second, KB
 *     exporter.private.56mig_1000proc    the same with 8 x 7 MIG devices and 1,000 processes, KB
 *     exporter.rss.8gpu, exporter.rss.56mig_1000proc    both with the pages of files that it has mapped, KB
 *     exporter.cpu.8gpu             CPU of that agent in percent of a core, at the default period
 *     exporter.collect.1000proc     CPU of a collection of 1,000 processes that were not seen before, without time inside the driver, ms
 *     exporter.collect.1000proc.same    of one that finds the same processes again, ms
 *     exporter.scrape.p99           GET /metrics of about 5,000 series over loopback, a collection each second, ms
 *
 * The processes' /proc is a folder of plain files: looking at a known one is a stat(2) there as on procfs, reading a new one is cheaper.
 * libnvidia-ml's own pages and the simulated driver's state are not counted. The first two take half a minute each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "exporter/pages/serve.h"
#include "gpu/model.h"
#include "nvsim/nvsim.h"
#include "process.h"
#include "sim/driver/driver_model.h"

enum { GPUS = 8, PROCESSES = 1000, FIRST_PID = 100000, SETTLE_S = 30, ROUNDS = 50, SCRAPES = 1000, PAGE_MAX = 4 << 20 };

static const char *root, *build;

/* ---- HTTP by hand: no library of ours in the client ---- */

/* One page over a kept connection; its bytes, or 0. The text is NUL terminated. */
static size_t scrape(int fd, char *page)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: bench\r\n\r\n";
    size_t n = 0, whole = 0;
    if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
        return 0;
    while (!whole || n < whole) {
        ssize_t got = read(fd, page + n, PAGE_MAX - 1 - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        page[n] = '\0';
        char *body = whole ? NULL : strstr(page, "\r\n\r\n"), *length = body ? strcasestr(page, "content-length:") : NULL;
        if (length)
            whole = (size_t)(body + 4 - page) + strtoul(length + 15, NULL, 10);
    }
    return n;
}

static uint32_t series_of(const char *page)
{
    const char *body = strstr(page, "\r\n\r\n");
    uint32_t n = 0;
    for (const char *line = body ? body + 4 : ""; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : "")
        n += *line != '#';
    return n;
}

/* ---- an agent as a process ---- */

static double cpu_ticks(pid_t agent)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, kernel = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)agent);
    FILE *f = fopen(path, "re");
    must(f && fgets(text, sizeof text, f), "the agent is gone");
    (void)fclose(f);
    const char *after = strrchr(text, ')');
    must(after && sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) == 2, "stat");
    return (double)(user + kernel);
}

static void put_work(const char *state)
{
    struct nvsim *n = NULL;
    struct err e = {0};
    must(nvsim_open(state, &n, &e) == 0, e.text);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        /* seven instances of one slice: GPU instances 7 to 13 */
        struct nvsim_work w = {
            .pid = FIRST_PID + i, .gpu = i % GPUS, .gi = 7 + i / GPUS % 7, .memory_mib = 64, .sm_permille = 20, .name = "python"};
        int r = nvsim_work_start(n, &w, &e);
        must(r == 0, e.text);
    }
    nvsim_close(n);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    must(f && fputs(text, f) >= 0 && fclose(f) == 0, path);
}

/* /proc as it looks for a pod's process. */
static void make_proc(const char *host)
{
    char folder[200], text[512];
    (void)mkdir(host, 0700); /* may be there */
    (void)snprintf(folder, sizeof folder, "%s/proc", host);
    (void)mkdir(folder, 0700);
    write_file(folder, "stat", "btime 1700000000\n");
    for (int i = 0; i < 2 * PROCESSES; i++) {
        int pid = FIRST_PID + i;
        (void)snprintf(folder, sizeof folder, "%s/proc/%d", host, pid);
        must(mkdir(folder, 0700) == 0, "mkdir");
        (void)snprintf(text, sizeof text,
                       "%d (python) S 1 1 1 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid,
                       1000 + i);
        write_file(folder, "stat", text);
        write_file(folder, "comm", "python\n");
        write_file(folder, "cmdline", "python");
        (void)snprintf(text, sizeof text,
                       "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod%08d_0000_0000_0000_000000000000.slice/"
                       "cri-containerd-%064d.scope\n",
                       i / 4, i / 4);
        write_file(folder, "cgroup", text);
    }
}

static void scrape_for(int port, int seconds)
{
    char *page = mem_alloc(PAGE_MAX);
    int fd = -1, n = 0;
    for (int i = 0; i < 200 && fd < 0; i++) {
        (void)usleep(50000);
        fd = port_connect(port);
    }
    must(fd >= 0, "the agent does not serve metrics");
    for (int i = 0; i < seconds; i++) {
        n += scrape(fd, page) > 0 && strstr(page, "DCGM_FI_DEV_GPU_TEMP{");
        (void)sleep(1);
    }
    must(n > seconds / 2, "the pages are empty");
    (void)close(fd);
    free(page);
}

static void bench_agent(bool mig, const char *devices)
{
    char *capstan = path_of(build, "capstan"), *library = path_of(build, "libnvsim/libnvidia-ml.so.1"), *node = path_of(root, "node");
    char *state = path_of(root, "node/state"), *plugins = path_of(root, "plugins"), *own = path_of(root, "state"),
         *sysroot = path_of(root, "node/root");
    char reset[700], address[32];
    int port = port_free();
    (void)snprintf(reset, sizeof reset, "%s nvsim reset --gpu {index}", capstan);
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", port);
    must(setenv("NVSIM_STATE", state, 1) == 0, "setenv");
    process_run((const char *const[]){"/bin/rm", "-rf", node, own, NULL});
    process_run((const char *const[]){capstan, "nvsim", "create", node, "--model", "a100-40gb", "--gpus", "8", "--node", "bench", NULL});
    if (mig) {
        process_run(
            (const char *const[]){capstan, "mig", "apply", "-c", "all-1g.5gb", "--library", library, "--reset-command", reset, NULL});
        put_work(state);
        make_proc(sysroot);
    }
    pid_t agent = process_start((const char *const[]){capstan, "agent", "--no-cluster", "--node-name", "bench", "--library", library,
                                                      "--plugin-dir", plugins, "--state-dir", own, "--cdi-dir", path_of(root, "cdi"),
                                                      "--pod-resources-socket", path_of(root, "pods.sock"), "--root", sysroot,
                                                      "--mig-strategy", mig ? "mixed" : "none",
                                                      "--output-file", path_of(root, "features"), "--address", address, NULL});
    scrape_for(port, SETTLE_S);
    double before = cpu_ticks(agent);
    scrape_for(port, SETTLE_S);
    double percent = (cpu_ticks(agent) - before) / (double)sysconf(_SC_CLK_TCK) / SETTLE_S * 100;
    long private_kb, resident_kb = process_resident_kb(agent, &private_kb);
    char name[64];
    (void)snprintf(name, sizeof name, "exporter.private.%s", devices);
    figure(name, (double)private_kb, "KB");
    (void)snprintf(name, sizeof name, "exporter.rss.%s", devices);
    figure(name, (double)resident_kb, "KB");
    if (!mig)
        figure("exporter.cpu.8gpu", percent, "%");
    process_end(&agent);
}

/* ---- collections and scrapes in this process, with a driver that costs nothing ---- */

struct world {
    struct loop *loop;
    struct driver *model, driver;
    struct inventory *inventory;
    const struct driver_reading *devices;
    struct collect *collect;
    struct serve *serve;
    uint32_t first_pid, samples_n;
    int64_t seconds;
    char proc[128];
};
static struct world world;

static void on_devices(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    must(code == 0, e->text);
    world.devices = driver_reading_ref(r);
    inventory_set_reading(world.inventory, r);
    loop_stop(world.loop);
}

static struct measure_reading *reading_new(void)
{
    struct arena *a = arena_new();
    struct measure_reading *m = arena_zero(a, 1, sizeof *m);
    *m = (struct measure_reading){.refs = 1, .devices = driver_reading_ref(world.devices), .arena = a};
    m->wall_us = loop_wall_us(world.loop);
    m->monotonic_ms = loop_now_ms(world.loop);
    m->gpus = arena_zero(a, GPUS, sizeof *m->gpus);
    for (int i = 0; i < GPUS; i++)
        for (int k = 0; k < MEASURE_N; k++)
            measure_set(&m->gpus[i].board, (enum measure)k, k == MEASURE_FB_TOTAL_MIB ? 40960 : 10 + k);
    m->processes = arena_zero(a, PROCESSES, sizeof *m->processes);
    for (m->processes_n = 0; m->processes_n < PROCESSES; m->processes_n++)
        m->processes[m->processes_n] = (struct measure_process){.pid = world.first_pid + m->processes_n,
                                                                .gpu = (uint16_t)(m->processes_n / (PROCESSES / GPUS)),
                                                                .gi = UINT32_MAX,
                                                                .ci = UINT32_MAX,
                                                                .memory_bytes = (uint64_t)(m->processes_n + 1) << 20,
                                                                .sm_percent = 5,
                                                                .samples_n = 10,
                                                                .sm_seconds = 0.5};
    return m;
}

struct question {
    measure_fn fn;
    void *arg;
};
static struct question question;

static void answer(void *arg)
{
    struct question *q = arg;
    struct measure_reading *m = reading_new();
    q->fn(q->arg, 0, m, NULL);
    measure_reading_unref(m);
}

static void measure_now(void *self, const struct driver_reading *devices, const struct measure_request *request, measure_fn fn, void *arg)
{
    question = (struct question){fn, arg};
    loop_defer(world.loop, answer, &question);
}

static void on_sample(void *arg, const struct sample *s)
{
    must(s->processes_n == PROCESSES, "processes are missing");
    world.samples_n++;
    serve_sampled(world.serve);
}

static double cpu_ms(void)
{
    struct timespec t;
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "clock");
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static void collect_once(void)
{
    uint32_t before = world.samples_n;
    collect_now(world.collect);
    for (int i = 0; i < 1000 && world.samples_n == before; i++)
        (void)loop_run_for(world.loop, 1, NULL);
    must(world.samples_n > before, "no collection");
}

static void bench_collect(void)
{
    double fresh = 0, same = 0;
    for (int i = 0; i < ROUNDS; i++) {
        world.first_pid = FIRST_PID + (uint32_t)(i % 2) * PROCESSES;
        collect_once(); /* other ones than before: all that was kept of them is of no use */
        collect_once();
        collect_once();
        world.first_pid = FIRST_PID + (uint32_t)((i + 1) % 2) * PROCESSES;
        double at = cpu_ms();
        collect_once();
        double then = cpu_ms();
        collect_once();
        fresh += then - at;
        same += cpu_ms() - then;
    }
    figure("exporter.collect.1000proc", fresh / ROUNDS, "ms");
    figure("exporter.collect.1000proc.same", same / ROUNDS, "ms");
}

/* ---- scrapes ---- */

static double latency_ms[SCRAPES];
static volatile int scraped_n;
static uint32_t series_n;

static void *scrape_thread(void *arg)
{
    char *page = mem_alloc(PAGE_MAX);
    int fd = port_connect(*(int *)arg);
    must(fd >= 0, "connect");
    for (int i = 0; i < SCRAPES; i++) {
        struct timespec from, to;
        (void)clock_gettime(CLOCK_MONOTONIC, &from);
        must(scrape(fd, page) > 0, "scrape");
        (void)clock_gettime(CLOCK_MONOTONIC, &to);
        latency_ms[i] = (double)(to.tv_sec - from.tv_sec) * 1000 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        (void)usleep(5000);
        scraped_n = i + 1;
    }
    series_n = series_of(page);
    (void)close(fd);
    free(page);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_scrape(void)
{
    pthread_t thread;
    int port = serve_port(world.serve);
    int64_t collected_ms = 0;
    must(pthread_create(&thread, NULL, scrape_thread, &port) == 0, "thread");
    while (scraped_n < SCRAPES) {
        (void)loop_run_for(world.loop, 1, NULL);
        if (loop_now_ms(world.loop) - collected_ms >= 1000) {
            collected_ms = loop_now_ms(world.loop);
            collect_now(world.collect);
        }
    }
    (void)pthread_join(thread, NULL);
    qsort(latency_ms, SCRAPES, sizeof *latency_ms, by_value);
    figure("exporter.scrape.p99", latency_ms[SCRAPES * 99 / 100], "ms");
    figure("exporter.scrape.max", latency_ms[SCRAPES - 1], "ms");
    figure("exporter.scrape.p50", latency_ms[SCRAPES / 2], "ms");
    figure("exporter.scrape.series", series_n, "series");
}

static void bench_in_process(void)
{
    static const struct driver_ops ops = {.measure = measure_now};
    struct err e = {0};
    struct page_counter *counters = NULL;
    _cleanup_arena_ struct arena *a = arena_new();
    struct page_config page = {.sessions = true, .processes = true, .dcgm = true};
    page_counters_default(a, &counters, &page.counters_n);
    page.counters = counters;
    (void)snprintf(world.proc, sizeof world.proc, "%s/host", root);
    make_proc(world.proc);
    world.loop = loop_new();
    must(inventory_open(world.loop, NULL, &world.inventory, &e) == 0, e.text);
    world.model = driver_model_new(world.loop, gpu_model_find("a100-40gb"), GPUS, "bench");
    world.driver = (struct driver){.ops = &ops, .self = NULL};
    driver_read(world.model, on_devices, NULL);
    (void)loop_run(world.loop, NULL);
    struct collect_config config = {.period_ms = 3600 * 1000, .root = world.proc, .hostname = "bench", .processes_max = 2000};
    page_wanted(&page, config.wanted);
    struct pods *pods = pods_new(world.loop, &(struct pods_config){.root = world.proc, .node_name = "bench"});
    struct account *account = account_open(NULL, "bench");
    world.first_pid = FIRST_PID;
    world.collect = collect_new(world.loop, &world.driver, world.inventory, pods, account, &config);
    collect_listen(world.collect, on_sample, NULL);
    must(serve_new(world.loop, world.collect, account, &(struct serve_config){.listen = "127.0.0.1:0", .page = page, .period_ms = 15000},
                   &world.serve, &e) == 0,
         e.text);
    bench_collect();
    bench_scrape();
    serve_free(world.serve);
    collect_free(world.collect);
    account_close(account);
    pods_free(pods);
    driver_reading_unref(world.devices);
    driver_free(world.model);
    inventory_close(world.inventory);
    loop_free(world.loop);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    build = process_build();
    root = process_folder("exporter");
    must(mkdir(path_of(root, "plugins"), 0700) == 0, "no directory");
    bench_in_process();
    if (access(path_of(build, "capstan"), X_OK) == 0 && access(path_of(build, "libnvsim/libnvidia-ml.so.1"), F_OK) == 0) {
        bench_agent(false, "8gpu");
        bench_agent(true, "56mig_1000proc");
    } else {
        fputs("bench exporter: no capstan, no libnvsim: resident memory is not measured\n", stderr);
    }
    return 0;
}
