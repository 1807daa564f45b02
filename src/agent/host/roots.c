/* roots.c - see roots.h */
#include "agent/host/roots.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/host/validation.h"
#include "base/bytes.h"

#define PATH_BYTES 1024
#define DRIVER_CONTAINER "/run/nvidia/driver" /* SOURCE gpu-operator: hostPaths.driverInstallDir */
#define LINKS_MAX 8

/* SOURCE nvidia-container-toolkit, lookup/root: where drivers are, below a driver root. */
static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64",
                                      "/usr/lib/wsl/lib"};

bool root_follow(const char *here, const char *path, char *ret_path, size_t size)
{
    char at[PATH_BYTES], full[PATH_BYTES], text[PATH_BYTES / 2];
    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at)
        return false;
    for (int links = 0; links < LINKS_MAX; links++) {
        struct stat st;
        if (snprintf(full, sizeof full, "%s%s", here, at) >= (int)sizeof full || lstat(full, &st) < 0)
            return false;
        if (!S_ISLNK(st.st_mode))
            return S_ISREG(st.st_mode) && snprintf(ret_path, size, "%s", at) < (int)size;
        ssize_t n = readlink(full, text, sizeof text - 1);
        if (n <= 0)
            return false;
        text[n] = '\0';
        char *slash = strrchr(at, '/');
        size_t keep = *text == '/' || !slash ? 0 : (size_t)(slash + 1 - at);
        if (strstr(text, "..") || snprintf(at + keep, sizeof at - keep, "%s", text) >= (int)(sizeof at - keep))
            return false;
    }
    return false;
}

bool root_library(const char *here, const char *name, char *ret_path, size_t size)
{
    char path[PATH_BYTES], end[PATH_BYTES];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct stat st;
        if (snprintf(path, sizeof path, "%s/%s", folders[i], name) >= (int)sizeof path ||
            snprintf(ret_path, size, "%s%s", here, path) >= (int)size)
            continue;
        if (stat(ret_path, &st) == 0)
            return true;
        if (root_follow(here, path, end, sizeof end) && snprintf(ret_path, size, "%s%s", here, end) < (int)size)
            return true;
    }
    return false;
}

bool root_program(const struct roots *r, const char *name, char *ret_path, size_t size)
{
    return *r->driver.here && !strchr(name, '/') && snprintf(ret_path, size, "%s/usr/bin/%s", r->driver.here, name) < (int)size &&
           access(ret_path, X_OK) == 0;
}

static bool said(const char *path)
{
    return path && *path && !text_equal(path, "/");
}

static size_t without_slash(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n;
}

/* False: too long; what was there stays. */
static bool names_set(struct root_names *names, const char *root, const char *below, const char *host)
{
    size_t root_n = without_slash(root), below_n = without_slash(below), host_n = without_slash(host);
    if (root_n + below_n >= sizeof names->here || host_n >= sizeof names->host)
        return false;
    (void)snprintf(names->here, sizeof names->here, "%.*s%.*s", (int)root_n, root ? root : "", (int)below_n, below ? below : "");
    (void)snprintf(names->host, sizeof names->host, "%.*s", (int)host_n, host ? host : "");
    return true;
}

static bool has(const char *here, const char *path)
{
    char full[PATH_BYTES];
    return snprintf(full, sizeof full, "%s%s", here, path) < (int)sizeof full && access(full, F_OK) == 0;
}

static void find_driver(const struct roots_options *o, struct root_names *ret_driver)
{
    const struct { bool said; const char *root, *below, *host; } places[] = {
        {said(o->driver_here), o->driver_here, NULL, o->driver},
        {said(o->driver), o->root, o->driver, o->driver},
        {true, o->root, NULL, NULL}, /* as the operator's validator: a driver of the host first */
        {true, o->root, DRIVER_CONTAINER, DRIVER_CONTAINER},
    };
    struct root_names one = {0};
    char library[PATH_BYTES];
    bool found = false;
    (void)names_set(ret_driver, o->root, NULL, NULL);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i].said || !names_set(&one, places[i].root, places[i].below, places[i].host))
            continue;
        if (root_library(one.here, "libnvidia-ml.so.1", library, sizeof library)) {
            *ret_driver = one;
            return;
        }
        if (i < 2 && !found && has(one.here, "/.")) { /* the driver may come */
            *ret_driver = one;
            found = true;
        }
    }
}

void roots_find(const struct roots_options *options, struct roots *ret_roots)
{
    struct roots_options told = *options, *o = &told;
    char driver_told[ROOT_BYTES], dev_told[ROOT_BYTES];
    if (o->validations && !said(o->driver) && !said(o->dev) && validation_read(o->validations, driver_told, dev_told)) {
        o->driver = driver_told;
        o->dev = dev_told;
    }
    struct root_names one = {0};
    *ret_roots = (struct roots){.root = o->root && !text_equal(o->root, "/") ? o->root : ""};
    find_driver(o, &ret_roots->driver);
    const struct root_names *driver = &ret_roots->driver;
    bool apart = said(o->dev) ? !(o->driver && text_equal(o->dev, o->driver)) : o->dev && *o->dev && said(o->driver);
    (void)names_set(&ret_roots->dev, o->root, NULL, NULL);
    if (said(o->dev_here) && names_set(&one, o->dev_here, NULL, o->dev) && has(one.here, "/dev/."))
        ret_roots->dev = one;
    else if (apart)
        (void)names_set(&ret_roots->dev, o->root, o->dev, o->dev);
    else if (has(driver->here, "/dev/nvidiactl") || (said(o->driver) && !has(ret_roots->dev.here, "/dev/nvidiactl")))
        ret_roots->dev = *driver;
}
