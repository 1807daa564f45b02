/* companion.c - what a GPU driver leaves in /dev, /proc and /sys, under DIR/root
 *
 *     dev/nvidia0.. nvidiactl nvidia-uvm nvidia-uvm-tools nvidia-modeset nvidia-caps/nvidia-capN
 *     proc/devices proc/modules proc/driver/nvidia/{version,params,gpus/BUS/information,capabilities/...}
 *     proc/driver/nvidia-caps/mig-minors
 *     sys/bus/pci/devices/BUS/... sys/bus/pci/drivers/nvidia sys/devices/system/node sys/class/dmi/id/product_name
 *     sys/module/nvidia/version
 *
 * Device nodes are real nodes when root makes them and the place allows it, else empty files.
 * SOURCE a host with NVIDIA's driver. mig-minors lists every id that could exist: 2 for the node, then for each of 32 GPUs 15 GPU instances
 *        of one minor and 8 compute instances each, which ends at 4322.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/memory.h"
#include "nvsim/state.h"

#define PATH_BYTES 512
#define NVIDIA_MAJOR 195
#define CAPS_MAJOR 234
#define UVM_MAJOR 510
enum { MINOR_CONFIG = 1, MINOR_MONITOR = 2, MINOR_FIRST = 3, MIG_GPUS = 32, MIG_GIS = 15, MIG_CIS = 8 };

uint32_t nvsim_mig_minor(uint32_t gpu, uint32_t gi, uint32_t ci)
{
    uint32_t of_gi = MINOR_FIRST + (gpu * MIG_GIS + gi) * (1 + MIG_CIS);
    return ci == NVSIM_NONE ? of_gi : of_gi + 1 + ci;
}

/* ---- writing under the root ---- */

struct tree { /* the first error is kept, later calls do nothing */
    const char *root;
    struct err *e;
    int result;
    char path[PATH_BYTES]; /* the last one that `at` made */
};

/* A path under the root, until the next call; NULL when nothing is to be done any more. */
static const char *__attribute__((format(printf, 2, 3))) at(struct tree *t, const char *format, ...)
{
    if (t->result < 0)
        return NULL;
    va_list args;
    va_start(args, format);
    int n = snprintf(t->path, sizeof t->path, "%s/", t->root);
    if (n < (int)sizeof t->path)
        n += vsnprintf(t->path + n, sizeof t->path - (size_t)n, format, args);
    va_end(args);
    if (n < (int)sizeof t->path)
        return t->path;
    t->result = err_set(t->e, E_INVALID, "%s: the path is too long for the companion files", t->root);
    return NULL;
}

static void parents_make(const char *path)
{
    char part[PATH_BYTES];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(part, path, (size_t)(slash - path));
        part[slash - path] = '\0';
        (void)mkdir(part, 0755); /* there already, or opening the file says what is wrong */
    }
}

static void file_write(struct tree *t, const char *path, struct bytes content)
{
    if (!path)
        return;
    parents_make(path);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, content.data, content.n) != (ssize_t)content.n)
        t->result = err_errno(t->e, errno, "write %s", path);
}

static void text_write(struct tree *t, const char *path, const char *text)
{
    file_write(t, path, bytes_of(text));
}

static void node_make(struct tree *t, const char *path, uint32_t major_number, uint32_t minor_number)
{
    if (!path)
        return;
    parents_make(path);
    if (mknod(path, S_IFCHR | 0666, makedev(major_number, minor_number)) == 0 || errno == EEXIST) {
        (void)chmod(path, 0666); /* the umask took bits away */
        return;
    }
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        t->result = err_errno(t->e, errno, "create %s", path);
}

static void capability_node_make(struct tree *t, uint32_t minor_number)
{
    node_make(t, at(t, "dev/nvidia-caps/nvidia-cap%u", minor_number), CAPS_MAJOR, minor_number);
}

static void link_make(struct tree *t, const char *path, const char *target)
{
    if (!path)
        return;
    parents_make(path);
    if (symlink(target, path) < 0 && errno != EEXIST)
        t->result = err_errno(t->e, errno, "link %s", path);
}

/* ---- /dev and /proc ---- */

static void dev_make(const struct nvsim *n, struct tree *t)
{
    for (uint32_t i = 0; i < n->gpus_n; i++)
        node_make(t, at(t, "dev/nvidia%u", i), NVIDIA_MAJOR, i);
    node_make(t, at(t, "dev/nvidia-modeset"), NVIDIA_MAJOR, 254);
    node_make(t, at(t, "dev/nvidiactl"), NVIDIA_MAJOR, 255);
    node_make(t, at(t, "dev/nvidia-uvm"), UVM_MAJOR, 0);
    node_make(t, at(t, "dev/nvidia-uvm-tools"), UVM_MAJOR, 1);
    if (n->model->mig_slices) {
        capability_node_make(t, MINOR_CONFIG);
        capability_node_make(t, MINOR_MONITOR);
    }
}

static void capability_write(struct tree *t, uint32_t minor_number, const char *path)
{
    char text[80];
    (void)snprintf(text, sizeof text, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor_number);
    text_write(t, at(t, "proc/driver/nvidia/capabilities/%s", path), text);
}

static void mig_minors_write(struct tree *t)
{
    _cleanup_buf_ struct buf b;
    buf_init(&b);
    buf_printf(&b, "config %d\nmonitor %d\n", MINOR_CONFIG, MINOR_MONITOR);
    for (uint32_t gpu = 0; gpu < MIG_GPUS; gpu++)
        for (uint32_t gi = 0; gi < MIG_GIS; gi++) {
            buf_printf(&b, "gpu%u/gi%u/access %u\n", gpu, gi, nvsim_mig_minor(gpu, gi, NVSIM_NONE));
            for (uint32_t ci = 0; ci < MIG_CIS; ci++)
                buf_printf(&b, "gpu%u/gi%u/ci%u/access %u\n", gpu, gi, ci, nvsim_mig_minor(gpu, gi, ci));
        }
    file_write(t, at(t, "proc/driver/nvidia-caps/mig-minors"), buf_view(&b));
    capability_write(t, MINOR_CONFIG, "mig/config");
    capability_write(t, MINOR_MONITOR, "mig/monitor");
}

static void bus_text(const struct nvsim_gpu *g, char ret_text[16])
{
    (void)snprintf(ret_text, 16, "%04x:%02x:00.0", g->domain & 0xffff, g->bus & 0xff);
}

static void proc_make(const struct nvsim *n, struct tree *t)
{
    char text[1024], bus[16];
    (void)snprintf(text, sizeof text,
                   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (simulated by capstan)\nGCC version:  none\n",
                   n->state->driver_version);
    text_write(t, at(t, "proc/driver/nvidia/version"), text);
    text_write(t, at(t, "proc/driver/nvidia/params"),
               "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
               "RegistryDwords: \"\"\nRegistryDwordsPerDevice: \"\"\nExcludedGpus: \"\"\n");
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        const struct nvsim_gpu *g = nvsim_gpu_current(n, i);
        bus_text(g, bus);
        (void)snprintf(text, sizeof text,
                       "Model: \t\t %s\nIRQ:   \t\t %u\nGPU UUID: \t %s\nVideo BIOS: \t 00.00.00.00.00\nBus Type: \t PCIe\n"
                       "DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t %s\nDevice Minor: \t %u\n"
                       "GPU Firmware: \t %s\nGPU Excluded:\t No\n",
                       n->model->name, 200 + i, g->uuid, bus, g->minor, n->state->driver_version);
        text_write(t, at(t, "proc/driver/nvidia/gpus/%s/information", bus), text);
    }
    (void)snprintf(text, sizeof text,
                   "Character devices:\n  1 mem\n  5 /dev/tty\n%d nvidia\n%d nvidia-modeset\n%d nvidiactl\n%d nvidia-caps\n"
                   "%d nvidia-uvm\n\nBlock devices:\n",
                   NVIDIA_MAJOR, NVIDIA_MAJOR, NVIDIA_MAJOR, CAPS_MAJOR, UVM_MAJOR);
    text_write(t, at(t, "proc/devices"), text);
    text_write(t, at(t, "proc/modules"),
               "nvidia_uvm 1540096 0 - Live 0x0000000000000000 (POE)\nnvidia_modeset 1507328 0 - Live 0x0000000000000000 (POE)\n"
               "nvidia 8675328 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n");
    if (n->model->mig_slices)
        mig_minors_write(t);
}

/* ---- /sys ---- */

static void cpu_list(const struct nvsim *n, int32_t numa_node, char ret_text[32])
{
    uint32_t first, cpus_n;
    nvsim_numa_cpus(n->model, numa_node, &first, &cpus_n);
    (void)snprintf(ret_text, 32, "%u-%u\n", first, first + cpus_n - 1);
}

/* The first 64 bytes of PCI configuration space: ids, command with memory and bus master on, class, subsystem. Little endian. */
static void config_write(struct tree *t, const char *device, const struct gpu_model *m)
{
    uint8_t c[256] = {0};
    const uint16_t words[] = {(uint16_t)m->pci_device_id, (uint16_t)(m->pci_device_id >> 16), 0x0006, 0x0010};
    for (size_t i = 0; i < 4; i++) {
        c[2 * i] = (uint8_t)words[i];
        c[2 * i + 1] = (uint8_t)(words[i] >> 8);
    }
    c[0x08] = 0xa1;
    c[0x0a] = m->display_class ? 0x00 : 0x02;
    c[0x0b] = 0x03;
    for (int i = 0; i < 4; i++)
        c[0x2c + i] = (uint8_t)(m->pci_subsystem_id >> 8 * i);
    file_write(t, at(t, "sys/bus/pci/devices/%s/config", device), (struct bytes){(const char *)c, sizeof c});
}

static void pci_text(struct tree *t, const char *device, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_write(t, at(t, "sys/bus/pci/devices/%s/%s", device, name), text);
}

static void pci_make(const struct nvsim *n, struct tree *t, uint32_t gpu)
{
    static const char *const speeds[] = {"2.5", "2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
    const struct gpu_model *m = n->model;
    const struct nvsim_gpu *g = nvsim_gpu_current(n, gpu);
    const char *speed = speeds[m->pcie_generation < 7 ? m->pcie_generation : 6];
    char device[16], cpus[32], link[80];
    bus_text(g, device);
    cpu_list(n, g->numa_node, cpus);
    pci_text(t, device, "vendor", "0x%04x\n", m->pci_device_id & 0xffff);
    pci_text(t, device, "device", "0x%04x\n", m->pci_device_id >> 16);
    pci_text(t, device, "subsystem_vendor", "0x%04x\n", m->pci_subsystem_id & 0xffff);
    pci_text(t, device, "subsystem_device", "0x%04x\n", m->pci_subsystem_id >> 16);
    pci_text(t, device, "class", "0x03%02x00\n", m->display_class ? 0 : 2);
    pci_text(t, device, "revision", "0xa1\n");
    pci_text(t, device, "numa_node", "%d\n", g->numa_node);
    pci_text(t, device, "local_cpulist", "%s", cpus);
    pci_text(t, device, "max_link_speed", "%s GT/s PCIe\n", speed);
    pci_text(t, device, "current_link_speed", "%s GT/s PCIe\n", speed);
    pci_text(t, device, "max_link_width", "%u\n", m->pcie_width);
    pci_text(t, device, "current_link_width", "%u\n", m->pcie_width);
    pci_text(t, device, "enable", "1\n");
    pci_text(t, device, "resource", "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n");
    config_write(t, device, m);
    link_make(t, at(t, "sys/bus/pci/devices/%s/driver", device), "../../drivers/nvidia");
    (void)snprintf(link, sizeof link, "../../devices/%s", device);
    link_make(t, at(t, "sys/bus/pci/drivers/nvidia/%s", device), link);
}

static void sys_make(const struct nvsim *n, struct tree *t)
{
    char text[64];
    for (uint32_t i = 0; i < n->gpus_n; i++)
        pci_make(n, t, i);
    for (int32_t node = 0; node < (n->gpus_n > 1 ? 2 : 1); node++) {
        cpu_list(n, node, text);
        text_write(t, at(t, "sys/devices/system/node/node%d/cpulist", node), text);
    }
    text_write(t, at(t, "sys/devices/system/node/online"), n->gpus_n > 1 ? "0-1\n" : "0\n");
    (void)snprintf(text, sizeof text, "Simulated %s\n", n->model->key);
    text_write(t, at(t, "sys/class/dmi/id/product_name"), text);
    (void)snprintf(text, sizeof text, "%s\n", n->state->driver_version);
    text_write(t, at(t, "sys/module/nvidia/version"), text);
}

int nvsim_companion_create(const struct nvsim *n, struct err *e)
{
    struct tree t = {.root = n->root, .e = e};
    if (!*n->root)
        return err_set(e, E_INVALID, "the node's folder has too long a path for its companion files");
    dev_make(n, &t);
    proc_make(n, &t);
    sys_make(n, &t);
    return t.result;
}

/* ---- what changes later ---- */

static void remove_one(const char *path)
{
    if (path && unlink(path) < 0)
        (void)rmdir(path); /* best effort: a folder, or not there */
}

static void compute_sync(struct tree *t, uint32_t gpu, uint32_t gi, uint32_t ci, bool there)
{
    uint32_t minor_number = nvsim_mig_minor(gpu, gi, ci);
    char path[64];
    (void)snprintf(path, sizeof path, "gpu%u/mig/gi%u/ci%u/access", gpu, gi, ci);
    if (there) {
        capability_write(t, minor_number, path);
        capability_node_make(t, minor_number);
        return;
    }
    remove_one(at(t, "dev/nvidia-caps/nvidia-cap%u", minor_number));
    remove_one(at(t, "proc/driver/nvidia/capabilities/%s", path));
    remove_one(at(t, "proc/driver/nvidia/capabilities/gpu%u/mig/gi%u/ci%u", gpu, gi, ci));
}

static void instance_sync(struct tree *t, uint32_t gpu, uint32_t gi, struct mig_state *mig)
{
    const struct mig_instance *instance = mig_find_instance(mig, (uint8_t)gi);
    uint32_t minor_number = nvsim_mig_minor(gpu, gi, NVSIM_NONE);
    char path[64];
    for (uint32_t ci = 0; ci < MIG_CIS; ci++)
        compute_sync(t, gpu, gi, ci, instance && mig_find_compute(mig, (uint8_t)gi, (uint8_t)ci));
    (void)snprintf(path, sizeof path, "gpu%u/mig/gi%u/access", gpu, gi);
    if (instance) {
        capability_write(t, minor_number, path);
        capability_node_make(t, minor_number);
        return;
    }
    remove_one(at(t, "dev/nvidia-caps/nvidia-cap%u", minor_number));
    remove_one(at(t, "proc/driver/nvidia/capabilities/%s", path));
    remove_one(at(t, "proc/driver/nvidia/capabilities/gpu%u/mig/gi%u", gpu, gi));
}

void nvsim_companion_mig(const struct nvsim *n, uint32_t gpu, uint32_t gi, const struct mig_state *mig)
{
    struct mig_state copy = *mig;
    if (!*n->root)
        return;
    for (uint32_t i = 0; i < MIG_GIS; i++) {
        struct tree t = {.root = n->root}; /* another user's files: the layout itself counts, not its files */
        if (gi == NVSIM_NONE || gi == i)
            instance_sync(&t, gpu, i, &copy);
    }
}

void nvsim_companion_presence(const struct nvsim *n, uint32_t gpu, bool present)
{
    static const char *const names[] = {"vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision", "numa_node",
                                        "local_cpulist", "max_link_speed", "current_link_speed", "max_link_width",
                                        "current_link_width", "enable", "resource", "config", "driver", ""};
    struct tree t = {.root = n->root};
    char device[16];
    if (!*n->root)
        return;
    if (present) {
        pci_make(n, &t, gpu);
        return;
    }
    bus_text(nvsim_gpu_current(n, gpu), device);
    remove_one(at(&t, "sys/bus/pci/drivers/nvidia/%s", device));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove_one(at(&t, "sys/bus/pci/devices/%s/%s", device, names[i]));
}
