/* pod_cgroup.c - the path of a control group, segment by segment
 *
 * SHAPE  v2: "0::/path". v1: "N:controllers:/path", many lines. All lines are read; the one that names a pod wins over one that names only
 *        a container. In a path the last pod segment wins (nested clusters), and the first container behind it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/inventory/pod_cgroup.h"
#include "base/memory.h"

#define LIMIT_CGROUP_BYTES 16384 /* v1 has a dozen lines of at most 4 KiB of which hundreds of bytes are used */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t hex_run(struct bytes s)
{
    size_t n = 0;
    while (n < s.n && is_hex(s.data[n]))
        n++;
    return n;
}

static struct bytes bytes_after(struct bytes s, size_t n)
{
    return (struct bytes){s.data + n, s.n - n};
}

static struct bytes cut_end(struct bytes s, const char *suffix)
{
    size_t n = strlen(suffix);
    if (s.n >= n && memcmp(s.data + s.n - n, suffix, n) == 0)
        s.n -= n;
    return s;
}

/* A UUID with '-' or '_', or 32 hex digits, and nothing behind it. */
static bool uid_read(struct bytes s, char ret_uid[40])
{
    if (s.n == 32 && hex_run(s) == 32) {
        memcpy(ret_uid, s.data, 32);
        ret_uid[32] = '\0';
        return true;
    }
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.data[i] != '-' && s.data[i] != '_' : !is_hex(s.data[i]))
            return false;
    }
    memcpy(ret_uid, s.data, 36);
    ret_uid[8] = ret_uid[13] = ret_uid[18] = ret_uid[23] = '-';
    ret_uid[36] = '\0';
    return true;
}

/* "pod<uid>", "kubepods-burstable-pod<uid>.slice", the part before ':' of a driver mismatch. What stands before "pod" is the names of the
 * slices above, the kubelet's own root among them: "kubelet-", or what an administrator has chosen. */
static bool pod_read(struct bytes segment, char ret_uid[40])
{
    static const size_t uid_lengths[] = {36, 32};
    const char *colon = memchr(segment.data, ':', segment.n);
    if (colon)
        segment.n = (size_t)(colon - segment.data);
    segment = cut_end(segment, ".slice");
    for (size_t i = 0; i < sizeof uid_lengths / sizeof *uid_lengths; i++) {
        if (segment.n < uid_lengths[i] + 3)
            continue;
        size_t at = segment.n - uid_lengths[i] - 3;
        if (memcmp(segment.data + at, "pod", 3) == 0 && (at == 0 || segment.data[at - 1] == '-') &&
            uid_read(bytes_after(segment, at + 3), ret_uid))
            return true;
    }
    return false;
}

/* "<id>", "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope", "kata_<id>", "...:cri-containerd:<id>": hexadecimal digits
 * at the end. Not that of the process that watches a container (conmon). */
static bool container_read(struct bytes segment, char ret_id[72])
{
    segment = cut_end(segment, ".scope");
    size_t at = segment.n;
    while (at > 0 && is_hex(segment.data[at - 1]))
        at--;
    struct bytes id = bytes_after(segment, at);
    if (id.n < 32 || id.n > 71 || (at > 0 && !memchr("-_:", segment.data[at - 1], 3)))
        return false;
    if (memmem(segment.data, at, "conmon-", strlen("conmon-")))
        return false;
    memcpy(ret_id, id.data, id.n);
    ret_id[id.n] = '\0';
    return true;
}

static void path_parse(struct bytes path, struct pod_cgroup *ret)
{
    struct pod_cgroup found = {.uid = ""};
    path = cut_end(path, " (deleted)"); /* its last process is ending */
    while (path.n) {
        const char *slash = memchr(path.data, '/', path.n);
        size_t n = slash ? (size_t)(slash - path.data) : path.n;
        struct bytes segment = {path.data, n};
        if (pod_read(segment, found.uid)) {
            found.container[0] = '\0';
            if (memchr(segment.data, ':', segment.n))
                (void)container_read(segment, found.container); /* without one the pod is still known */
        } else if (!found.container[0]) {
            (void)container_read(segment, found.container); /* most segments are neither */
        }
        path = bytes_after(path, slash ? n + 1 : n);
    }
    if (found.uid[0] || (found.container[0] && !ret->uid[0]))
        *ret = found;
}

bool pod_cgroup_parse(struct bytes text, struct pod_cgroup *ret)
{
    memset(ret, 0, sizeof *ret);
    while (text.n) {
        const char *end = memchr(text.data, '\n', text.n);
        size_t n = end ? (size_t)(end - text.data) : text.n;
        const char *first = memchr(text.data, ':', n);
        const char *second = first ? memchr(first + 1, ':', n - (size_t)(first + 1 - text.data)) : NULL;
        if (second && !ret->uid[0])
            path_parse((struct bytes){second + 1, n - (size_t)(second + 1 - text.data)}, ret);
        text = bytes_after(text, end ? n + 1 : n);
    }
    return ret->uid[0] || ret->container[0];
}

int pod_cgroup_read(const char *root, uint32_t pid, struct pod_cgroup *ret)
{
    char path[512], text[LIMIT_CGROUP_BYTES];
    memset(ret, 0, sizeof *ret);
    if (snprintf(path, sizeof path, "%s/proc/%u/cgroup", root, pid) >= (int)sizeof path)
        return -E_LIMIT;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? -E_NOTFOUND : -E_IO;
    size_t n = 0;
    while (n < sizeof text) {
        ssize_t got = read(fd, text + n, sizeof text - n);
        if (got < 0)
            return errno == ESRCH ? -E_NOTFOUND : -E_IO;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return pod_cgroup_parse((struct bytes){text, n}, ret);
}

bool pod_cgroup_lives(const char *root, const char *uid)
{
    char path[512];
    if (snprintf(path, sizeof path, "%s/proc", root) >= (int)sizeof path)
        return false;
    DIR *all = opendir(path);
    bool lives = false;
    for (const struct dirent *one; all && !lives && (one = readdir(all));) {
        struct pod_cgroup where;
        int64_t pid;
        if (bytes_int64(bytes_of(one->d_name), &pid) && pid > 0 && pid <= UINT32_MAX && pod_cgroup_read(root, (uint32_t)pid, &where) == 1)
            lives = text_equal(where.uid, uid);
    }
    if (all)
        (void)closedir(all);
    return lives;
}
