/* nvsim.c - capstan nvsim: make a simulated GPU node, put work and faults on it, look at it */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "nvsim/nvsim.h"

static int fail(const char *verb, const struct err *e)
{
    fprintf(stderr, "capstan nvsim %s: %s\n", verb, e->text);
    return e->code == E_NOTFOUND ? EXIT_NOT_FOUND : e->code == E_LIMIT ? EXIT_NO_FIT : EXIT_FAILED;
}

/* ---- the node ---- */

static int node_open(const struct options *o, struct nvsim **ret_n, struct err *e)
{
    const char *path = option_text(o, OPT_NVSIM_STATE);
    if (!path || !*path)
        return err_set(e, E_INVALID, "which node? Give --state DIR or set NVSIM_STATE; 'capstan nvsim create' makes one");
    struct stat st;
    char inside[PATH_MAX];
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if ((size_t)snprintf(inside, sizeof inside, "%s/state", path) >= sizeof inside)
            return err_set(e, E_INVALID, "%s: the path is too long", path);
        path = inside;
    }
    return nvsim_open(path, ret_n, e);
}

/* Where libnvidia-ml.so.1 is: beside this program in a build folder, else where it is installed. False: ret_dir says where it was looked
 * for. */
static bool library_find(char ret_dir[2 * PATH_MAX])
{
    static const char *const places[] = {"libnvsim", "../" NVSIM_LIBRARY_DIR};
    char self[PATH_MAX], tried[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    char *slash = n > 0 ? (self[n] = '\0', strrchr(self, '/')) : NULL;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        (void)snprintf(tried, sizeof tried, "%.*s/%s/libnvidia-ml.so.1", (int)(slash - self), self, places[i]);
        if (access(tried, R_OK) != 0)
            continue;
        *strrchr(tried, '/') = '\0';
        char *dir = realpath(tried, NULL);
        (void)snprintf(ret_dir, 2 * PATH_MAX, "%s", dir ? dir : tried);
        free(dir);
        return true;
    }
    int dir_n = slash ? (int)(slash - self) : 0;
    (void)snprintf(ret_dir, 2 * PATH_MAX, "%.*s/%s/libnvidia-ml.so.1 nor %.*s/%s", dir_n, self, places[0], dir_n, self, places[1]);
    return false;
}

/* For a shell: single quotes, with those inside written as '\''. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (const char *at = text; *at; at++)
        if (*at == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*at);
    putchar('\'');
}

static void print_environment(const char *state, const char *library_dir)
{
    fputs("export NVSIM_STATE=", stdout);
    print_quoted(state);
    fputs("\nexport LD_LIBRARY_PATH=", stdout);
    print_quoted(library_dir);
    fputs("\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n", stdout);
}

/* "13.0" -> 13000 */
static bool cuda_parse(const char *text, uint32_t *ret_version)
{
    const char *dot = strchr(text, '.');
    int64_t major, minor;
    if (!dot || !bytes_int64((struct bytes){text, (size_t)(dot - text)}, &major) || !bytes_int64(bytes_of(dot + 1), &minor) ||
        major < 1 || major > 99 || minor < 0 || minor > 9)
        return false;
    *ret_version = (uint32_t)(major * 1000 + minor * 10);
    return true;
}

static int create(const struct options *o, int argc, char **argv)
{
    struct err e = {0};
    const char *model = option_text(o, OPT_NVSIM_MODEL), *cuda_version = option_text(o, OPT_NVSIM_CUDA_VERSION);
    struct nvsim_config c = {.seed_name = option_text(o, OPT_NVSIM_NODE),
                             .driver_version = option_text(o, OPT_NVSIM_DRIVER_VERSION),
                             .cuda_version = 13000};
    if (argc != 1)
        return options_wrong(o, "create: want one folder");
    if (!model)
        return options_wrong(o, "create: which GPUs? Give --model KEY");
    if (cuda_version && !cuda_parse(cuda_version, &c.cuda_version))
        return options_wrong(o, "create: --cuda-version: want a version such as 13.0");
    c.model = gpu_model_find(model);
    if (!c.model) {
        (void)err_set(&e, E_NOTFOUND, "model '%s' is not known; want one of %s", model, gpu_model_keys());
        return fail("create", &e);
    }
    c.gpus_n = (uint32_t)option_number(o, OPT_NVSIM_GPUS, 0);
    c.gpus_n = c.gpus_n ? c.gpus_n : c.model->node_gpus_n;
    char dir[PATH_MAX], library_dir[2 * PATH_MAX], path[2 * PATH_MAX + 32];
    if (nvsim_create(argv[0], &c, &e) < 0)
        return fail("create", &e);
    if (!realpath(argv[0], dir)) {
        (void)err_errno(&e, errno, "%s", argv[0]);
        return fail("create", &e);
    }
    (void)snprintf(path, sizeof path, "%s/state", dir);
    if (!library_find(library_dir)) {
        fprintf(stderr, "capstan nvsim create: the node is made, but its library is neither %s\n", library_dir);
        return EXIT_FAILED;
    }
    struct nvsim *n = NULL;
    print_environment(path, library_dir);
    (void)snprintf(path, sizeof path, "%s/state", dir);
    int r = nvsim_open(path, &n, &e);
    char cuda[2 * PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", library_dir);
    (void)snprintf(cuda, sizeof cuda, "%s/libcuda-nvsim.so", library_dir);
    if (r == 0)
        r = nvsim_install_driver(n, path, access(cuda, R_OK) == 0 ? cuda : NULL, &e);
    nvsim_close(n);
    return r < 0 ? fail("create", &e) : EXIT_OK;
}

/* ---- work, faults ---- */

/* UINT32_MAX: not given. */
static uint32_t number_or_none(const struct options *o, uint32_t id)
{
    return (uint32_t)option_number(o, id, UINT32_MAX);
}

static uint32_t permille(const struct options *o, uint32_t percent_id)
{
    return (uint32_t)option_number(o, percent_id, 0) * 10;
}

static struct nvsim_work work_of(const struct options *o, uint32_t gpu)
{
    int64_t for_ms = option_number(o, OPT_NVSIM_FOR, 0);
    struct nvsim_work w = {.gpu = gpu,
                           .gi = number_or_none(o, OPT_NVSIM_GI),
                           .ci = number_or_none(o, OPT_NVSIM_CI),
                           .pid = (uint32_t)option_number(o, OPT_NVSIM_PID, 0),
                           .follow_pid = option_flag(o, OPT_NVSIM_FOLLOW),
                           .memory_mib = (uint64_t)option_number(o, OPT_NVSIM_MEMORY, 0),
                           .sm_permille = permille(o, OPT_NVSIM_SM),
                           .memory_permille = permille(o, OPT_NVSIM_MEMORY_LOAD),
                           .encoder_permille = permille(o, OPT_NVSIM_ENCODER),
                           .decoder_permille = permille(o, OPT_NVSIM_DECODER),
                           .kind = (uint32_t)option_word(o, OPT_NVSIM_KIND), /* ORDER of the words: that of nvsim_work */
                           .end_ms = for_ms ? clock_wall_us() / 1000 + for_ms : 0};
    const char *name = option_text(o, OPT_NVSIM_NAME);
    (void)snprintf(w.name, sizeof w.name, "%s", name ? name : ""); /* a longer one is cut */
    return w;
}

static int start(const struct options *o, struct nvsim *n, uint32_t gpu, int argc, char **argv, struct err *e)
{
    struct nvsim_work work = work_of(o, gpu), *w = &work;
    if (!option_text(o, OPT_NVSIM_GPU))
        return options_wrong(o, "start: on which GPU? Give --gpu GPU");
    if ((w->gi == UINT32_MAX) != (w->ci == UINT32_MAX))
        return options_wrong(o, "start: a MIG device has both, --gi and --ci");
    if ((w->pid != 0) == (argc > 0))
        return options_wrong(o, "start: give either --pid PID or a command after --");
    if (argc > 0) { /* the command takes this process over, so that its pid is the work's */
        w->pid = (uint32_t)getpid();
        w->follow_pid = true;
    }
    if (!w->name[0])
        (void)snprintf(w->name, sizeof w->name, "%s", argc > 0 ? argv[0] : "python3");
    if (nvsim_work_start(n, w, e) < 0)
        return fail("start", e);
    if (argc == 0)
        return EXIT_OK;
    (void)execvp(argv[0], argv);
    (void)err_errno(e, errno, "%s", argv[0]);
    (void)nvsim_work_stop(n, w->pid, NULL); /* it would end with this process anyway */
    return fail("start", e);
}

static int stop(const struct options *o, struct nvsim *n, int argc, char **argv, struct err *e)
{
    int64_t pid;
    if (argc != 1 || !bytes_int64(bytes_of(argv[0]), &pid) || pid < 1 || pid > INT32_MAX)
        return options_wrong(o, "stop: want the pid of one work");
    return nvsim_work_stop(n, (uint32_t)pid, e) < 0 ? fail("stop", e) : EXIT_OK;
}

static int fault(const struct options *o, struct nvsim *n, uint32_t gpu, int argc, char **argv, struct err *e)
{
    if (argc < 1 || argc > 2)
        return options_wrong(o, "fault: want a kind and perhaps an argument");
    if (!option_text(o, OPT_NVSIM_GPU) && strcmp(argv[0], "driver") != 0 && strcmp(argv[0], "fabric-manager") != 0)
        return options_wrong(o, "fault: on which GPU? Give --gpu GPU");
    int gi = (int)option_number(o, OPT_NVSIM_GI, -1), ci = (int)option_number(o, OPT_NVSIM_CI, -1);
    int r = nvsim_fault(n, gpu, gi, ci, argv[0], argc > 1 ? argv[1] : "", e);
    return r < 0 ? fail("fault", e) : EXIT_OK;
}

static const char *number_text(uint32_t number, char ret_text[80])
{
    (void)snprintf(ret_text, 80, "%u", number);
    return ret_text;
}

/* "0,GPU-...": those in one command; none named: all. */
static int reset(const struct options *o, struct nvsim *n, struct err *e)
{
    uint32_t gpus = 0, index = 0;
    const char *named = option_text(o, OPT_NVSIM_GPU);
    char name[80];
    for (const char *at = named ? named : ""; *at;) {
        size_t length = strcspn(at, ",");
        (void)snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, at);
        if (nvsim_find_gpu(n, name, &index, e) < 0)
            return fail("reset", e);
        gpus |= 1u << index;
        at += length + (at[length] == ',');
    }
    for (uint32_t i = 0; !named && nvsim_find_gpu(n, number_text(i, name), &index, NULL) == 0; i++)
        gpus |= 1u << i;
    return nvsim_reset_all(n, gpus, e) < 0 ? fail("reset", e) : EXIT_OK;
}

/* ---- list ---- */

static const struct output_column columns[] = {
    {"gpu", "GPU", true, false},           {"uuid", "UUID", false, false},       {"busId", "BUS", false, true},
    {"sm", "SM%", true, false},            {"memory", "MEMORY", false, false},   {"power", "POWER", false, false},
    {"temperature", "TEMP", true, false},  {"clock", "CLOCK", true, true},       {"mig", "MIG", false, false},
    {"instances", "GI/CI", false, true},   {"processes", "PROCESSES", true, false}, {"faults", "FAULTS", false, false},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

static const char *joined(struct arena *a, const struct json *list, const char *key)
{
    const char *text = "";
    JSON_EACH (item, list)
        text = arena_printf(a, "%s%s%s", text, *text ? "," : "", key ? json_get_text(item, key, "") : json_text(item, ""));
    return *text ? text : NULL;
}

static const char *instances(struct arena *a, const struct json *devices)
{
    const char *text = "";
    JSON_EACH (device, devices)
        text = arena_printf(a, "%s%s%lld/%lld", text, *text ? "," : "", (long long)json_get_int64(device, "gpuInstance", 0),
                            (long long)json_get_int64(device, "computeInstance", 0));
    return *text ? text : NULL;
}

static void gpu_row(struct output_table *t, struct arena *a, const struct json *gpu)
{
    const struct json *mig = json_get(gpu, "mig");
    const char *devices = joined(a, json_get(mig, "devices"), "profile");
    int64_t processes_n = 0;
    JSON_EACH (process, json_get(gpu, "processes"))
        processes_n++;
    const char *cells[COLUMNS_N] = {
        arena_printf(a, "%lld", (long long)json_get_int64(gpu, "index", 0)),
        json_get_text(gpu, "uuid", ""),
        json_get_text(gpu, "busId", ""),
        arena_printf(a, "%lld", (long long)(json_get_int64(gpu, "smPermille", 0) + 5) / 10),
        arena_printf(a, "%lld/%lld MiB", (long long)json_get_int64(gpu, "memoryUsedMiB", 0),
                     (long long)json_get_int64(gpu, "memoryTotalMiB", 0)),
        arena_printf(a, "%lld W", (long long)(json_get_int64(gpu, "powerMilliwatts", 0) + 500) / 1000),
        json_bytes(json_get(gpu, "temperatureC")).data,
        arena_printf(a, "%lld", (long long)json_get_int64(gpu, "clockMHz", 0)),
        devices ? devices : json_get_bool(mig, "mode", false) ? "on" : NULL,
        instances(a, json_get(mig, "devices")),
        arena_printf(a, "%lld", (long long)processes_n),
        joined(a, json_get(gpu, "faults"), NULL)};
    output_row(t, cells);
}

static int list(const struct options *o, struct nvsim *n, struct err *e)
{
    _cleanup_buf_ struct buf b;
    _cleanup_arena_ struct arena *a = arena_new();
    buf_init(&b);
    nvsim_list(n, &b);
    const struct json *node = json_parse(a, buf_view(&b), NULL, e);
    if (!node || json_get(node, "error")) {
        if (node)
            (void)err_set(e, E_AGAIN, "%s", json_get_text(node, "error", ""));
        return fail("list", e);
    }
    enum output_format format = output_format_of(o);
    if (format == OUTPUT_JSON || format == OUTPUT_YAML) {
        output_json(node, format);
        return EXIT_OK;
    }
    struct output_table t;
    output_init(&t, a, columns, COLUMNS_N);
    JSON_EACH (gpu, json_get(node, "gpus"))
        gpu_row(&t, a, gpu);
    output_print(&t, format);
    output_fini(&t);
    return EXIT_OK;
}

/* What is known to be wrong before the node is looked at; NULL nothing. */
static const char *misused(const char *verb, int argc)
{
    if (text_equal(verb, "list"))
        return argc > 0 ? "list: takes no argument" : NULL;
    if (text_equal(verb, "reset"))
        return argc > 0 ? "reset: takes no argument; --gpu GPU names the GPU, without it all are reset" : NULL;
    return NULL;
}

static int on_node(const struct options *o, const char *verb, struct nvsim *n, struct err *e)
{
    int argc = o->arguments_n - 1;
    char **argv = o->arguments + 1;
    const char *name = option_text(o, OPT_NVSIM_GPU);
    uint32_t gpu = 0;
    if (name && strcmp(verb, "reset") != 0 && nvsim_find_gpu(n, name, &gpu, e) < 0)
        return fail(verb, e);
    return strcmp(verb, "start") == 0   ? start(o, n, gpu, argc, argv, e)
           : strcmp(verb, "stop") == 0  ? stop(o, n, argc, argv, e)
           : strcmp(verb, "fault") == 0 ? fault(o, n, gpu, argc, argv, e)
           : strcmp(verb, "reset") == 0 ? reset(o, n, e)
                                        : list(o, n, e);
}

int nvsim_main(const struct options *o)
{
    const char *verb = o->arguments[0], *wrong;
    if (strcmp(verb, "create") == 0)
        return create(o, o->arguments_n - 1, o->arguments + 1);
    if ((wrong = misused(verb, o->arguments_n - 1)))
        return options_wrong(o, "%s", wrong);
    struct err e = {0};
    struct nvsim *n = NULL;
    if (node_open(o, &n, &e) < 0)
        return fail(verb, &e);
    int code = on_node(o, verb, n, &e);
    nvsim_close(n);
    return code;
}
