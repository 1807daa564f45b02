/* driver_nvml_reset.c - reset one GPU, and those that go with it (driver_reset_set)
 *
 *     everything under way ends ─▶ library closed (a reset wants no clients, and we are one) ─▶ the reset program ─▶ answer
 *
 * NVML has no call for it; NVIDIA's way is `nvidia-smi --gpu-reset`. The command is a setting (driver_nvml.h).
 * The next reading opens the library again.
 */
#include <stdio.h>
#include <unistd.h>
#include "agent/driver/driver_nvml_part.h"

extern char **environ;

enum { REST_POLL_MS = 20, OUTPUT_MAX = 4096, WORDS_MAX = 16, ENVIRONMENT_MAX = 1024 };

struct nvml_reset {
    struct nvml_driver *d; /* NULL: freed while the program runs */
    struct nvml_call *call;
    struct loop_timer *timer;
    int64_t give_up_ms;
    bool running; /* the program runs: its answer frees this */
    struct buf words[WORDS_MAX];
    char *argv[WORDS_MAX + 1];
    struct buf preload;
    char uuid[48];
    struct driver_reading *reading; /* of the moment when it was asked for */
    uint64_t gpus;                  /* that are reset, by index */
};

struct close_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml *n;
    struct dcgm *dcgm; /* a reference; NULL: none */
};

static void reset_free(struct nvml_reset *x)
{
    loop_timer_free(x->timer);
    for (int i = 0; i < WORDS_MAX; i++)
        buf_free(&x->words[i]);
    buf_free(&x->preload);
    driver_reading_unref(x->reading);
    free(x->call);
    free(x);
}

static void reset_ends(struct nvml_reset *x, int code, const struct err *e)
{
    struct nvml_driver *d = x->d;
    struct nvml_call *call = x->call;
    x->call = NULL;
    d->reset = NULL;
    dcgm_resume(d->dcgm);
    reset_free(x);
    call->error = *e;
    UNLESS_FREED(d, nvml_call_answer(call, code, NULL));
    if (!d->reset && d->event_fn)
        nvml_read_start(d); /* opens the library, so that events come again */
}

/* ---- the program ---- */

static const char *part_of(const char *name, size_t n, const struct driver_gpu *g, char number[16])
{
    (void)snprintf(number, 16, "%u", g->index);
    if (n == 4 && memcmp(name, "uuid", 4) == 0)
        return g->uuid;
    if (n == 3 && memcmp(name, "bus", 3) == 0)
        return g->bus_id;
    if (n == 5 && memcmp(name, "index", 5) == 0)
        return number;
    return NULL;
}

/* Of all GPUs that are reset, with commas between. False: no such name. */
static bool value_add(struct nvml_reset *x, struct buf *word, const char *name, size_t n)
{
    char number[16];
    bool any = false;
    for (uint32_t i = 0; i < x->reading->gpus_n; i++) {
        const struct driver_gpu *g = &x->reading->gpus[i];
        const char *part = x->gpus >> g->index & 1 ? part_of(name, n, g, number) : NULL;
        if (part)
            buf_printf(word, "%s%s", any ? "," : "", part);
        any = any || part;
    }
    return any;
}

/* Blank separated words; {uuid}, {bus}, {index} replaced, other braces stay. */
static void split_command(struct nvml_reset *x, const char *command)
{
    int n = 0;
    for (const char *c = command; *c && n < WORDS_MAX;) {
        if (*c == ' ') {
            c++;
            continue;
        }
        struct buf *word = &x->words[n];
        while (*c && *c != ' ') {
            const char *end = *c == '{' ? strchr(c, '}') : NULL;
            if (end && value_add(x, word, c + 1, (size_t)(end - c - 1)))
                c = end + 1;
            else
                buf_char(word, *c++);
        }
        x->argv[n++] = word->data;
    }
}

/* The last line of what the program printed. */
static struct bytes last_line(const char *output, size_t n)
{
    while (n > 0 && (output[n - 1] == '\n' || output[n - 1] == '\r' || output[n - 1] == ' '))
        n--;
    size_t start = n;
    while (start > 0 && output[start - 1] != '\n')
        start--;
    return (struct bytes){output + start, n - start};
}

/* Whether the program names a GPU that was not to be reset: it has to go with the others. Bus ids are told with domains of four or eight
 * digits, in either case. */
static bool names_others(const struct nvml_reset *x, const char *output, size_t n)
{
    _cleanup_buf_ struct buf text = {0};
    buf_bytes(&text, (struct bytes){output, n});
    for (size_t i = 0; i < text.n; i++)
        text.data[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 'a' - 'A' : text.data[i]);
    for (uint32_t i = 0; text.n && i < x->reading->gpus_n; i++) {
        const struct driver_gpu *g = &x->reading->gpus[i];
        if (!(x->gpus >> g->index & 1) && *g->bus_id && memmem(text.data, text.n, g->bus_id, strlen(g->bus_id)))
            return true;
    }
    return false;
}

static void program_done(void *arg, int exit_code, const char *output, size_t n)
{
    struct nvml_reset *x = arg;
    struct err e = {0};
    int code = 0;
    if (!x->d) {
        reset_free(x);
        return;
    }
    if (exit_code != 0 && !x->d->resets_linked && names_others(x, output, n)) {
        x->d->resets_linked = true;
        code = err_set(&e, E_CONFLICT, "reset of %s: GPUs that are linked to it go with it, once nobody is on any of them", x->uuid);
    } else if (exit_code != 0) {
        struct bytes line = last_line(output, n);
        bool in_use =
            memmem(output, n, "n use", 5) || memmem(output, n, "processes run", 13); /* "In use by another client" */
        code = err_set(&e, in_use ? E_CONFLICT : E_IO, "reset of %s: %s ended with status %d: %.*s", x->uuid,
                       x->argv[0], exit_code, (int)(line.n < 200 ? line.n : 200), line.data);
    }
    reset_ends(x, code, &e);
}

/* Of a driver that is installed elsewhere the program is its own, and that one needs its own library: nothing else of the place is put
 * before ours. `env`: room for our environment and one more. SOURCE gpu-operator's validator runs it so. */
static char **program_of_driver(struct nvml_reset *x, char **env, size_t env_n)
{
    struct roots roots;
    char path[512], library[512];
    size_t n = 0;
    nvml_roots(x->d, &roots);
    if (!x->argv[0] || !root_program(&roots, x->argv[0], path, sizeof path))
        return NULL;
    x->words[0].n = 0;
    buf_text(&x->words[0], path);
    x->argv[0] = x->words[0].data;
    if (!root_library(roots.driver.here, "libnvidia-ml.so.1", library, sizeof library))
        return NULL;
    buf_printf(&x->preload, "LD_PRELOAD=%s", library);
    env[n++] = x->preload.data;
    for (char **own = environ; *own && n + 1 < env_n; own++)
        if (!text_starts(*own, "LD_PRELOAD="))
            env[n++] = *own;
    env[n] = NULL;
    return env;
}

static void program_start(struct nvml_reset *x)
{
    struct nvml_driver *d = x->d;
    struct err e = {0};
    char *env[ENVIRONMENT_MAX];
    x->running = true;
    char **changed = program_of_driver(x, env, ENVIRONMENT_MAX);
    int r = x->argv[0] ? loop_child_run(d->loop, x->argv, changed, OUTPUT_MAX, d->step_ms, program_done, x, &e)
                       : err_set(&e, E_INVALID, "the reset command is empty");
    if (r == 0)
        return;
    x->running = false;
    if (r == -E_NOTFOUND)
        r = err_set(&e, E_INVALID,
                    "reset of %s: there is no program %s here; install it, or name another reset command", x->uuid,
                    x->argv[0]);
    reset_ends(x, r, &e);
}

/* ---- everything to rest ---- */

static void close_work(struct worker_job *job)
{
    struct close_job *j = (struct close_job *)job;
    dcgm_close(j->dcgm, DCGM_CLOSE_MS);
    nvml_unref(j->n);
    j->n = NULL;
}

static void close_done(struct worker_job *job, int code)
{
    struct nvml_driver *d = ((struct close_job *)job)->d;
    struct err e = {0};
    if (code == 0) {
        program_start(d->reset);
        return;
    }
    code = err_set(&e, E_AGAIN, "reset of %s: the driver's library does not close", d->reset->uuid);
    reset_ends(d->reset, code, &e);
}

static void close_release(struct worker_job *job)
{
    struct close_job *j = (struct close_job *)job;
    nvml_unref(j->n);
    dcgm_unref(j->dcgm);
    free(j);
}

static void on_rest_poll(void *arg)
{
    struct nvml_reset *x = arg;
    struct nvml_driver *d = x->d;
    if (d->reading || d->wait || d->gathers || d->measures || d->steps) {
        if (loop_now_ms(d->loop) < x->give_up_ms) {
            loop_timer_start(x->timer, REST_POLL_MS, 0);
            return;
        }
        struct err e = {0};
        int code = err_set(&e, E_AGAIN, "reset of %s: calls of the driver do not end", x->uuid);
        reset_ends(x, code, &e);
        return;
    }
    if (!d->nvml) {
        program_start(x);
        return;
    }
    struct close_job *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = close_work, .done = close_done, .release = close_release};
    j->d = d;
    j->n = d->nvml; /* the reference moves: the last one closes the library in that thread */
    j->dcgm = dcgm_ref(d->dcgm);
    d->nvml = NULL;
    nvml_forget_handles(d);
    worker_post(d->pool, LANE_SYSTEM, &j->job, d->step_ms);
}

void nvml_reset_start(struct nvml_driver *d, uint32_t slot, driver_done_fn fn, void *arg)
{
    struct nvml_reset *x = mem_zero(1, sizeof *x);
    x->d = d;
    x->call = nvml_call_new(d, arg);
    x->call->done_fn = fn;
    x->give_up_ms = loop_now_ms(d->loop) + d->step_ms;
    memcpy(x->uuid, d->slots[slot]->facts.gpu.uuid, sizeof x->uuid);
    x->reading = nvml_reading_now(d, d->readings_n);
    const struct driver_gpu *gpu = driver_reading_gpu(x->reading, x->uuid);
    x->gpus = gpu ? driver_reset_set(x->reading, gpu) : 0;
    split_command(x, d->reset_command);
    x->timer = loop_timer_new(d->loop, on_rest_poll, x);
    d->reset = x;
    dcgm_pause(d->dcgm); /* a read of it may outlast its measurement, and close_work's wait; until reset_ends */
    nvml_wait_stop(d);
    loop_timer_start(x->timer, 0, 0);
}

void nvml_reset_forget(struct nvml_driver *d)
{
    struct nvml_reset *x = d->reset;
    if (!x)
        return;
    d->reset = NULL;
    x->d = NULL;
    loop_timer_stop(x->timer);
    if (!x->running)
        reset_free(x);
    else {
        free(x->call); /* nobody waits any more */
        x->call = NULL;
    }
}
