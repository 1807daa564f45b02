/* doctor_host.c - capstan doctor --node: what the agent finds on this machine, and what it lacks */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/driver/nvml.h"
#include "agent/host/roots.h"
#include "base/file.h"
#include "cli/doctor/doctor.h"

enum { VERSION_BYTES = 96 };

static const char *at_root(struct doctor *d, const char *root, const char *path)
{
    return arena_printf(d->a, "%s%s", root, path);
}

/* ---- driver ---- */

static void module_look(struct doctor *d, const char *root)
{
    const char *path = at_root(d, root, "/proc/driver/nvidia/version");
    _cleanup_buf_ struct buf text = {0};
    struct err e = {0};
    if (file_read(path, 64 << 10, &text, &e) < 0) {
        doctor_say(d, DOCTOR_FAULT, "kernel module", "install NVIDIA's driver, or load it: modprobe nvidia",
                   "no NVIDIA driver is loaded: no %s", path);
        return;
    }
    const char *version = strstr(text.data, "Kernel Module"); /* "... Kernel Module  580.95.05  Tue ..." */
    version = version ? strpbrk(version, "0123456789") : NULL;
    doctor_say(d, DOCTOR_OK, "kernel module", NULL, "%.*s", version ? (int)strcspn(version, " \n") : 7, version ? version : "unknown");
}

static void library_look(struct doctor *d, const struct roots *roots)
{
    struct nvml *n = NULL;
    struct err e = {0};
    unsigned gpus_n = 0;
    char version[VERSION_BYTES] = "?";
    int r = nvml_open(NULL, roots->driver.here, &n, &e);
    if (r < 0) {
        doctor_say(d, DOCTOR_FAULT, "libnvidia-ml.so.1",
                   r == -E_CONFLICT ? "restart the node, so that the module of the new driver is loaded"
                                    : "install NVIDIA's driver; elsewhere than /: --root",
                   "%s", e.text);
        nvml_unref(n);
        return;
    }
    int code = n->count ? n->count(&gpus_n) : -1;
    if (n->driver_version)
        (void)n->driver_version(version, sizeof version);
    if (code != 0)
        doctor_say(d, DOCTOR_FAULT, "libnvidia-ml.so.1", "nvidia-smi, dmesg | grep -i nvrm", "%s does not count its GPUs (NVML error %d)",
                   n->path, code);
    else if (gpus_n == 0)
        doctor_say(d, DOCTOR_FAULT, "GPUs", "lspci -d 10de: shows which the machine has", "driver %s finds none", version);
    else
        doctor_say(d, DOCTOR_OK, "GPUs", NULL, "%u, driver %s, %s", gpus_n, version, n->path);
    nvml_unref(n);
}

static void device_nodes_look(struct doctor *d, const struct roots *roots)
{
    static const char *const names[] = {"nvidiactl", "nvidia-uvm", "nvidia0"};
    const char *missing = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (access(arena_printf(d->a, "%s/dev/%s", roots->dev.here, names[i]), F_OK) != 0)
            missing = arena_printf(d->a, "%s%s/dev/%s", missing ? missing : "", missing ? ", " : "", names[i]);
    if (missing)
        doctor_say(d, DOCTOR_NOTE, "device nodes", "the agent makes them as root where the driver is loaded; else nvidia-modprobe -u -c=0",
                   "not there: %s", missing);
    else
        doctor_say(d, DOCTOR_OK, "device nodes", NULL, "%s/dev/nvidia*", roots->dev.here);
}

/* ---- kubelet, cgroups ---- */

static void socket_look(struct doctor *d, const char *root, const char *path, const char *about, const char *todo)
{
    struct stat s;
    const char *full = at_root(d, root, path);
    if (stat(full, &s) != 0 || !S_ISSOCK(s.st_mode))
        doctor_say(d, DOCTOR_FAULT, about, todo, "no socket %s", full);
    else if (access(full, R_OK | W_OK) != 0)
        doctor_say(d, DOCTOR_FAULT, about, "be root", "%s may not be used by this user", full);
    else
        doctor_say(d, DOCTOR_OK, about, NULL, "%s", full);
}

/* Sockets of other device plugins for the same GPUs. */
static void plugins_look(struct doctor *d, const char *root)
{
    const char *path = at_root(d, root, "/var/lib/kubelet/device-plugins");
    DIR *dir = opendir(path);
    if (!dir)
        return; /* said of kubelet.sock */
    for (struct dirent *entry; (entry = readdir(dir));)
        if (text_starts(entry->d_name, "nvidia-"))
            doctor_say(d, DOCTOR_FAULT, "device plugins",
                       "remove it where the agent is to hand out the GPUs (GPU operator: devicePlugin.enabled=false)",
                       "NVIDIA's device plugin has its socket here: %s/%s", path, entry->d_name);
    (void)closedir(dir);
}

static void cgroups_look(struct doctor *d, const char *root)
{
    if (access(at_root(d, root, "/sys/fs/cgroup/cgroup.controllers"), F_OK) == 0)
        doctor_say(d, DOCTOR_OK, "cgroups", NULL, "version 2");
    else if (access(at_root(d, root, "/sys/fs/cgroup/memory"), F_OK) == 0)
        doctor_say(d, DOCTOR_NOTE, "cgroups", "systemd.unified_cgroup_hierarchy=1 on the kernel's command line",
                   "version 1, which Kubernetes no longer develops");
    else
        doctor_say(d, DOCTOR_UNKNOWN, "cgroups", NULL, "nothing is mounted at %s", at_root(d, root, "/sys/fs/cgroup"));
}

void doctor_host(struct doctor *d, const char *root)
{
    struct roots roots;
    root = text_equal(root, "/") ? "" : root;
    roots_find(&(struct roots_options){.root = root}, &roots);
    module_look(d, root);
    library_look(d, &roots);
    device_nodes_look(d, &roots);
    socket_look(d, root, "/var/lib/kubelet/device-plugins/kubelet.sock", "kubelet",
                "see whether a kubelet runs here: systemctl status kubelet");
    socket_look(d, root, "/var/lib/kubelet/pod-resources/kubelet.sock", "pod resources",
                "see whether a kubelet runs here; it serves this since Kubernetes 1.28 by itself");
    plugins_look(d, root);
    cgroups_look(d, root);
}
