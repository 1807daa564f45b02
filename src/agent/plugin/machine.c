/* machine.c - facts of the machine: device nodes, MIG capability minors, files of the driver */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/host/roots.h"
#include "agent/plugin/allocate.h"
#include "base/collections/map.h"

#define MINORS_MAX 4096 /* 64 GPUs with 8 x (1 + 7) instances are 3584 */
#define MINORS_BYTES (1u << 20)
#define FILES_MAX 512
#define NODES_MAX 64
#define PATH_BYTES 1024

struct cap_row { uint16_t gpu; int16_t gi, ci; int minor; }; /* ci -1: the GPU instance's own */
struct cap_table { uint32_t n; struct cap_row rows[]; };

/* ---- MIG capabilities. SOURCE NVIDIA's driver, /proc/driver/nvidia-caps/mig-minors ---- */

static int cap_minor(const struct machine *m, uint16_t gpu_minor, int gi, int ci)
{
    const struct cap_table *t = m->minors;
    for (uint32_t i = 0; t && i < t->n; i++)
        if (t->rows[i].gpu == gpu_minor && t->rows[i].gi == gi && t->rows[i].ci == (ci < 0 ? -1 : ci))
            return t->rows[i].minor;
    return -1;
}

/* "gpu0/gi1/access 12", "gpu0/gi1/ci0/access 13"; other lines are not about instances. */
static bool cap_line(const char *line, struct cap_row *ret_row)
{
    unsigned gpu, gi, ci, minor;
    int end = 0;
    if (sscanf(line, "gpu%5u/gi%5u/ci%5u/access %7u%n", &gpu, &gi, &ci, &minor, &end) == 4 && end) {
        *ret_row = (struct cap_row){(uint16_t)gpu, (int16_t)gi, (int16_t)ci, (int)minor};
        return gpu < 65535 && gi < 32767 && ci < 32767;
    }
    if (sscanf(line, "gpu%5u/gi%5u/access %7u%n", &gpu, &gi, &minor, &end) == 3 && end) {
        *ret_row = (struct cap_row){(uint16_t)gpu, (int16_t)gi, -1, (int)minor};
        return gpu < 65535 && gi < 32767;
    }
    return false;
}

static int read_minors(struct arena *a, const char *path, const void **ret_minors, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, errno, "open %s", path);
    while (n > 0 && text.n < MINORS_BYTES) {
        n = read(fd, buf_reserve(&text, 4096), 4096);
        if (n < 0)
            return err_errno(e, errno, "read %s", path);
        text.n += (size_t)n;
    }
    buf_char(&text, '\0');
    uint32_t lines_n = 1;
    for (size_t i = 0; i < text.n && lines_n < MINORS_MAX; i++)
        lines_n += text.data[i] == '\n';
    struct cap_table *t = arena_alloc(a, sizeof *t + lines_n * sizeof t->rows[0]);
    char *save = NULL;
    t->n = 0;
    for (char *line = strtok_r(text.data, "\n", &save); line && t->n < lines_n; line = strtok_r(NULL, "\n", &save))
        t->n += cap_line(line, &t->rows[t->n]);
    *ret_minors = t;
    return 0;
}

/* ---- device nodes ---- */

static bool there(const struct roots *r, const char *path)
{
    char full[PATH_BYTES];
    int n = snprintf(full, sizeof full, "%s%s", r->dev.here, path);
    return n > 0 && n < (int)sizeof full && access(full, F_OK) == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Entries of the directory that begin with one of the prefixes, sorted. */
static struct machine_paths nodes_in(struct arena *a, const struct roots *r, const char *directory, const char *const *prefixes)
{
    struct machine_paths list = {0};
    char full[PATH_BYTES];
    const char **paths = arena_zero(a, NODES_MAX, sizeof *paths);
    int n = snprintf(full, sizeof full, "%s%s", r->dev.here, directory);
    DIR *d = n > 0 && n < (int)sizeof full ? opendir(full) : NULL;
    for (const struct dirent *entry; d && list.n < NODES_MAX && (entry = readdir(d));)
        for (const char *const *p = prefixes; *p; p++)
            if (text_starts(entry->d_name, *p)) {
                paths[list.n++] = arena_printf(a, "%s/%s", directory, entry->d_name);
                break;
            }
    if (d)
        (void)closedir(d);
    qsort(paths, list.n, sizeof *paths, by_text);
    list.paths = paths;
    return list;
}

int machine_read(struct arena *a, const struct roots *r, struct machine *ret_machine, struct err *e)
{
    static const char *const gdrcopy[] = {"gdrdrv", NULL}, *const gds[] = {"nvidia-fs", NULL}, *const mofed[] = {"uverbs", "rdma_cm", NULL};
    struct machine m = {.dev_root = arena_text(a, r->dev.host), .driver_root = arena_text(a, r->driver.host), .cap_minor = cap_minor};
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/proc/driver/nvidia-caps/mig-minors", r->root) >= (int)sizeof path)
        return err_set(e, E_INVALID, "the root path is longer than %d bytes", PATH_BYTES);
    int failed = read_minors(a, path, &m.minors, e);
    if (failed < 0)
        return failed;
    m.has_ctl = there(r, "/dev/nvidiactl");
    m.has_uvm = there(r, "/dev/nvidia-uvm");
    m.has_uvm_tools = there(r, "/dev/nvidia-uvm-tools");
    m.has_modeset = there(r, "/dev/nvidia-modeset");
    m.has_imex_channel = there(r, "/dev/nvidia-caps-imex-channels/channel0");
    m.gdrcopy = nodes_in(a, r, "/dev", gdrcopy);
    m.gds = nodes_in(a, r, "/dev", gds);
    m.mofed = nodes_in(a, r, "/dev/infiniband", mofed);
    *ret_machine = m;
    return 0;
}

uint64_t machine_hash(const struct roots *r)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", "/dev/gdrdrv",
                                        "/dev/nvidia-caps-imex-channels/channel0", "/dev/nvidia-fs0", "/dev/infiniband/rdma_cm"};
    uint64_t h = hash_bytes(r->driver.here, strlen(r->driver.here), hash_bytes(r->dev.here, strlen(r->dev.here), 1));
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        h = h << 1 | h >> 63, h ^= there(r, nodes[i]);
    return h;
}

/* ---- files of the driver, for CDI ---- */

static const char *const library_directories[] = {"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
                                                  "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib", NULL};
/* SOURCE the files of driver packages 470 to 580. Those of one driver end in its version; links lead to them. */
static const char *const library_names[] = {
    "libcuda.so", "libcudadebugger.so", "libnvcuvid.so", "libnvidia-allocator.so", "libnvidia-cfg.so", "libnvidia-compiler.so",
    "libnvidia-encode.so", "libnvidia-gpucomp.so", "libnvidia-ml.so", "libnvidia-ngx.so", "libnvidia-nscq.so", "libnvidia-nvvm.so",
    "libnvidia-opencl.so", "libnvidia-opticalflow.so", "libnvidia-pkcs11.so", "libnvidia-pkcs11-openssl3.so",
    "libnvidia-ptxjitcompiler.so", "libnvidia-sandboxutils.so", "libnvoptix.so",
    /* graphics */
    "libEGL_nvidia.so", "libGLESv1_CM_nvidia.so", "libGLESv2_nvidia.so", "libGLX_nvidia.so", "libnvidia-eglcore.so",
    "libnvidia-fbc.so", "libnvidia-glcore.so", "libnvidia-glsi.so", "libnvidia-glvkspirv.so", "libnvidia-rtcore.so",
    "libnvidia-tls.so", NULL};
static const char *const program_paths[] = {"/usr/bin/nvidia-cuda-mps-control", "/usr/bin/nvidia-cuda-mps-server",
                                            "/usr/bin/nvidia-debugdump", "/usr/bin/nvidia-imex", "/usr/bin/nvidia-imex-ctl",
                                            "/usr/bin/nvidia-persistenced", "/usr/bin/nvidia-smi", NULL};
static const char *const other_paths[] = {"/etc/vulkan/icd.d/nvidia_icd.json", "/run/nvidia-fabricmanager/socket",
                                          "/run/nvidia-persistenced/socket", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
                                          "/usr/share/vulkan/icd.d/nvidia_icd.json", NULL};

struct driver_search {
    struct arena *arena;
    char root[PATH_BYTES / 2];
    struct machine_file *files;
    uint32_t n;
};

static bool is_library(const char *name)
{
    for (const char *const *l = library_names; *l; l++)
        if (text_starts(name, *l) && (name[strlen(*l)] == '\0' || name[strlen(*l)] == '.'))
            return true;
    return false;
}

/* Where the chain of links from `path` (under the driver root) ends; NULL: nowhere, or outside. */
static const char *follow(const struct driver_search *s, const char *path)
{
    char end[PATH_BYTES];
    return root_follow(s->root, path, end, sizeof end) ? arena_text(s->arena, end) : NULL;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct machine_file *)a)->path, ((const struct machine_file *)b)->path);
}

static void add_directory(struct driver_search *s, const char *directory)
{
    char full[PATH_BYTES];
    if (snprintf(full, sizeof full, "%s%s", s->root, directory) >= (int)sizeof full)
        return;
    DIR *d = opendir(full);
    for (const struct dirent *entry; d && s->n < FILES_MAX && (entry = readdir(d));) {
        if (!is_library(entry->d_name))
            continue;
        const char *path = arena_printf(s->arena, "%s/%s", directory, entry->d_name), *end = follow(s, path);
        if (end)
            s->files[s->n++] = (struct machine_file){path, text_equal(end, path) ? NULL : end};
    }
    if (d)
        (void)closedir(d);
}

/* Directories that are one and the same (/lib64 -> /usr/lib64) count once. */
static void add_libraries(struct driver_search *s)
{
    struct stat seen[8], st;
    char full[PATH_BYTES];
    uint32_t seen_n = 0;
    for (const char *const *d = library_directories; *d; d++) {
        bool again = false;
        if (snprintf(full, sizeof full, "%s%s", s->root, *d) >= (int)sizeof full || stat(full, &st) < 0)
            continue;
        for (uint32_t i = 0; i < seen_n; i++)
            again = again || (seen[i].st_dev == st.st_dev && seen[i].st_ino == st.st_ino);
        if (again)
            continue;
        seen[seen_n++] = st;
        add_directory(s, *d);
    }
    qsort(s->files, s->n, sizeof *s->files, by_path);
}

static const struct machine_file *existing(const struct driver_search *s, const char *const *paths, uint32_t *ret_n)
{
    struct machine_file *files = arena_zero(s->arena, 16, sizeof *files);
    char full[PATH_BYTES];
    *ret_n = 0;
    for (; *paths && *ret_n < 16; paths++)
        if (snprintf(full, sizeof full, "%s%s", s->root, *paths) < (int)sizeof full && access(full, F_OK) == 0)
            files[(*ret_n)++].path = *paths;
    return files;
}

void machine_read_driver(struct arena *a, const struct roots *r, const struct agent_config *c, struct machine *m)
{
    struct driver_search s = {.arena = a};
    (void)snprintf(s.root, sizeof s.root, "%s", r->driver.here);
    s.files = arena_zero(a, FILES_MAX, sizeof *s.files);
    add_libraries(&s);
    m->libraries = s.files;
    m->libraries_n = s.n;
    m->programs = existing(&s, program_paths, &m->programs_n);
    m->others = existing(&s, other_paths, &m->others_n);
    char hook[PATH_BYTES];
    m->has_hook = snprintf(hook, sizeof hook, "%s%s", r->root, c->cdi_hook_path) < (int)sizeof hook && access(hook, X_OK) == 0;
}
