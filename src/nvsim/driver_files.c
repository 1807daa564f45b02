/* driver_files.c - the driver's libraries under DIR/root, by the names that a driver gives them
 *
 *     usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.95.05 <- libnvidia-ml.so.1 <- libnvidia-ml.so        libcuda likewise
 *
 * WHY  files, not links to the build: NVIDIA's CDI generator takes the driver's version from the name at which the links end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "nvsim/state.h"

#if defined(__aarch64__)
#define FOLDER "usr/lib/aarch64-linux-gnu"
#else
#define FOLDER "usr/lib/x86_64-linux-gnu"
#endif
#define PATH_BYTES 768
#define COPY_BYTES (64u << 10)

static int copy(const char *from, const char *to, struct err *e)
{
    char block[COPY_BYTES];
    _cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return err_errno(e, errno, "open %s", from);
    _cleanup_close_ int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (out < 0)
        return err_errno(e, errno, "create %s", to);
    for (ssize_t n; (n = read(in, block, sizeof block)) != 0;)
        if (n < 0 || write(out, block, (size_t)n) != n)
            return err_errno(e, errno, "copy %s to %s", from, to);
    return 0;
}

static int link_make(const char *folder, const char *name, const char *target, struct err *e)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(e, errno, "remove %s", path);
    return symlink(target, path) < 0 ? err_errno(e, errno, "link %s", path) : 0;
}

/* name: "libcuda.so" */
static int library_install(const char *folder, const char *name, const char *version, const char *library, struct err *e)
{
    char whole[PATH_MAX], file[PATH_BYTES], short_name[64];
    (void)snprintf(short_name, sizeof short_name, "%s.1", name);
    if (snprintf(file, sizeof file, "%s/%s.%s", folder, name, version) >= (int)sizeof file)
        return err_set(e, E_INVALID, "%s: the path is too long for the driver's libraries", folder);
    if (!realpath(library, whole))
        return err_errno(e, errno, "%s", library);
    if (unlink(file) < 0 && errno != ENOENT) /* a node that is created again */
        return err_errno(e, errno, "remove %s", file);
    int r = link(whole, file) == 0 ? 0 : copy(whole, file, e);
    if (r == 0)
        r = link_make(folder, short_name, strrchr(file, '/') + 1, e);
    return r < 0 ? r : link_make(folder, name, short_name, e);
}

int nvsim_install_driver(const struct nvsim *n, const char *nvml, const char *cuda, struct err *e)
{
    char folder[PATH_BYTES / 2];
    if (!*n->root || snprintf(folder, sizeof folder, "%s/" FOLDER, n->root) >= (int)sizeof folder)
        return err_set(e, E_INVALID, "the node's folder has too long a path for the driver's libraries");
    for (char *slash = strchr(folder + strlen(n->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0755); /* there already, or the library's file says what is wrong */
        *slash = '/';
    }
    (void)mkdir(folder, 0755);
    int r = library_install(folder, "libnvidia-ml.so", n->state->driver_version, nvml, e);
    return r < 0 || !cuda ? r : library_install(folder, "libcuda.so", n->state->driver_version, cuda, e);
}
