/* cdi.c - CDI specifications: what a runtime adds to a container for each device, without NVIDIA's toolkit where that is missing
 *
 * With the hook program (nvidia-ctk or nvidia-cdi-hook) links of libraries are made and the container's loader cache is updated by hooks.
 * Without it, or with that hook disabled, every link is mounted as a file of its own, and LD_LIBRARY_PATH names the directories.
 * SOURCE CDI specification 0.5.0 (hostPath of nodes, names that begin with a digit); names and nodes as NVIDIA's container toolkit has
 *        them.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/plugin/allocate.h"
#include "base/file.h"
#include "wire/json.h"

#define CDI_VERSION "0.5.0"

const char *const cdi_classes[] = {"gpu", "imex-channel", "gdrcopy", "gds", "mofed", NULL};

struct spec_maker {
    struct arena *arena;
    const struct agent_config *config;
    const struct machine *machine;
    const char *version; /* of the driver; "" unknown */
};

static const struct machine_paths *class_nodes(const struct machine *m, const char *class)
{
    if (text_equal(class, "gdrcopy"))
        return &m->gdrcopy;
    return text_equal(class, "gds") ? &m->gds : &m->mofed;
}

bool cdi_class_offered(const struct agent_config *c, const struct machine *m, const char *class)
{
    if (!(c->device_list_strategies & (DEVICE_LIST_CDI_ANNOTATIONS | DEVICE_LIST_CDI_CRI)))
        return false;
    if (text_equal(class, "gpu"))
        return true;
    if (text_equal(class, "imex-channel"))
        return c->imex_channel_zero && m->has_imex_channel;
    bool on = text_equal(class, "gdrcopy") ? c->gdrcopy : text_equal(class, "gds") ? c->gds : c->mofed;
    return on && class_nodes(m, class)->n;
}

static const char *host_path(struct spec_maker *m, const char *root, const char *path)
{
    return !root || !*root || text_equal(root, "/") ? path : arena_printf(m->arena, "%s%s", root, path);
}

static void add_node(struct spec_maker *m, struct json *edits, const char *path)
{
    struct json *node = json_new(m->arena, JSON_OBJECT);
    const char *host = host_path(m, m->machine->dev_root, path);
    json_set_text(m->arena, node, "path", path);
    if (host != path)
        json_set_text(m->arena, node, "hostPath", host);
    json_append(json_ensure_array(m->arena, edits, "deviceNodes"), node);
}

static void add_mount(struct spec_maker *m, struct json *edits, const char *host, const char *container)
{
    static const char *const options[] = {"ro", "nosuid", "nodev", "rbind", "rprivate"};
    struct json *mount = json_new(m->arena, JSON_OBJECT);
    json_set_text(m->arena, mount, "hostPath", host);
    json_set_text(m->arena, mount, "containerPath", container);
    struct json *list = json_ensure_array(m->arena, mount, "options");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        json_append(list, json_new_text(m->arena, options[i]));
    json_append(json_ensure_array(m->arena, edits, "mounts"), mount);
}

static void add_driver_file(struct spec_maker *m, struct json *edits, const char *file, const char *container)
{
    add_mount(m, edits, host_path(m, m->machine->driver_root, file), container);
}

static bool has_hook(const struct spec_maker *m, enum cdi_hook hook)
{
    return m->machine->has_hook && !(m->config->cdi_hooks_off & (hook | CDI_HOOK_ALL));
}

/* args of "nvidia-ctk hook NAME" or "nvidia-cdi-hook NAME". */
static struct json *add_hook(struct spec_maker *m, struct json *edits, const char *name)
{
    const char *path = m->config->cdi_hook_path, *program = strrchr(path, '/') + 1;
    struct json *hook = json_new(m->arena, JSON_OBJECT);
    json_set_text(m->arena, hook, "hookName", "createContainer");
    json_set_text(m->arena, hook, "path", path);
    struct json *args = json_ensure_array(m->arena, hook, "args");
    json_append(args, json_new_text(m->arena, program));
    if (text_equal(program, "nvidia-ctk"))
        json_append(args, json_new_text(m->arena, "hook"));
    json_append(args, json_new_text(m->arena, name));
    json_append(json_ensure_array(m->arena, edits, "hooks"), hook);
    return args;
}

static void add_option(struct spec_maker *m, struct json *args, const char *option, const char *value)
{
    json_append(args, json_new_text(m->arena, option));
    json_append(args, json_new_text(m->arena, value));
}

/* ---- libraries ---- */

/* Of this driver, not of one that was left behind. */
static bool of_driver(struct spec_maker *m, const struct machine_file *f)
{
    const char *file = f->target ? f->target : f->path;
    return !*m->version || text_ends(file, arena_printf(m->arena, ".%s", m->version));
}

static const char *directory_of(struct spec_maker *m, const char *path)
{
    return arena_text_n(m->arena, path, (size_t)(strrchr(path, '/') - path));
}

/* The directories of the libraries that are mounted, each once. */
static uint32_t library_directories(struct spec_maker *m, const char **ret_list, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->machine->libraries_n; i++) {
        const char *directory = directory_of(m, m->machine->libraries[i].path);
        bool seen = !of_driver(m, &m->machine->libraries[i]);
        for (uint32_t k = 0; k < n && !seen; k++)
            seen = text_equal(ret_list[k], directory);
        if (!seen && n < max)
            ret_list[n++] = directory;
    }
    return n;
}

static void add_libraries(struct spec_maker *m, struct json *edits)
{
    const struct machine *machine = m->machine;
    struct json *links = NULL;
    for (uint32_t i = 0; i < machine->libraries_n; i++) {
        const struct machine_file *f = &machine->libraries[i];
        if (!of_driver(m, f))
            continue;
        if (!f->target || !has_hook(m, CDI_HOOK_CREATE_SYMLINKS))
            add_driver_file(m, edits, f->target ? f->target : f->path, f->path);
        else {
            links = links ? links : add_hook(m, edits, "create-symlinks");
            add_option(m, links, "--link", arena_printf(m->arena, "%s::%s", strrchr(f->target, '/') + 1, f->path));
        }
    }
    const char *directories[8];
    uint32_t n = library_directories(m, directories, 8);
    if (!n)
        return;
    if (has_hook(m, CDI_HOOK_UPDATE_LDCACHE)) {
        struct json *args = add_hook(m, edits, "update-ldcache");
        for (uint32_t i = 0; i < n; i++)
            add_option(m, args, "--folder", directories[i]);
        return;
    }
    /* What CUDA images set themselves comes first, so that nothing of theirs is lost. */
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, ":%s", directories[i]);
    json_append(json_ensure_array(m->arena, edits, "env"), json_new_text_n(m->arena, buf_view(&text)));
}

/* ---- specifications ---- */

static struct json *add_named(struct spec_maker *m, struct json *spec, const char *name)
{
    struct json *device = json_new(m->arena, JSON_OBJECT);
    json_set_text(m->arena, device, "name", name);
    json_append(json_ensure_array(m->arena, spec, "devices"), device);
    return json_ensure_object(m->arena, device, "containerEdits");
}

static void add_common(struct spec_maker *m, struct json *spec)
{
    const struct machine *machine = m->machine;
    struct json *edits = json_ensure_object(m->arena, spec, "containerEdits");
    /* The runtime's own injection must not happen beside this one. */
    json_append(json_ensure_array(m->arena, edits, "env"), json_new_text(m->arena, "NVIDIA_VISIBLE_DEVICES=void"));
    if (machine->has_ctl)
        add_node(m, edits, "/dev/nvidiactl");
    if (machine->has_uvm)
        add_node(m, edits, "/dev/nvidia-uvm");
    if (machine->has_uvm_tools)
        add_node(m, edits, "/dev/nvidia-uvm-tools");
    if (machine->has_modeset)
        add_node(m, edits, "/dev/nvidia-modeset");
    add_libraries(m, edits);
    for (uint32_t i = 0; i < machine->programs_n; i++)
        add_driver_file(m, edits, machine->programs[i].path, machine->programs[i].path);
    for (uint32_t i = 0; i < machine->others_n; i++)
        add_driver_file(m, edits, machine->others[i].path, machine->others[i].path);
}

static void add_unit(struct spec_maker *m, struct json *spec, const struct inventory_snapshot *s, const struct unit *u)
{
    int gi = 0, ci = 0;
    if (resource_gpu_skipped(u->gpu))
        return;
    if (u->mig) {
        gi = m->machine->cap_minor ? m->machine->cap_minor(m->machine, u->gpu->minor, u->mig->gi, -1) : -1;
        ci = m->machine->cap_minor ? m->machine->cap_minor(m->machine, u->gpu->minor, u->mig->gi, u->mig->ci) : -1;
        if (gi < 0 || ci < 0)
            return;
    }
    const char *name = m->config->device_id_strategy == DEVICE_ID_INDEX ? resource_unit_index(m->arena, u) : u->uuid;
    struct json *edits = add_named(m, spec, name);
    add_node(m, edits, arena_printf(m->arena, "/dev/nvidia%u", u->gpu->minor));
    if (u->mig) {
        add_node(m, edits, arena_printf(m->arena, "/dev/nvidia-caps/nvidia-cap%d", gi));
        add_node(m, edits, arena_printf(m->arena, "/dev/nvidia-caps/nvidia-cap%d", ci));
    }
}

static void add_extra(struct spec_maker *m, struct json *spec, const char *class)
{
    if (text_equal(class, "imex-channel")) {
        add_node(m, add_named(m, spec, "0"), "/dev/nvidia-caps-imex-channels/channel0");
        return;
    }
    struct json *edits = add_named(m, spec, "all");
    const struct machine_paths *nodes = class_nodes(m->machine, class);
    for (uint32_t i = 0; i < nodes->n; i++)
        add_node(m, edits, nodes->paths[i]);
    if (text_equal(class, "gds"))
        add_mount(m, edits, "/run/udev", "/run/udev");
}

void cdi_class_make(struct arena *a, const char *class, const struct inventory_snapshot *s, const struct agent_config *c,
                    const struct machine *machine, struct buf *out)
{
    struct spec_maker m = {.arena = a, .config = c, .machine = machine, .version = s->reading ? s->reading->driver_version : ""};
    struct json *spec = json_new(a, JSON_OBJECT);
    json_set_text(a, spec, "cdiVersion", CDI_VERSION);
    json_set_text(a, spec, "kind", arena_printf(a, CDI_VENDOR "/%s", class));
    (void)json_ensure_array(a, spec, "devices");
    if (text_equal(class, "gpu")) {
        for (uint32_t i = 0; i < s->units_n; i++)
            add_unit(&m, spec, s, &s->units[i]);
        add_common(&m, spec);
    } else
        add_extra(&m, spec, class);
    if (!json_first(json_get(spec, "devices"))) /* CDI has no specification without devices */
        return;
    json_write_pretty(out, spec);
    buf_char(out, '\n');
}

/* ---- files ---- */

static bool same_content(const char *path, struct bytes spec)
{
    _cleanup_buf_ struct buf old = {0};
    return file_read(path, spec.n, &old, NULL) == 0 && bytes_equal(buf_view(&old), spec);
}

static int class_write(const char *dir, const char *class, struct bytes spec, struct err *e)
{
    char path[1024];
    if (snprintf(path, sizeof path, "%s/" CDI_VENDOR "-%s.json", dir, class) >= (int)sizeof path)
        return err_set(e, E_INVALID, "the CDI directory's path is too long");
    if (!spec.n) {
        if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
            return err_errno(e, errno, "remove %s", path);
        return 0;
    }
    if (same_content(path, spec))
        return 0;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return err_errno(e, errno, "create %s", dir);
    return file_replace(path, spec, 0644, e); /* CDI readers take .json and .yaml only, not what is written beside */
}

int cdi_publish(struct arena *a, const char *dir, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                struct err *e)
{
    int result = 0;
    for (const char *const *class = cdi_classes; *class; class++) {
        _cleanup_buf_ struct buf spec = {0};
        if (cdi_class_offered(c, m, *class))
            cdi_class_make(a, *class, s, c, m, &spec);
        int failed = class_write(dir, *class, buf_view(&spec), e);
        result = failed < 0 ? failed : result;
    }
    return result;
}
