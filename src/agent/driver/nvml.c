/* nvml.c - find the library, look up its functions, start it
 *
 * WHY  not linked: the agent runs on machines without a GPU, and a driver may be installed or replaced while it runs.
 */
#include "agent/driver/nvml.h"
#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/host/roots.h"
#include "base/bytes.h"
#include "base/memory.h"

#define SONAME "libnvidia-ml.so.1"

struct symbol {
    size_t offset; /* of the pointer in struct nvml */
    const char *names[2];
};
static const struct symbol symbols[] = {
#define X(pointer, type, newest, older) {offsetof(struct nvml, pointer), {newest, older}},
    NVML_SYMBOLS(X)
#undef X
};

static int our_code(int code)
{
    switch (code) {
    case NVML_INVALID_ARGUMENT:
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_INVALID_STATE:
        return E_INVALID;
    case NVML_NO_PERMISSION:
        return E_DENIED;
    case NVML_NOT_FOUND:
    case NVML_GPU_NOT_FOUND:
    case NVML_DRIVER_NOT_LOADED:
    case NVML_LIBRARY_NOT_FOUND:
    case NVML_UNINITIALIZED:
        return E_NOTFOUND;
    case NVML_GPU_IS_LOST:
        return E_GONE;
    case NVML_IN_USE:
    case NVML_LIB_RM_VERSION_MISMATCH:
    case NVML_RESET_REQUIRED:
        return E_CONFLICT;
    case NVML_INSUFFICIENT_RESOURCES:
    case NVML_MEMORY:
        return E_LIMIT;
    case NVML_TIMEOUT:
    case NVML_NOT_READY:
        return E_AGAIN;
    default:
        return E_IO;
    }
}

int nvml_error(int code, struct err *e, const char *format, ...)
{
    if (code == NVML_OK)
        return 0;
    char what[240];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return err_set(e, our_code(code), "%s: %s (NVML code %d)", what, nvml_code_text(code), code);
}

/* ---- where it is ---- */

static void *open_quietly(const char *path, char *ret_why, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        (void)snprintf(ret_why, size, "%s", dlerror());
    return handle;
}

/* Below `here`, and where that has none as the loader finds it (LD_LIBRARY_PATH, its cache); on a host the other way round. NULL: `why`
 * says what the last attempt answered. */
static void *search(const char *here, char ret_path[256], char *why, size_t size)
{
    bool own = !here || !here[0] || text_equal(here, "/");
    void *handle = NULL;
    struct roots roots = {0};
    if (own) {
        (void)snprintf(ret_path, 256, "%s", SONAME);
        handle = open_quietly(ret_path, why, size);
        roots_find(&(struct roots_options){0}, &roots);
        here = roots.driver.here;
    }
    if (!handle && root_library(here, SONAME, ret_path, 256))
        handle = open_quietly(ret_path, why, size);
    if (handle || own)
        return handle;
    char otherwise[300];
    (void)snprintf(ret_path, 256, "%s", SONAME);
    return open_quietly(ret_path, *why ? otherwise : why, *why ? sizeof otherwise : size);
}

static void *library_open(const char *path, const char *driver_root, char ret_path[256], struct err *e)
{
    char why[300] = "";
    void *handle;
    if (!path) {
        handle = search(driver_root, ret_path, why, sizeof why);
        if (!handle)
            err_set(e, E_NOTFOUND, "no NVIDIA driver here: %s is neither in the loader's cache nor below %s%s%s",
                    SONAME, driver_root && driver_root[0] ? driver_root : "/", why[0] ? " - " : "", why);
        return handle;
    }
    (void)snprintf(ret_path, 256, "%s", path);
    if (strlen(path) >= 256) {
        err_set(e, E_INVALID, "path of the NVML library: longer than 255 bytes");
        return NULL;
    }
    handle = open_quietly(path, why, sizeof why);
    if (!handle && strchr(path, '/') && access(path, F_OK) == 0)
        err_set(e, E_INVALID, "%s is not a library that can be loaded: %s", path, why);
    else if (!handle)
        err_set(e, E_NOTFOUND, "no NVIDIA driver here: %s", why);
    return handle;
}

/* ---- start and end ---- */

static void look_up(struct nvml *n)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = NULL;
        for (int k = 0; !address && k < 2 && symbols[i].names[k]; k++)
            address = dlsym(n->handle, symbols[i].names[k]);
        memcpy((char *)n + symbols[i].offset, &address, sizeof address);
    }
}

static int init(struct nvml *n, struct err *e)
{
    if (!n->init || !n->shutdown || !n->count || !n->by_index || !n->uuid)
        return err_set(e, E_INVALID, "%s is no NVML library: it lacks nvmlInit, nvmlDeviceGetCount or others", n->path);
    int code = n->init();
    switch (code) {
    case NVML_OK:
        break;
    case NVML_DRIVER_NOT_LOADED:
        return err_set(
            e, E_NOTFOUND,
            "%s is there, but its kernel module is not loaded: load `nvidia`, or wait for the driver's start", n->path);
    case NVML_LIB_RM_VERSION_MISMATCH:
        return err_set(e, E_CONFLICT,
                       "%s and the loaded kernel module are of different versions: the driver was updated; unload "
                       "`nvidia` or reboot",
                       n->path);
    case NVML_NO_PERMISSION:
        return err_set(e, E_DENIED,
                       "no permission to open the NVIDIA devices: run as root, with /dev/nvidiactl in reach");
    default:
        return nvml_error(code, e, "start %s", n->path);
    }
    if (n->event_set_create && n->event_wait && n->event_set_create(&n->events) != NVML_OK)
        n->events = NULL;
    return 0;
}

/* The file that the loader took. */
static bool loaded_file(const struct nvml *n, struct stat *st)
{
    Dl_info info;
    void *address = NULL;
    memcpy(&address, &n->init, sizeof address);
    return address && dladdr(address, &info) && info.dli_fname && stat(info.dli_fname, st) == 0;
}

static int64_t modified_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct nvml *load(const char *path, const char *driver_root, struct err *e)
{
    struct nvml *n = mem_zero(1, sizeof *n);
    struct stat st;
    n->handle = library_open(path, driver_root, n->path, e);
    if (!n->handle) {
        free(n);
        return NULL;
    }
    atomic_store(&n->refs, 1);
    (void)pthread_mutex_init(&n->gpm_lock, NULL);
    look_up(n);
    if (loaded_file(n, &st)) {
        n->device = st.st_dev;
        n->inode = st.st_ino;
        n->modified_ns = modified_of(&st);
    }
    return n;
}

static bool is_current(const struct nvml *n)
{
    struct stat st;
    return loaded_file(n, &st) && st.st_dev == n->device && st.st_ino == n->inode && modified_of(&st) == n->modified_ns;
}

int nvml_open(const char *path, const char *driver_root, struct nvml **n, struct err *e)
{
    struct err mine = {0};
    assert(!*n || !(*n)->started);
    bool moved = *n && !path && driver_root && !text_starts((*n)->path, driver_root); /* a driver container came up meanwhile */
    if (*n && (moved || !is_current(*n))) {
        nvml_unref(*n);
        *n = NULL;
    }
    if (!*n)
        *n = load(path, driver_root, &mine);
    int r = *n ? init(*n, &mine) : -mine.code;
    if (r == 0) {
        (*n)->started = true;
        return 0;
    }
    if (r == -E_INVALID) { /* not such a library at all */
        nvml_unref(*n);
        *n = NULL;
    }
    if (e)
        *e = mine;
    return r;
}

struct nvml *nvml_ref(struct nvml *n)
{
    unsigned before = atomic_fetch_add(&n->refs, 1);
    assert(before > 0);
    (void)before;
    return n;
}

void nvml_unref(struct nvml *n)
{
    if (!n || atomic_fetch_sub(&n->refs, 1) > 1)
        return;
    if (n->started && n->events && n->event_set_free)
        (void)n->event_set_free(n->events); /* it goes with the library anyway */
    if (n->started)
        (void)n->shutdown();
    (void)dlclose(n->handle);
    (void)pthread_mutex_destroy(&n->gpm_lock);
    free(n);
}
