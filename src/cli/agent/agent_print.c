/* agent_print.c - see agent_print.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/agent/agent_print.h"
#include "agent/driver/driver_nvml.h"
#include "agent/node/labels.h"
#include "base/clock.h"

#define READ_TIMEOUT_MS 30000

static int read_text(const char *path, struct buf *out, struct err *e);

/* Options, environment and the file say where the driver is. A ConfigMap comes too late for that; what is wrong with any of it is said by
 * the agent when it takes the config. */
static void driver_place(const struct agent_command *c, struct agent_config *ret_config)
{
    _cleanup_buf_ struct buf text = {0}, warnings = {0};
    agent_config_default(ret_config);
    if (c->options.config_file && read_text(c->options.config_file, &text, NULL) < 0)
        text.n = 0;
    if (agent_config_parse(c->arena, buf_view(&text), c->settings, c->settings_n, ret_config, &warnings, NULL) < 0)
        (void)agent_config_parse(c->arena, BYTES(""), c->settings, c->settings_n, ret_config, &warnings, NULL);
}

struct driver *agent_command_driver(const struct agent_command *c, struct loop *l)
{
    struct agent_config config;
    char sys_root[512];
    driver_place(c, &config);
    (void)snprintf(sys_root, sizeof sys_root, "%s/sys", c->options.root ? c->options.root : "");
    struct driver_nvml_options o = {.nvml_path = c->nvml_path,
                                    .sys_root = c->options.root && c->options.root[0] ? sys_root : NULL,
                                    .root = c->options.root,
                                    .driver_root = config.driver_root,
                                    .driver_here = config.container_driver_root,
                                    .validations = c->options.validations_dir,
                                    .reset_command = c->reset_command,
                                    .dcgm = agent_exporter_dcgm(&c->exporter)};
    return driver_nvml_new_with(l, &o);
}

static int fail(const struct err *e, int code)
{
    fprintf(stderr, "capstan agent: %s\n", e->text);
    return code;
}

static int read_text(const char *path, struct buf *out, struct err *e)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "open %s", path);
    ssize_t n = 1;
    while (n > 0 && out->n < (4u << 20)) {
        n = read(fd, buf_reserve(out, 8192), 8192);
        if (n > 0)
            out->n += (size_t)n;
    }
    buf_text(out, "");
    return n < 0 ? err_errno(e, errno, "read %s", path) : 0;
}

/* ---- --print ---- */

struct look {
    struct loop *loop;
    struct inventory *inventory;
    bool done;
    struct err error;
};

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct look *k = arg;
    k->done = true;
    if (code < 0)
        k->error = *e;
    else
        inventory_set_reading(k->inventory, r);
    loop_stop(k->loop);
}

static struct json *json_of_devices(struct arena *a, const struct inventory_snapshot *s)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_int64(a, one, "gpu", u->gpu->index);
        json_set_text(a, one, "uuid", u->uuid);
        json_set_text(a, one, "product", u->gpu->name);
        if (u->mig)
            json_set_text(a, one, "profile", u->mig->profile);
        json_set_int64(a, one, "memoryMiB", u->mig ? u->mig->memory_mib : u->gpu->memory_mib);
        json_set_text(a, one, "busId", u->gpu->bus_id);
        if (u->gpu->numa_node >= 0)
            json_set_int64(a, one, "numaNode", u->gpu->numa_node);
        json_set_text(a, one, "health", unit_health_name(u->health));
        json_append(list, one);
    }
    return list;
}

static struct json *json_of_resources(struct arena *a, const struct resource_table *t)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < t->resources_n; i++) {
        const struct resource *r = &t->resources[i];
        struct json *one = json_new(a, JSON_OBJECT), *slots = json_new(a, JSON_ARRAY);
        json_set_text(a, one, "name", r->name);
        for (uint32_t k = 0; k < r->slots_n; k++)
            json_append(slots, json_new_text(a, r->slots[k].id));
        json_set(a, one, "slots", slots);
        resource_closed_json(a, r, one);
        json_append(list, one);
    }
    return list;
}

static void print_devices(struct arena *a, const struct inventory_snapshot *s)
{
    static const struct output_column columns[] = {{"gpu", "GPU", true, false},
                                                   {"uuid", "UUID", false, false},
                                                   {"product", "PRODUCT", false, false},
                                                   {"profile", "MIG", false, false},
                                                   {"memoryMiB", "MEMORY", true, false},
                                                   {"health", "HEALTH", false, false}};
    struct output_table t;
    output_init(&t, a, columns, 6);
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        const char *const cells[] = {arena_printf(a, "%u", u->gpu->index),
                                     u->uuid,
                                     u->gpu->name,
                                     u->mig ? u->mig->profile : NULL,
                                     arena_printf(a, "%uMiB", u->mig ? u->mig->memory_mib : u->gpu->memory_mib),
                                     unit_health_name(u->health)};
        output_row(&t, cells);
    }
    output_print(&t, OUTPUT_TABLE);
    output_fini(&t);
}

static void print_resources(struct arena *a, const struct resource_table *table)
{
    static const struct output_column columns[] = {{"name", "RESOURCE", false, false},
                                                   {"slots", "SLOTS", true, false},
                                                   {"open", "OPEN", true, false},
                                                   {"closed", "CLOSED", false, false}};
    struct output_table t;
    output_init(&t, a, columns, 4);
    for (uint32_t i = 0; i < table->resources_n; i++) {
        const struct resource *r = &table->resources[i];
        struct buf closed = {0};
        slots_closed_text(r->slots, r->slots_n, &closed);
        const char *const cells[] = {r->name, arena_printf(a, "%u", r->slots_n),
                                     arena_printf(a, "%u", slots_open(r->slots, r->slots_n)),
                                     closed.n ? arena_text(a, closed.data) : NULL};
        buf_free(&closed);
        output_row(&t, cells);
    }
    output_print(&t, OUTPUT_TABLE);
    output_fini(&t);
}

static void print_labels(struct arena *a, const struct label_pair *labels, uint32_t n)
{
    static const struct output_column columns[] = {{"name", "LABEL", false, false}, {"value", "VALUE", false, false}};
    struct output_table t;
    output_init(&t, a, columns, 2);
    for (uint32_t i = 0; i < n; i++) {
        const char *const cells[] = {labels[i].name, labels[i].value};
        output_row(&t, cells);
    }
    output_print(&t, OUTPUT_TABLE);
    output_fini(&t);
}

static int print_node(const struct agent_command *c, const struct inventory_snapshot *s, const struct agent_config *config)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct resource_table t = {0};
    struct label_pair *labels = NULL;
    uint32_t labels_n = 0;
    struct buf warnings = {0};
    struct label_facts facts = label_facts_read(a, c->options.root, config, clock_wall_us() / 1000000);
    struct err e = {0};
    int r = resource_table_make(a, s, config, &t, &warnings, &e);
    if (r == 0)
        labels_make(a, s, config, &t, &facts, &labels, &labels_n, &warnings);
    if (warnings.n)
        fprintf(stderr, "%s", warnings.data);
    buf_free(&warnings);
    if (r < 0)
        return fail(&e, EXIT_FAILED);
    if (c->format == OUTPUT_TABLE) {
        print_devices(a, s);
        putchar('\n');
        print_resources(a, &t);
        putchar('\n');
        print_labels(a, labels, labels_n);
        return EXIT_OK;
    }
    struct json *v = json_new(a, JSON_OBJECT), *names = json_new(a, JSON_OBJECT);
    json_set_text(a, v, "node", c->options.node_name);
    json_set_text(a, v, "driver", s->reading->driver_version);
    json_set_text(a, v, "cuda", arena_printf(a, "%u.%u", s->reading->cuda_version / 1000, s->reading->cuda_version % 1000 / 10));
    json_set(a, v, "devices", json_of_devices(a, s));
    json_set(a, v, "resources", json_of_resources(a, &t));
    for (uint32_t i = 0; i < labels_n; i++)
        json_set_text(a, names, labels[i].name, labels[i].value);
    json_set(a, v, "labels", names);
    output_json(v, c->format);
    return EXIT_OK;
}

int agent_print(const struct agent_command *c)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct agent_config config;
    struct buf text = {0}, warnings = {0};
    struct err e = {0};
    int r = c->options.config_file ? read_text(c->options.config_file, &text, &e) : 0;
    if (r == 0)
        r = agent_config_parse(a, buf_view(&text), c->settings, c->settings_n, &config, &warnings, &e);
    if (warnings.n)
        fprintf(stderr, "%s", warnings.data);
    buf_free(&warnings);
    buf_free(&text);
    if (r < 0)
        return fail(&e, EXIT_USAGE);
    struct look k = {.loop = loop_new()};
    struct driver *d = agent_command_driver(c, k.loop);
    int code = EXIT_OK;
    (void)inventory_open(k.loop, NULL, &k.inventory, NULL); /* nothing is opened that could fail */
    driver_read(d, on_reading, &k);
    (void)loop_run_for(k.loop, READ_TIMEOUT_MS, NULL);
    if (!k.done)
        err_set(&k.error, E_AGAIN, "the driver did not answer within %d s", READ_TIMEOUT_MS / 1000);
    if (k.error.code)
        code = fail(&k.error, EXIT_FAILED);
    else
        code = print_node(c, inventory_now(k.inventory), &config);
    driver_free(d);
    inventory_close(k.inventory);
    loop_free(k.loop);
    return code;
}

/* ---- --status ---- */

int agent_print_status(const struct agent_command *c)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf text = {0};
    struct err e = {0};
    const char *path = arena_printf(a, "%s/status.json", c->options.state_dir);
    if (read_text(path, &text, &e) < 0) {
        buf_free(&text);
        fprintf(stderr, "capstan agent: no agent has run with --state-dir %s: %s\n", c->options.state_dir, e.text);
        return EXIT_NOT_FOUND;
    }
    struct json *v = json_parse(a, buf_view(&text), NULL, &e);
    buf_free(&text);
    if (!v)
        return fail(&e, EXIT_FAILED);
    int64_t pid = json_get_int64(v, "pid", 0);
    bool alive = pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
    json_set_bool(a, v, "running", alive);
    output_json(v, c->format == OUTPUT_TABLE ? OUTPUT_YAML : c->format);
    return alive && json_get_bool(v, "ready", false) ? EXIT_OK : EXIT_FAILED;
}
