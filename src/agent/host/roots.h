/* roots.h - where the host has its driver and its device nodes: by the host's name, and by ours
 *
 * WHY    in a container /usr and /dev are the container's own. What this process opens goes by its own name for a place; what a kubelet or
 *        a container runtime is told goes by the host's. Drivers come late and at other places (the GPU operator runs them in a container,
 *        below /run/nvidia/driver): the answer is looked up anew each time.
 * SHAPE  paths without a slash at their end; "" is "/".
 */
#ifndef AGENT_ROOTS_H
#define AGENT_ROOTS_H
#include <stdbool.h>
#include <stddef.h>

#define ROOT_BYTES 256

struct root_names { char here[ROOT_BYTES], host[ROOT_BYTES]; };
struct roots {
    const char *root;        /* the host's "/" as we see it; "" on a host */
    struct root_names driver, dev;
};
/* Any may be NULL or "", which is "not said"; driver and dev also "/". SOURCE k8s-device-plugin's options of these names. */
struct roots_options {
    const char *root;        /* --root */
    const char *driver;      /* nvidiaDriverRoot, on the host */
    const char *dev;         /* nvidiaDevRoot, on the host */
    const char *driver_here; /* containerDriverRoot: where we see `driver` */
    const char *dev_here;    /* DEV_ROOT_CTR_PATH: where we see `dev` */
    const char *validations; /* folder of the operator's driver-ready: what it says counts where neither driver nor dev is said */
};
/* Driver, the first that has a libnvidia-ml.so.1: driver_here, root + driver, root, root + /run/nvidia/driver. Where none has: the first
 * that was said and exists, else root. Device nodes: dev_here if it has a /dev; root + dev where that is another than `driver`; the
 * driver's root where it has a /dev/nvidiactl, or was said and root has none; root. A path that is too long counts as not there. */
void roots_find(const struct roots_options *o, struct roots *ret_roots);

/* The first of the folders for libraries below `here` that has the file; links are followed as the host would where they lead nowhere here.
 * False: in none. */
bool root_library(const char *here, const char *name, char *ret_path, size_t size);
/* A program of the driver, which a driver that is installed elsewhere has there: its path. False: it has none, or is where PATH leads. A
 * name with a slash is a path already. */
bool root_program(const struct roots *r, const char *name, char *ret_path, size_t size);
/* Where the links from `path` end, all of it below `here` and in names that begin there. False: nowhere, at no file, or with ".." in a
 * link. */
bool root_follow(const char *here, const char *path, char *ret_path, size_t size);

#endif
