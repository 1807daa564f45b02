/* device_nodes.c - see device_nodes.h */
#include "agent/host/device_nodes.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/file.h"
#include "base/memory.h"

#define PATH_BYTES 1024
#define TEXT_BYTES (64u << 10)
#define MODESET_MINOR 254
#define CONTROL_MINOR 255
#define CAPABILITY_MODE 0444

struct node_rules { /* of the driver that is loaded */
    bool hands_off;
    unsigned uid, gid, mode;
    int nvidia, modeset, uvm, caps; /* majors; -1: the driver has no such part */
};
struct maker {
    const struct roots *roots;
    struct node_rules rules;
    int made, result;
    struct err *e;
};

/* ---- what the driver says ---- */

/* The text of a file below the host's root; false: none. */
static bool proc_text(const struct roots *r, const char *path, struct buf *text)
{
    char full[PATH_BYTES];
    return snprintf(full, sizeof full, "%s%s", r->root, path) < (int)sizeof full && file_read(full, TEXT_BYTES, text, NULL) == 0;
}

/* "DeviceFileMode: 438" */
static unsigned param_of(const char *text, const char *name, unsigned otherwise)
{
    const char *at = strstr(text, name);
    unsigned value;
    return at && sscanf(at + strlen(name), ": %u", &value) == 1 ? value : otherwise;
}

/* "195 nvidia" */
static int major_of(const char *text, const char *name)
{
    char row[64];
    int number;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, " %d %63s", &number, row) == 2 && text_equal(row, name))
            return number;
    return -1;
}

static bool rules_read(const struct roots *r, struct node_rules *ret_rules)
{
    _cleanup_buf_ struct buf params = {0}, devices = {0};
    if (!proc_text(r, "/proc/driver/nvidia/params", &params) || !proc_text(r, "/proc/devices", &devices))
        return false;
    struct node_rules rules = {.hands_off = param_of(params.data, "ModifyDeviceFiles", 1) == 0,
                               .uid = param_of(params.data, "DeviceFileUID", 0),
                               .gid = param_of(params.data, "DeviceFileGID", 0),
                               .mode = param_of(params.data, "DeviceFileMode", 0666) & 0777};
    rules.nvidia = major_of(devices.data, "nvidia");
    if (rules.nvidia < 0)
        rules.nvidia = major_of(devices.data, "nvidia-frontend"); /* drivers before 520 */
    rules.modeset = major_of(devices.data, "nvidia-modeset");
    rules.uvm = major_of(devices.data, "nvidia-uvm");
    rules.caps = major_of(devices.data, "nvidia-caps");
    *ret_rules = rules;
    return !rules.hands_off;
}

/* ---- nodes ---- */

static int parent_make(const char *path)
{
    char parent[PATH_BYTES];
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    return mkdir(parent, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* True: nothing is to be done, or what was in the way is away. */
static bool is_right(const char *path, dev_t device, bool *ret_clear)
{
    struct stat st;
    *ret_clear = lstat(path, &st) < 0;
    if (*ret_clear)
        return false;
    if (!S_ISCHR(st.st_mode) || st.st_rdev == device)
        return true;
    *ret_clear = unlink(path) == 0;
    return false;
}

static void node_make(struct maker *m, const char *name, int major_number, int minor_number, unsigned mode)
{
    char path[PATH_BYTES];
    bool clear;
    if (major_number < 0 || minor_number < 0 || m->result < 0)
        return;
    dev_t device = makedev((unsigned)major_number, (unsigned)minor_number);
    if (snprintf(path, sizeof path, "%s/dev/%s", m->roots->dev.here, name) >= (int)sizeof path || is_right(path, device, &clear))
        return;
    if (!clear || parent_make(path) < 0 || (mknod(path, S_IFCHR | mode, device) < 0 && errno != EEXIST)) {
        m->result = err_errno(m->e, errno, "make device node %s", path);
        return;
    }
    if (chmod(path, mode) < 0 || chown(path, m->rules.uid, m->rules.gid) < 0) /* the umask took bits away */
        m->result = err_errno(m->e, errno, "set mode and owner of %s", path);
    m->made++;
}

static void gpu_node_make(struct maker *m, const char *bus)
{
    _cleanup_buf_ struct buf text = {0};
    char path[PATH_BYTES], name[32];
    if (snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", bus) >= (int)sizeof path ||
        !proc_text(m->roots, path, &text))
        return;
    unsigned minor_number = param_of(text.data, "Device Minor", CONTROL_MINOR);
    (void)snprintf(name, sizeof name, "nvidia%u", minor_number);
    if (minor_number < MODESET_MINOR)
        node_make(m, name, m->rules.nvidia, (int)minor_number, m->rules.mode);
}

int device_nodes_make(const struct roots *r, struct err *e)
{
    struct maker m = {.roots = r, .e = e};
    char path[PATH_BYTES];
    if (!rules_read(r, &m.rules) || snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", r->root) >= (int)sizeof path)
        return 0;
    node_make(&m, "nvidiactl", m.rules.nvidia, CONTROL_MINOR, m.rules.mode);
    node_make(&m, "nvidia-modeset", m.rules.modeset, MODESET_MINOR, m.rules.mode);
    node_make(&m, "nvidia-uvm", m.rules.uvm, 0, m.rules.mode);
    node_make(&m, "nvidia-uvm-tools", m.rules.uvm, 1, m.rules.mode);
    DIR *d = opendir(path);
    for (const struct dirent *entry; d && (entry = readdir(d));)
        if (entry->d_name[0] != '.')
            gpu_node_make(&m, entry->d_name);
    if (d)
        (void)closedir(d);
    return m.result < 0 ? m.result : m.made;
}

int device_nodes_make_capabilities(const struct roots *r, const int *minors, size_t n, struct err *e)
{
    struct maker m = {.roots = r, .e = e};
    if (n == 0 || !rules_read(r, &m.rules))
        return 0;
    m.rules.uid = m.rules.gid = 0;
    for (size_t i = 0; i < n; i++) {
        char name[48];
        (void)snprintf(name, sizeof name, "nvidia-caps/nvidia-cap%d", minors[i]);
        node_make(&m, name, m.rules.caps, minors[i], CAPABILITY_MODE);
    }
    return m.result < 0 ? m.result : m.made;
}
