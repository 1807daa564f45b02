/* nvsim.c - capstan nvsim: make a simulated GPU node, put work and faults on it, look at it */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "nvsim/nvsim.h"

static const char help[] =
    "Usage: capstan nvsim create DIR --model KEY [--gpus N] [--node NAME] [--driver-version V] [--cuda-version N.N]\n"
    "       capstan nvsim start --gpu GPU [--gi N --ci N] [--pid PID [--follow]] [--memory MIB] [--sm PERCENT] [--for TIME]\n"
    "                           [--memory-load PERCENT] [--encoder PERCENT] [--decoder PERCENT] [--kind compute|graphics|mps]\n"
    "                           [--name TEXT] [-- COMMAND...]\n"
    "       capstan nvsim stop PID\n"
    "       capstan nvsim fault --gpu GPU [--gi N [--ci N]] KIND [ARGUMENT]\n"
    "       capstan nvsim reset [--gpu GPU[,GPU]...]\n"
    "       capstan nvsim list [--output FORMAT]\n"
    "A GPU node without GPUs: programs that load libnvidia-ml.so.1 see the GPUs of DIR, and the work and faults that are put on them.\n"
    "\n"
    "      --state PATH        DIR or DIR/state of the node (default: $NVSIM_STATE)\n"
    "      --model KEY         GPU model; a wrong one prints which there are\n"
    "      --gpus N            GPUs of the node (default: as it is usually sold)\n"
    "      --gpu GPU           index, UUID or bus id of a GPU\n"
    "      --pid PID           pid of the work; need not exist, unless --follow: then the work ends with the process\n"
    "      --for TIME          the work ends after this time, as in 30s or 5m\n"
    "  -o, --output FORMAT     table, wide, json, yaml or csv\n"
    "  -h, --help              this text\n"
    "\n"
    "Kinds of faults: xid N; ecc single|double|sram; lost; off-bus; hang SECONDS; slow MS;\n"
    "  throttle thermal|software-thermal|power|brake|off; row-remap pending|failure|corrected; nvlink LINK; fabric; pcie-replay;\n"
    "  driver ok|mismatch|not-loaded; fabric-manager on|off; back\n"
    "\n"
    "Example: eval \"$(capstan nvsim create /tmp/node --model a100-40gb --gpus 2)\"\n"
    "         capstan nvsim start --gpu 0 --pid 4711 --memory 20000 --sm 90 --for 10m\n"
    "         capstan nvsim fault --gpu 1 xid 79\n"
    "         capstan nvsim list\n";

struct options {
    const char *state, *model, *node, *driver_version, *cuda_version;
    uint32_t gpus_n;
    const char *gpu; /* index, UUID or bus id; NULL: none given */
    int64_t gi, ci;
    struct nvsim_work work;
    int64_t for_ms;
    struct connect_options common;
};

enum { O_STATE = 2000, O_MODEL, O_GPUS, O_NODE, O_DRIVER, O_CUDA, O_GPU, O_GI, O_CI, O_PID, O_FOLLOW, O_MEMORY, O_SM, O_MEMORY_LOAD,
       O_ENCODER, O_DECODER, O_KIND, O_NAME, O_FOR };

static const struct option long_options[] = {{"state", required_argument, NULL, O_STATE},
                                             {"model", required_argument, NULL, O_MODEL},
                                             {"gpus", required_argument, NULL, O_GPUS},
                                             {"node", required_argument, NULL, O_NODE},
                                             {"driver-version", required_argument, NULL, O_DRIVER},
                                             {"cuda-version", required_argument, NULL, O_CUDA},
                                             {"gpu", required_argument, NULL, O_GPU},
                                             {"gi", required_argument, NULL, O_GI},
                                             {"ci", required_argument, NULL, O_CI},
                                             {"pid", required_argument, NULL, O_PID},
                                             {"follow", no_argument, NULL, O_FOLLOW},
                                             {"memory", required_argument, NULL, O_MEMORY},
                                             {"sm", required_argument, NULL, O_SM},
                                             {"memory-load", required_argument, NULL, O_MEMORY_LOAD},
                                             {"encoder", required_argument, NULL, O_ENCODER},
                                             {"decoder", required_argument, NULL, O_DECODER},
                                             {"kind", required_argument, NULL, O_KIND},
                                             {"name", required_argument, NULL, O_NAME},
                                             {"for", required_argument, NULL, O_FOR},
                                             {"output", required_argument, NULL, 'o'},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

static int fail(const char *verb, const struct err *e)
{
    fprintf(stderr, "capstan nvsim %s: %s\n", verb, e->text);
    return e->code == E_NOTFOUND ? EXIT_NOT_FOUND : e->code == E_LIMIT ? EXIT_NO_FIT : EXIT_FAILED;
}

static int usage(const char *why)
{
    fprintf(stderr, "capstan nvsim: %s\nTry 'capstan nvsim --help'.\n", why);
    return EXIT_USAGE;
}

/* ---- options ---- */

static bool number_parse(const char *name, const char *text, int64_t max, int64_t *ret)
{
    if (bytes_int64(bytes_of(text), ret) && *ret >= 0 && *ret <= max)
        return true;
    fprintf(stderr, "capstan nvsim: --%s '%s': want a number from 0 to %lld\n", name, text, (long long)max);
    return false;
}

static bool percent_parse(const char *name, const char *text, uint32_t *ret_permille)
{
    int64_t percent;
    if (!number_parse(name, text, 100, &percent))
        return false;
    *ret_permille = (uint32_t)percent * 10;
    return true;
}

static bool kind_parse(const char *text, uint32_t *ret_kind)
{
    static const char *const kinds[] = {"compute", "graphics", "mps"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(text, kinds[i]) == 0) {
            *ret_kind = i;
            return true;
        }
    fprintf(stderr, "capstan nvsim: --kind '%s': want compute, graphics or mps\n", text);
    return false;
}

static bool work_option(struct options *o, int option, const char *value)
{
    int64_t v = 0;
    struct nvsim_work *w = &o->work;
    switch (option) {
    case O_PID:
        if (!number_parse("pid", value, INT32_MAX, &v))
            return false;
        w->pid = (uint32_t)v;
        return true;
    case O_FOLLOW:
        return w->follow_pid = true;
    case O_MEMORY:
        if (!number_parse("memory", value, 1 << 24, &v))
            return false;
        w->memory_mib = (uint64_t)v;
        return true;
    case O_SM:
        return percent_parse("sm", value, &w->sm_permille);
    case O_MEMORY_LOAD:
        return percent_parse("memory-load", value, &w->memory_permille);
    case O_ENCODER:
        return percent_parse("encoder", value, &w->encoder_permille);
    case O_DECODER:
        return percent_parse("decoder", value, &w->decoder_permille);
    case O_KIND:
        return kind_parse(value, &w->kind);
    case O_NAME:
        (void)snprintf(w->name, sizeof w->name, "%s", value); /* a longer one is cut */
        return true;
    case O_FOR:
        if (duration_parse(bytes_of(value), &o->for_ms) && o->for_ms > 0)
            return true;
        fprintf(stderr, "capstan nvsim: --for '%s': want a time such as 30s or 5m\n", value);
        return false;
    default:
        return false;
    }
}

static bool node_option(struct options *o, int option, const char *value)
{
    int64_t v = 0;
    switch (option) {
    case O_STATE:
        o->state = value;
        return true;
    case O_MODEL:
        o->model = value;
        return true;
    case O_NODE:
        o->node = value;
        return true;
    case O_DRIVER:
        o->driver_version = value;
        return true;
    case O_CUDA:
        o->cuda_version = value;
        return true;
    case O_GPUS:
        if (!number_parse("gpus", value, NVSIM_GPUS_MAX, &v))
            return false;
        o->gpus_n = (uint32_t)v;
        return true;
    case O_GPU:
        o->gpu = value;
        return true;
    case O_GI:
        return number_parse("gi", value, 255, &o->gi);
    case O_CI:
        return number_parse("ci", value, 255, &o->ci);
    default:
        return option >= O_PID ? work_option(o, option, value) : connect_option(&o->common, option, value) == 1;
    }
}

/* ---- the node ---- */

static int node_open(const struct options *o, struct nvsim **ret_n, struct err *e)
{
    const char *path = o->state ? o->state : getenv("NVSIM_STATE");
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
    char self[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    char *slash = n > 0 ? (self[n] = '\0', strrchr(self, '/')) : NULL;
    if (slash) {
        (void)snprintf(slash, 32, "/libnvsim/libnvidia-ml.so.1");
        if (access(self, R_OK) == 0) {
            (void)snprintf(ret_dir, PATH_MAX, "%.*s/libnvsim", (int)(slash - self), self);
            return true;
        }
    }
    bool found = access(NVSIM_LIBRARY_DIR "/libnvidia-ml.so.1", R_OK) == 0;
    (void)snprintf(ret_dir, 2 * PATH_MAX, found ? "%s" : "%s/libnvidia-ml.so.1 nor %s", NVSIM_LIBRARY_DIR,
                   slash ? self : "beside the program");
    return found;
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
    struct nvsim_config c = {.seed_name = o->node ? o->node : "node-1",
                             .driver_version = o->driver_version ? o->driver_version : "580.95.05",
                             .cuda_version = 13000};
    if (argc != 1)
        return usage("create: want one folder");
    if (!o->model)
        return usage("create: which GPUs? Give --model KEY");
    if (o->cuda_version && !cuda_parse(o->cuda_version, &c.cuda_version))
        return usage("create: --cuda-version: want a version such as 13.0");
    c.model = gpu_model_find(o->model);
    if (!c.model) {
        (void)err_set(&e, E_NOTFOUND, "model '%s' is not known; want one of %s", o->model, gpu_model_keys());
        return fail("create", &e);
    }
    c.gpus_n = o->gpus_n ? o->gpus_n : c.model->node_gpus_n;
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

static int start(struct options *o, struct nvsim *n, int argc, char **argv, struct err *e)
{
    struct nvsim_work *w = &o->work;
    if (!o->gpu)
        return usage("start: on which GPU? Give --gpu GPU");
    if ((o->gi >= 0) != (o->ci >= 0))
        return usage("start: a MIG device has both, --gi and --ci");
    if ((w->pid != 0) == (argc > 0))
        return usage("start: give either --pid PID or a command after --");
    if (argc > 0) { /* the command takes this process over, so that its pid is the work's */
        w->pid = (uint32_t)getpid();
        w->follow_pid = true;
    }
    w->gi = o->gi < 0 ? UINT32_MAX : (uint32_t)o->gi;
    w->ci = o->ci < 0 ? UINT32_MAX : (uint32_t)o->ci;
    w->end_ms = o->for_ms ? clock_wall_us() / 1000 + o->for_ms : 0;
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

static int stop(struct nvsim *n, int argc, char **argv, struct err *e)
{
    int64_t pid;
    if (argc != 1 || !bytes_int64(bytes_of(argv[0]), &pid) || pid < 1 || pid > INT32_MAX)
        return usage("stop: want the pid of one work");
    return nvsim_work_stop(n, (uint32_t)pid, e) < 0 ? fail("stop", e) : EXIT_OK;
}

static int fault(const struct options *o, struct nvsim *n, int argc, char **argv, struct err *e)
{
    if (argc < 1 || argc > 2)
        return usage("fault: want a kind and perhaps an argument");
    if (!o->gpu && strcmp(argv[0], "driver") != 0 && strcmp(argv[0], "fabric-manager") != 0)
        return usage("fault: on which GPU? Give --gpu GPU");
    int r = nvsim_fault(n, o->work.gpu, (int)o->gi, (int)o->ci, argv[0], argc > 1 ? argv[1] : "", e);
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
    char name[80];
    for (const char *at = o->gpu ? o->gpu : ""; *at;) {
        size_t length = strcspn(at, ",");
        (void)snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, at);
        if (nvsim_find_gpu(n, name, &index, e) < 0)
            return fail("reset", e);
        gpus |= 1u << index;
        at += length + (at[length] == ',');
    }
    for (uint32_t i = 0; !o->gpu && nvsim_find_gpu(n, number_text(i, name), &index, NULL) == 0; i++)
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
    if (o->common.output == OUTPUT_JSON || o->common.output == OUTPUT_YAML) {
        output_json(node, o->common.output);
        return EXIT_OK;
    }
    struct output_table t;
    output_init(&t, a, columns, COLUMNS_N);
    JSON_EACH (gpu, json_get(node, "gpus"))
        gpu_row(&t, a, gpu);
    output_print(&t, o->common.output);
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
    if (text_equal(verb, "start") || text_equal(verb, "stop") || text_equal(verb, "fault"))
        return NULL;
    return "want create, start, stop, fault, reset or list first";
}

int nvsim_main(int argc, char **argv)
{
    struct options o = {.gi = -1, .ci = -1, .common = {.output = OUTPUT_TABLE}};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return EXIT_OK;
    }
    if (argc < 2 || argv[1][0] == '-')
        return usage("want create, start, stop, fault, reset or list first");
    const char *verb = argv[1];
    argc--, argv++;
    for (int c; (c = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return EXIT_OK;
        }
        if (c == '?' || !node_option(&o, c, optarg))
            return usage("see above");
    }
    argc -= optind, argv += optind;
    if (strcmp(verb, "create") == 0)
        return create(&o, argc, argv);
    const char *wrong = misused(verb, argc);
    if (wrong)
        return usage(wrong);
    struct err e = {0};
    struct nvsim *n = NULL;
    if (node_open(&o, &n, &e) < 0)
        return fail(verb, &e);
    if (o.gpu && strcmp(verb, "reset") != 0 && nvsim_find_gpu(n, o.gpu, &o.work.gpu, &e) < 0) {
        nvsim_close(n);
        return fail(verb, &e);
    }
    int code = strcmp(verb, "start") == 0   ? start(&o, n, argc, argv, &e)
               : strcmp(verb, "stop") == 0  ? stop(n, argc, argv, &e)
               : strcmp(verb, "fault") == 0 ? fault(&o, n, argc, argv, &e)
               : strcmp(verb, "reset") == 0 ? reset(&o, n, &e)
                                            : list(&o, n, &e);
    nvsim_close(n);
    return code;
}
