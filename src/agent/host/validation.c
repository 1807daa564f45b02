/* validation.c - see validation.h */
#include "agent/host/validation.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/memory.h"

#define MARK "# capstan agent\n"
#define FILE_BYTES 4096
#define PATH_BYTES 512

enum owner { NOBODY, OURS, THEIRS };

static enum owner owner_of(const char *path, struct buf *text)
{
    int r = file_read(path, FILE_BYTES, text, NULL);
    if (r == -E_NOTFOUND)
        return NOBODY;
    return r == 0 && text->n >= strlen(MARK) && memcmp(text->data, MARK, strlen(MARK)) == 0 ? OURS : THEIRS;
}

/* What NVIDIA's pods take as their environment: they have the host's / at /host, and the driver's root, where it is another, at
 * /driver-root. */
static void driver_text(const struct roots *r, struct buf *out)
{
    const char *driver = *r->driver.host ? r->driver.host : "/", *dev = *r->dev.host ? r->dev.host : "/";
    bool on_host = text_equal(driver, "/");
    buf_printf(out, "IS_HOST_DRIVER=%s\nNVIDIA_DRIVER_ROOT=%s\nDRIVER_ROOT_CTR_PATH=%s\n", on_host ? "true" : "false", driver,
               on_host ? "/host" : "/driver-root");
    buf_printf(out, "NVIDIA_DEV_ROOT=%s\nDEV_ROOT_CTR_PATH=%s\n", dev, text_equal(dev, driver) && !on_host ? "/driver-root" : "/host");
}

/* 1: changed. `content` NULL: it should not be there. */
static int one_write(const char *dir, const char *name, const char *content, struct err *e)
{
    _cleanup_buf_ struct buf is = {0}, want = {0};
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_set(e, E_INVALID, "the path of the validation files is too long");
    enum owner owner = owner_of(path, &is);
    buf_printf(&want, MARK "%s", content ? content : "");
    if (owner == THEIRS || (owner == NOBODY && !content) || (owner == OURS && content && bytes_equal(buf_view(&is), buf_view(&want))))
        return 0;
    if (!content)
        return unlink(path) < 0 && errno != ENOENT ? err_errno(e, errno, "remove %s", path) : 1;
    int r = file_replace(path, buf_view(&want), 0644, e);
    return r < 0 ? r : 1;
}

int validation_write(const char *dir, const struct validation *v, struct err *e)
{
    _cleanup_buf_ struct buf driver = {0};
    if (access(dir, F_OK) < 0)
        return 0;
    if (v->driver)
        driver_text(v->roots, &driver);
    const struct { const char *name, *content; } files[] = {{"driver-ready", v->driver ? driver.data : NULL},
                                                            {"toolkit-ready", v->toolkit ? "" : NULL},
                                                            {"plugin-ready", v->plugin ? "" : NULL}};
    int changed = 0, result = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int r = one_write(dir, files[i].name, files[i].content, result < 0 ? NULL : e);
        changed += r > 0;
        result = r < 0 && result == 0 ? r : result;
    }
    return result < 0 ? result : changed;
}

/* "NAME=/path", once a line. */
static bool value_of(const char *text, const char *name, char ret_value[ROOT_BYTES])
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t value_n = strncmp(line, name, n) == 0 && line[n] == '=' ? strcspn(line + n + 1, "\r\n") : 0;
        if (value_n == 0 || value_n >= ROOT_BYTES || line[n + 1] != '/')
            continue;
        (void)snprintf(ret_value, ROOT_BYTES, "%.*s", (int)value_n, line + n + 1);
        return true;
    }
    return false;
}

bool validation_read(const char *dir, char ret_driver[ROOT_BYTES], char ret_dev[ROOT_BYTES])
{
    _cleanup_buf_ struct buf text = {0};
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/driver-ready", dir) >= (int)sizeof path || owner_of(path, &text) != THEIRS || !text.n)
        return false;
    return value_of(text.data, "NVIDIA_DRIVER_ROOT", ret_driver) && value_of(text.data, "NVIDIA_DEV_ROOT", ret_dev);
}
