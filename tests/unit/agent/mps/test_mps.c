/* test_mps.c - control daemons by a stand-in program: start, limits, clients, crashes, silence, old daemons, compute mode */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/mps/mps.h"
#include "agent/mps/mps_folder.h"
#include "agent/mps/mps_keeper.h"
#include "base/log.h"
#include "sim/driver/driver_model.h"

struct world {
    char folder[64];
    char journal[80], root[80], keti[80], faults[80];
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory;
    struct arena *arena;
    struct resource_table table;
    struct mps *mps;
    const char *program;
    bool stopped, kept;
};

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct world *w = arg;
    (void)e;
    assert_int_equal(code, 0);
    inventory_set_reading(w->inventory, r);
}

static void read_now(struct world *w)
{
    driver_read(w->driver, on_reading, w);
    (void)loop_run_for(w->loop, 20, NULL);
}

static void mps_again(struct world *w)
{
    const struct mps_config c = {.root = w->root,
                                 .control_program = w->program,
                                 .keti_directory = w->keti,
                                 .kept = w->kept,
                                 .inventory = w->inventory,
                                 .check_period_ms = 50,
                                 .command_timeout_ms = 1000,
                                 .backoff_ms = 50};
    w->mps = mps_new(w->loop, w->driver, &c);
}

static void world_start(struct world *w, const char *model, uint32_t gpus_n)
{
    memset(w, 0, sizeof *w);
    folder_make(w->folder, sizeof w->folder, "mps");
    (void)snprintf(w->journal, sizeof w->journal, "%s/journal", w->folder);
    (void)snprintf(w->root, sizeof w->root, "%s/mps", w->folder);
    (void)snprintf(w->keti, sizeof w->keti, "%s/nvidia-mps", w->folder);
    (void)snprintf(w->faults, sizeof w->faults, "%s/faults", w->folder);
    assert_int_equal(mkdir(w->faults, 0700), 0);
    assert_int_equal(setenv("STAND_IN_FAULTS", w->faults, 1), 0);
    w->program = getenv("MPS_STAND_IN");
    assert_non_null(w->program);
    w->loop = loop_new();
    w->driver = driver_model_new(w->loop, gpu_model_find(model), gpus_n, "mps");
    assert_int_equal(inventory_open(w->loop, w->journal, &w->inventory, NULL), 0);
    w->arena = arena_new();
    read_now(w);
    mps_again(w);
}

static void world_end(struct world *w)
{
    mps_free(w->mps);
    (void)loop_run_for(w->loop, 50, NULL);
    driver_free(w->driver);
    inventory_close(w->inventory);
    arena_free(w->arena);
    loop_free(w->loop);
    folder_remove(w->folder);
}

static void fault(const struct world *w, const char *name, bool on, const char *text)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", w->faults, name);
    if (!on) {
        (void)unlink(path);
        return;
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void configure(struct world *w, const char *text)
{
    struct agent_config c;
    struct err e = {0};
    int r = agent_config_parse(w->arena, bytes_of(text), NULL, 0, &c, NULL, &e);
    if (r == 0)
        r = resource_table_make(w->arena, inventory_now(w->inventory), &c, &w->table, NULL, &e);
    if (r < 0)
        fail_msg("%s", e.text);
    mps_set(w->mps, inventory_now(w->inventory), &w->table);
}

#define SHARED(n) "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: " #n "\n"
#define UNSHARED "version: v1\n"

static bool wait_ready(struct world *w, const char *resource, bool ready, int64_t ms)
{
    for (int64_t end = loop_now_ms(w->loop) + ms; mps_ready(w->mps, resource) != ready && loop_now_ms(w->loop) < end;)
        (void)loop_run_for(w->loop, 5, NULL);
    return mps_ready(w->mps, resource) == ready;
}

static bool file_has(const struct world *w, const char *name, const char *text)
{
    char path[400], content[16384];
    (void)snprintf(path, sizeof path, "%s/%s", w->folder, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(content, 1, sizeof content - 1, f);
    (void)fclose(f);
    content[n] = '\0';
    return strstr(content, text) != NULL;
}

/* Such files follow the state in the next turn of the loop. */
static bool file_comes(struct world *w, const char *name)
{
    for (int64_t end = loop_now_ms(w->loop) + 10000; !file_has(w, name, "") && loop_now_ms(w->loop) < end;)
        (void)loop_run_for(w->loop, 5, NULL);
    return file_has(w, name, "");
}

static char *status(struct world *w)
{
    struct buf text = {0};
    mps_status(w->mps, &text);
    char *copy = arena_text_n(w->arena, text.data, text.n);
    buf_free(&text);
    return copy;
}

static int status_pid(struct world *w)
{
    const char *at = strstr(status(w), "\"pid\":");
    return at ? (int)strtol(at + 6, NULL, 10) : -1;
}

static bool status_wait(struct world *w, const char *text, int64_t ms)
{
    for (int64_t end = loop_now_ms(w->loop) + ms; !strstr(status(w), text) && loop_now_ms(w->loop) < end;)
        (void)loop_run_for(w->loop, 5, NULL);
    return strstr(status(w), text) != NULL;
}

static void on_stopped(void *arg)
{
    ((struct world *)arg)->stopped = true;
}

#define GPU_LOG "mps/nvidia.com/gpu/log/control.log"

static void test_start_limit_stop(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 2);
    assert_false(mps_ready(w.mps, "nvidia.com/gpu"));
    configure(&w, SHARED(4));
    assert_false(mps_ready(w.mps, "nvidia.com/gpu")); /* not before it answers */
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 3);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 3);
    const struct driver_reading *r = inventory_now(w.inventory)->reading;
    char line[300];
    (void)snprintf(line, sizeof line, "start %s,%s\n", r->gpus[0].uuid, r->gpus[1].uuid);
    assert_true(file_has(&w, GPU_LOG, line)); /* sees these devices only */
    (void)snprintf(line, sizeof line, "set_default_device_pinned_mem_limit %s %uM\n", r->gpus[1].uuid, r->gpus[1].memory_mib / 4);
    assert_true(file_has(&w, GPU_LOG, line));
    assert_true(file_has(&w, GPU_LOG, "set_default_active_thread_percentage 25\n"));
    assert_true(file_has(&w, "mps/nvidia.com/gpu/.started", ""));
    assert_true(file_comes(&w, "mps/.ready"));

    fault(&w, "clients", true, "700 701 702\n800 801\n");
    assert_true(status_wait(&w, "\"clientPids\":[701,702,801]", 10000));
    assert_non_null(strstr(status(&w), "\"state\":\"ready\""));
    assert_non_null(strstr(status(&w), "\"clients\":3"));
    int pid = status_pid(&w);
    assert_int_equal(kill(pid, 0), 0);

    mps_stop(w.mps, on_stopped, &w);
    for (int i = 0; i < 1000 && !w.stopped; i++)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_true(w.stopped);
    assert_int_equal(kill(pid, 0), -1);
    assert_true(file_has(&w, GPU_LOG, "quit\n"));
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 0);
    assert_false(file_has(&w, "mps/nvidia.com/gpu/.started", ""));
    assert_false(file_has(&w, "mps/.ready", ""));
    world_end(&w);
}

static void test_table_changes(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 2);
    configure(&w, SHARED(4));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    int pid = status_pid(&w);
    fault(&w, "clients", true, "700 701\n");
    configure(&w, SHARED(4)); /* the same: nothing happens */
    (void)loop_run_for(w.loop, 200, NULL);
    configure(&w, SHARED(10)); /* other limits: told */
    assert_true(mps_ready(w.mps, "nvidia.com/gpu"));
    for (int i = 0; i < 400 && !file_has(&w, GPU_LOG, "set_active_thread_percentage 700 10\n"); i++)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_true(file_has(&w, GPU_LOG, "set_default_active_thread_percentage 10\n"));
    assert_int_equal(status_pid(&w), pid);
    configure(&w, "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 10\n      devices: [\"1\"]\n");
    (void)loop_run_for(w.loop, 10, NULL);
    assert_false(mps_ready(w.mps, "nvidia.com/gpu"));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_not_equal(status_pid(&w), pid);
    for (int i = 0; i < 100 && driver_model_compute_mode(w.driver, 0) != 0; i++)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 3);
    configure(&w, UNSHARED);
    for (int i = 0; i < 400 && driver_model_compute_mode(w.driver, 1) != 0; i++)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 0);
    assert_string_equal(status(&w), "[]");
    world_end(&w);
}

static void test_crash_loop(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    fault(&w, "crash", true, "");
    configure(&w, SHARED(2));
    assert_true(status_wait(&w, "\"error\":\"it ended with status 3\"", 10000));
    assert_true(status_wait(&w, "\"restarts\":3", 10000));
    assert_false(status_wait(&w, "\"restarts\":6", 400)); /* 50, 100, 200, 400: slower each time */
    fault(&w, "crash", true, "one\nno such device\tfor MPS\n\n");
    assert_true(status_wait(&w, "\"error\":\"it ended with status 3; its log ends: no such device for MPS\"", 10000));
    fault(&w, "crash", false, NULL);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    int pid = status_pid(&w);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(wait_ready(&w, "nvidia.com/gpu", false, 10000));
    assert_non_null(strstr(status(&w), "signal 9"));
    assert_false(file_has(&w, "mps/.ready", ""));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_not_equal(status_pid(&w), pid);
    world_end(&w);
}

/* What lies where a log should be is not followed, and a log that grows is cut. */
static void test_logs(void **state)
{
    (void)state;
    struct world w;
    char path[400], line[MPS_LOG_LINE];
    world_start(&w, "a100-40gb", 1);
    configure(&w, SHARED(2));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    (void)snprintf(path, sizeof path, "%s/" GPU_LOG, w.folder);
    FILE *f = fopen(path, "ae");
    assert_non_null(f);
    for (uint32_t i = 0; i < LIMIT_MPS_LOG_BYTES / 64 + 1000; i++)
        (void)fprintf(f, "%063u\n", i);
    (void)fclose(f);
    struct stat s;
    for (int i = 0; i < 2000 && stat(path, &s) == 0 && s.st_size > LIMIT_MPS_LOG_BYTES; i++)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(stat(path, &s), 0);
    assert_true(s.st_size < 1 << 20);
    *strrchr(path, '/') = '\0';
    mps_log_last(path, 1 << 30, line);
    assert_string_equal(line, "");
    mps_log_last("/nonexistent", 0, line);
    assert_string_equal(line, "");
    assert_int_equal(mps_file_read("/dev/null", line, sizeof line), -1); /* no plain file */
    assert_int_equal(mps_log_bytes("/nonexistent"), 0);
    world_end(&w);
}

static void test_silence(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    configure(&w, SHARED(2));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    int pid = status_pid(&w);
    fault(&w, "silent", true, "");
    assert_true(wait_ready(&w, "nvidia.com/gpu", false, 10000));
    assert_non_null(strstr(status(&w), "does not answer"));
    for (int i = 0; i < 400 && kill(pid, 0) == 0; i++) /* until it is reaped */
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(kill(pid, 0), -1);
    fault(&w, "silent", false, NULL);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 12000));
    fault(&w, "refuse", true, "");
    configure(&w, SHARED(3));
    assert_true(status_wait(&w, "does not take its limits", 10000));
    fault(&w, "refuse", false, NULL);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_true(file_has(&w, GPU_LOG, "set_default_active_thread_percentage 33\n"));
    world_end(&w);
}

static void test_program_is_missing(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    mps_free(w.mps);
    w.program = "/nonexistent/nvidia-cuda-mps-control";
    mps_again(&w);
    configure(&w, SHARED(2));
    assert_true(status_wait(&w, "run /nonexistent/nvidia-cuda-mps-control: no such file", 10000));
    assert_true(status_wait(&w, "\"restarts\":2", 10000));
    assert_false(mps_ready(w.mps, "nvidia.com/gpu"));
    configure(&w, UNSHARED);
    assert_true(status_wait(&w, "[]", 10000));
    world_end(&w);
}

/* A daemon as an agent before us would have started it. */
static pid_t old_daemon(const struct world *w, const char *pipe, const char *devices)
{
    char pipe_path[200], log_path[200];
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/%s/pipe", w->root, pipe);
    (void)snprintf(log_path, sizeof log_path, "%s/%s/log", w->root, pipe);
    pid_t pid = fork();
    if (pid == 0) {
        (void)setenv("CUDA_MPS_PIPE_DIRECTORY", pipe_path, 1);
        (void)setenv("CUDA_MPS_LOG_DIRECTORY", log_path, 1);
        (void)setenv("CUDA_VISIBLE_DEVICES", devices, 1);
        (void)execl(w->program, w->program, "-f", NULL);
        _exit(9);
    }
    return pid;
}

/* WHY  the number: the file of the daemon before may still be there. */
static void wait_pid_file(struct world *w, pid_t pid)
{
    static const char name[] = "mps/nvidia.com/gpu/pipe/nvidia-cuda-mps-control.pid";
    char number[16];
    (void)snprintf(number, sizeof number, "%d", (int)pid);
    for (int64_t end = loop_now_ms(w->loop) + 10000; !file_has(w, name, number) && loop_now_ms(w->loop) < end;)
        (void)loop_run_for(w->loop, 5, NULL);
    assert_true(file_has(w, name, number));
}

static void test_old_daemons(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    char folder[200];
    (void)snprintf(folder, sizeof folder, "%s", w.root);
    (void)mkdir(folder, 0700);
    static const char *const below[] = {"/nvidia.com", "/nvidia.com/gpu", "/nvidia.com/gpu/pipe", "/nvidia.com/gpu/log"};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(folder, sizeof folder, "%s%s", w.root, below[i]);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    pid_t pid = old_daemon(&w, "nvidia.com/gpu", inventory_now(w.inventory)->reading->gpus[0].uuid);
    wait_pid_file(&w, pid);
    configure(&w, SHARED(5));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_equal(status_pid(&w), pid); /* taken over: its clients live on */
    assert_true(file_has(&w, GPU_LOG, "set_default_active_thread_percentage 20\n"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(wait_ready(&w, "nvidia.com/gpu", false, 10000));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000)); /* a stale pid file and socket do not matter */
    pid = status_pid(&w);
    configure(&w, UNSHARED);
    assert_true(status_wait(&w, "[]", 10000));
    for (int64_t end = loop_now_ms(w.loop) + 10000; kill(pid, 0) == 0 && loop_now_ms(w.loop) < end;)
        (void)loop_run_for(w.loop, 5, NULL); /* it removes its files as it ends */
    assert_int_not_equal(kill(pid, 0), 0);

    pid = old_daemon(&w, "nvidia.com/gpu", "GPU-other");
    wait_pid_file(&w, pid);
    configure(&w, SHARED(5));
    pid_t ended = 0;
    for (int64_t end = loop_now_ms(w.loop) + 10000; (ended = waitpid(pid, NULL, WNOHANG)) == 0 && loop_now_ms(w.loop) < end;)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(ended, pid);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_not_equal(status_pid(&w), pid);
    world_end(&w);
}

/* What containers can put in the place of the pid file: a pipe that nobody writes, a link, the number of a neighbour. */
static void test_pid_files_of_containers(void **state)
{
    (void)state;
    struct world w;
    char pipe[400], file[460], comm[32], text[16];
    world_start(&w, "a100-40gb", 1);
    configure(&w, SHARED(5));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    configure(&w, UNSHARED);
    assert_true(status_wait(&w, "[]", 10000));
    (void)snprintf(pipe, sizeof pipe, "%s/nvidia.com/gpu/pipe", w.root);
    (void)snprintf(file, sizeof file, "%s/nvidia-cuda-mps-control.pid", pipe);
    pid_t neighbour = fork();
    if (neighbour == 0) {
        (void)setenv("CUDA_MPS_PIPE_DIRECTORY", pipe, 1);
        (void)execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    assert_true(neighbour > 0);
    (void)snprintf(comm, sizeof comm, "/proc/%d/comm", (int)neighbour);
    (void)snprintf(text, sizeof text, "%d\n", (int)neighbour);
    for (int kind = 0; kind < 3; kind++) {
        (void)unlink(file);
        if (kind == 0)
            assert_int_equal(mkfifo(file, 0600), 0);
        else if (kind == 1)
            assert_int_equal(symlink(comm, file), 0);
        else {
            FILE *f = fopen(file, "we");
            assert_non_null(f);
            (void)fputs(text, f);
            (void)fclose(f);
        }
        configure(&w, SHARED(5));
        if (kind == 2) /* the daemon itself cannot write into a pipe, or through that link */
            assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
        assert_int_not_equal(status_pid(&w), (int)neighbour);
        assert_int_equal(kill(neighbour, 0), 0);
        assert_int_equal(waitpid(neighbour, NULL, WNOHANG), 0);
        configure(&w, UNSHARED);
        assert_true(status_wait(&w, "[]", 10000));
    }
    assert_int_equal(kill(neighbour, SIGKILL), 0);
    assert_int_equal(waitpid(neighbour, NULL, 0), neighbour);
    world_end(&w);
}

static void test_mode_is_given_back_after_a_crash(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 2);
    configure(&w, SHARED(2));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    char key[100];
    (void)snprintf(key, sizeof key, "compute-mode/%s", inventory_now(w.inventory)->reading->gpus[1].uuid);
    assert_string_equal(inventory_intent(w.inventory, key), "exclusive");
    driver_model_refuse(w.driver, -E_IO, 100); /* the agent dies: nothing is given back */
    mps_free(w.mps);
    (void)loop_run_for(w.loop, 20, NULL);
    driver_model_refuse(w.driver, 0, 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 3);
    inventory_close(w.inventory);
    assert_int_equal(inventory_open(w.loop, w.journal, &w.inventory, NULL), 0);
    read_now(&w);
    mps_again(&w);
    configure(&w, UNSHARED);
    (void)loop_run_for(w.loop, 50, NULL);
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 0);
    assert_null(inventory_intent(w.inventory, key));
    world_end(&w);
}

static void test_driver_refuses_the_mode(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    driver_model_refuse(w.driver, -E_DENIED, 1);
    configure(&w, SHARED(2));
    (void)loop_run_for(w.loop, 300, NULL);
    assert_int_equal(status_pid(&w), 0);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 12000)); /* tried again after five seconds */
    world_end(&w);
}

static void test_mig_and_keti(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    const char *uuid = inventory_now(w.inventory)->reading->gpus[0].uuid;
    configure(&w, "version: v1\nsharing:\n  keti:\n    replicas: 10\n");
    assert_true(wait_ready(&w, "keti.com/mpsgpu", true, 10000));
    assert_true(file_has(&w, "nvidia-mps-log/control.log", uuid));
    assert_false(file_has(&w, "nvidia-mps-log/control.log", "set_default")); /* its pods say */
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 3);
    configure(&w, UNSHARED);
    assert_true(status_wait(&w, "[]", 10000));
    struct buf path = {0};
    const struct driver_mig mig = {.uuid = "MIG-7"};
    const struct unit unit = {.uuid = "MIG-7", .mig = &mig};
    mps_directory(&path, "nvidia.com/mig-1g.5gb", &unit);
    assert_string_equal(path.data, "nvidia.com/mig-1g.5gb/MIG-7");
    buf_free(&path);
    world_end(&w);
}

/* Two instances of one GPU: a daemon each, with limits by the instance's own memory. */
static void test_mig_instances(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "a100-40gb", 1);
    struct driver_gpu gpu = inventory_now(w.inventory)->reading->gpus[0];
    struct driver_mig migs[2] = {{.gi = 1, .ci_slices = 3, .gi_slices = 3, .memory_mib = 20000, .uuid = "MIG-a"},
                                 {.gi = 2, .ci_slices = 3, .gi_slices = 3, .memory_mib = 20000, .uuid = "MIG-b"}};
    gpu.mig_on = true;
    gpu.migs = migs;
    gpu.migs_n = 2;
    struct driver_reading reading = {.refs = 1, .gpus = &gpu, .gpus_n = 1};
    struct unit units[2] = {{.gpu = &gpu, .mig = &migs[0], .uuid = "MIG-a"}, {.gpu = &gpu, .mig = &migs[1], .uuid = "MIG-b"}};
    const struct inventory_snapshot s = {.refs = 1, .reading = &reading, .units = units, .units_n = 2};
    struct slot slots[4] = {{.id = "MIG-a::0", .shared = true}, {.id = "MIG-a::1", .replica = 1, .shared = true},
                            {.id = "MIG-b::0", .unit = 1, .shared = true}, {.id = "MIG-b::1", .unit = 1, .replica = 1, .shared = true}};
    struct resource resource = {.name = "nvidia.com/mig-3g.20gb", .base_name = "nvidia.com/mig-3g.20gb", .sharing = SHARING_MPS,
                                .replicas = 2, .slots = slots, .slots_n = 4};
    const struct resource_table table = {.resources = &resource, .resources_n = 1};
    mps_set(w.mps, &s, &table);
    assert_true(wait_ready(&w, "nvidia.com/mig-3g.20gb", true, 10000));
    assert_true(file_has(&w, "mps/nvidia.com/mig-3g.20gb/MIG-a/log/control.log", "start MIG-a\n"));
    assert_true(file_has(&w, "mps/nvidia.com/mig-3g.20gb/MIG-b/log/control.log", "set_default_device_pinned_mem_limit MIG-b 10000M\n"));
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 0);
    world_end(&w);
}

/* What clients get as /dev/shm is a link to ours, whatever stood there. */
static void test_shm_is_a_link(void **state)
{
    struct world w;
    char shm[120], file[140], to[64] = "";
    world_start(&w, "a100-40gb", 1);
    (void)snprintf(shm, sizeof shm, "%s/shm", w.root);
    (void)snprintf(file, sizeof file, "%s/kept", shm);
    assert_int_equal(mkdir(w.root, 0755), 0);
    assert_int_equal(mkdir(shm, 0755), 0);
    assert_int_equal(mkdir(file, 0755), 0);
    configure(&w, SHARED(4));
    configure(&w, SHARED(5));
    assert_int_equal(readlink(shm, to, sizeof to - 1), 8);
    assert_string_equal(to, "/dev/shm");
    (void)snprintf(file, sizeof file, "%s.old/kept", shm);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(unlink(shm), 0);
    assert_int_equal(mkdir(shm, 0755), 0); /* NVIDIA's daemon was back for a while */
    configure(&w, SHARED(4));
    assert_int_equal(readlink(shm, to, sizeof to - 1), 8);
    assert_int_equal(access(file, F_OK), 0);
    (void)snprintf(file, sizeof file, "%s.old2", shm);
    assert_int_equal(access(file, F_OK), 0);
    world_end(&w);
}

/* A process in a mount namespace of its own, with something mounted at `path`: 'y' on `ready` once it is. It ends when `ask` closes, with
 * status 0 if a mount of the folder is still there. */
static void other_namespace(const char *folder, const char *path, int ready, int ask)
{
    char line[1024], end;
    bool found = false;
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", path, "tmpfs", 0, NULL) < 0 ||
        write(ready, "y", 1) != 1)
        _exit(2);
    if (read(ask, &end, 1) < 0)
        _exit(2);
    FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, folder);
    _exit(!found);
}

static void test_shm_keeps_mounts_of_others(void **state)
{
    struct world w;
    char shm[120], answer;
    int ready[2], ask[2], status;
    world_start(&w, "a100-40gb", 1);
    (void)snprintf(shm, sizeof shm, "%s/shm", w.root);
    assert_int_equal(mkdir(w.root, 0755), 0);
    assert_int_equal(mkdir(shm, 0755), 0);
    assert_true(pipe(ready) == 0 && pipe(ask) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ask[1]);
        other_namespace(w.folder, shm, ready[1], ask[0]);
    }
    (void)close(ready[1]);
    (void)close(ask[0]);
    bool may = read(ready[0], &answer, 1) == 1;
    if (may)
        configure(&w, SHARED(4));
    (void)close(ask[1]);
    (void)close(ready[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (may) {
        struct stat link;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(lstat(shm, &link) == 0 && S_ISLNK(link.st_mode));
    }
    world_end(&w);
    if (!may)
        skip(); /* mounting is not allowed here */
}

/* ---- a keeper ---- */

static struct mps_keeper *keeper_start(struct world *w)
{
    struct mps_keeper *k = NULL;
    struct err e = {0};
    if (mps_keeper_new(w->loop, w->root, w->program, 0, &k, &e) < 0)
        fail_msg("%s", e.text);
    return k;
}

/* The agent ends, by a signal or a crash: neither daemon nor compute mode is touched, and the next one takes over. */
static void test_kept_daemons_outlive_the_agent(void **state)
{
    struct world w;
    world_start(&w, "a100-40gb", 2);
    mps_free(w.mps);
    w.kept = true;
    mps_again(&w);
    configure(&w, SHARED(2));
    assert_true(status_wait(&w, "--mps-keep", 10000)); /* nobody keeps yet, and it is said */
    struct mps_keeper *k = keeper_start(&w);
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    int pid = status_pid(&w);
    assert_int_equal(mps_keeper_daemons(k), 1);
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            mps_stop(w.mps, on_stopped, &w);
        (void)loop_run_for(w.loop, 50, NULL);
        assert_true(w.stopped);
        mps_free(w.mps);
        (void)loop_run_for(w.loop, 50, NULL);
        assert_int_equal(kill(pid, 0), 0);
        assert_int_equal(driver_model_compute_mode(w.driver, 1), 3);
        assert_true(file_comes(&w, "mps/.ready"));
        mps_again(&w);
        configure(&w, SHARED(2));
        assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
        assert_int_equal(status_pid(&w), pid);
    }
    configure(&w, UNSHARED); /* no longer wanted: asked to quit, as ever */
    for (int i = 0; i < 400 && (mps_keeper_daemons(k) || driver_model_compute_mode(w.driver, 1)); i++)
        (void)loop_run_for(w.loop, 25, NULL);
    assert_int_equal(mps_keeper_daemons(k), 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 1), 0);
    mps_keeper_free(k);
    world_end(&w);
}

static void test_kept_daemon_that_nobody_wants(void **state)
{
    struct world w;
    world_start(&w, "a100-40gb", 1);
    mps_free(w.mps);
    w.kept = true;
    mps_again(&w);
    struct mps_keeper *k = keeper_start(&w);
    configure(&w, SHARED(2));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    mps_free(w.mps); /* and the config changes while no agent is there */
    mps_again(&w);
    configure(&w, UNSHARED);
    for (int64_t end = loop_now_ms(w.loop) + 10000; mps_keeper_daemons(k) && loop_now_ms(w.loop) < end;)
        (void)loop_run_for(w.loop, 5, NULL);
    assert_int_equal(mps_keeper_daemons(k), 0);
    assert_int_equal(driver_model_compute_mode(w.driver, 0), 0);
    mps_keeper_free(k);
    world_end(&w);
}

static void test_kept_daemon_that_crashes(void **state)
{
    struct world w;
    world_start(&w, "a100-40gb", 1);
    mps_free(w.mps);
    w.kept = true;
    mps_again(&w);
    struct mps_keeper *k = keeper_start(&w);
    configure(&w, SHARED(2));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    int pid = status_pid(&w);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(wait_ready(&w, "nvidia.com/gpu", false, 10000));
    assert_true(wait_ready(&w, "nvidia.com/gpu", true, 10000));
    assert_int_not_equal(status_pid(&w), pid);
    assert_int_equal(mps_keeper_daemons(k), 1);
    struct mps_keeper *second = NULL;
    assert_int_equal(mps_keeper_new(w.loop, w.root, w.program, 0, &second, NULL), -E_EXISTS);
    mps_free(w.mps);
    mps_keeper_free(k); /* its container ends: its daemons with it */
    (void)loop_run_for(w.loop, 50, NULL);
    mps_again(&w);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_limit_stop),
        cmocka_unit_test(test_table_changes),
        cmocka_unit_test(test_crash_loop),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_program_is_missing),
        cmocka_unit_test(test_old_daemons),
        cmocka_unit_test(test_pid_files_of_containers),
        cmocka_unit_test(test_mode_is_given_back_after_a_crash),
        cmocka_unit_test(test_driver_refuses_the_mode),
        cmocka_unit_test(test_mig_and_keti),
        cmocka_unit_test(test_mig_instances),
        cmocka_unit_test(test_shm_is_a_link),
        cmocka_unit_test(test_shm_keeps_mounts_of_others),
        cmocka_unit_test(test_kept_daemons_outlive_the_agent),
        cmocka_unit_test(test_kept_daemon_that_nobody_wants),
        cmocka_unit_test(test_kept_daemon_that_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
