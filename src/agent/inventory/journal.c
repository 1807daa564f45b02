/* journal.c - see journal.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/inventory/journal.h"
#include "base/collections/map.h"
#include "base/memory.h"

#define HEAD "capstan-journal 1\n"
#define HASH_DIGITS 16
#define GROWN_BYTES (64u << 10)

struct journal {
    char *path;
    int fd, lock_fd;
    uint64_t hash; /* of the last line: seed of the next */
    uint64_t size, base_size;
    struct buf line, rewrite;
    uint64_t rewrite_hash;
};

/* ---- lines ---- */

static void add_escaped(struct buf *out, struct bytes record)
{
    for (size_t i = 0; i < record.n; i++)
        if (record.data[i] == '\n')
            buf_text(out, "\\n");
        else if (record.data[i] == '\\')
            buf_text(out, "\\\\");
        else
            buf_char(out, record.data[i]);
}

static void add_unescaped(struct buf *out, struct bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.data[i] == '\\' && i + 1 < text.n)
            buf_char(out, text.data[++i] == 'n' ? '\n' : text.data[i]);
        else
            buf_char(out, text.data[i]);
}

/* Append the line of a record; returns its hash. */
static uint64_t add_line(struct buf *out, struct bytes record, bool sync, uint64_t seed)
{
    size_t at = out->n;
    buf_reserve(out, HASH_DIGITS + 1);
    buf_printf(out, "%0*d%c", HASH_DIGITS, 0, sync ? '!' : ' ');
    add_escaped(out, record);
    uint64_t hash = hash_bytes(out->data + at + HASH_DIGITS, out->n - at - HASH_DIGITS, seed);
    char digits[HASH_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    memcpy(out->data + at, digits, HASH_DIGITS);
    buf_char(out, '\n');
    return hash;
}

/* The line that begins at `at`: its length with the newline, 0 when it is not whole or not right. */
static size_t check_line(struct bytes file, size_t at, uint64_t seed, uint64_t *ret_hash)
{
    const char *line = file.data + at, *end = memchr(line, '\n', file.n - at);
    if (!end || (size_t)(end - line) < HASH_DIGITS + 1 || (line[HASH_DIGITS] != ' ' && line[HASH_DIGITS] != '!'))
        return 0;
    uint64_t hash = hash_bytes(line + HASH_DIGITS, (size_t)(end - line) - HASH_DIGITS, seed);
    char digits[HASH_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    if (memcmp(digits, line, HASH_DIGITS) != 0)
        return 0;
    *ret_hash = hash;
    return (size_t)(end - line) + 1;
}

/* Behind a bad line: is there a good synced one? Its seed is the hash that stands in the line before it, right or wrong. */
static bool synced_line_follows(struct bytes file, size_t at)
{
    const char *end = memchr(file.data + at, '\n', file.n - at);
    while (end && (size_t)(end + 1 - file.data) < file.n) {
        size_t next = (size_t)(end + 1 - file.data);
        char digits[HASH_DIGITS + 1] = {0};
        if (next - at > HASH_DIGITS)
            memcpy(digits, file.data + at, HASH_DIGITS);
        uint64_t hash, seed = strtoull(digits, NULL, 16);
        if (check_line(file, next, seed, &hash) > 0 && file.data[next + HASH_DIGITS] == '!')
            return true;
        at = next;
        end = memchr(file.data + at, '\n', file.n - at);
    }
    return false;
}

/* ---- open ---- */

static int lock(struct journal *j, struct err *e)
{
    struct buf path = {0};
    buf_printf(&path, "%s.lock", j->path);
    j->lock_fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int r = 0;
    if (j->lock_fd < 0) {
        r = err_errno(e, errno, "open %s", path.data);
    } else if (flock(j->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        char holder[32] = "";
        ssize_t n = pread(j->lock_fd, holder, sizeof holder - 1, 0);
        if (n > 0)
            holder[strcspn(holder, "\n")] = '\0';
        r = err_set(e, E_CONFLICT, "%s: another agent (process %s) works in this directory: one agent a node", path.data,
                    *holder ? holder : "unknown");
    } else if (ftruncate(j->lock_fd, 0) == 0) {
        (void)dprintf(j->lock_fd, "%d\n", (int)getpid()); /* only for the text above */
    }
    buf_free(&path);
    return r;
}

static int make_directory_of(const char *path, struct err *e)
{
    char *copy = mem_text(path);
    int r = 0;
    for (char *slash = strchr(copy + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST && access(copy, F_OK) != 0)
            r = err_errno(e, errno, "make directory %s", copy);
        *slash = '/';
    }
    free(copy);
    return r;
}

static int read_file(struct journal *j, struct buf *ret_text, struct err *e)
{
    struct stat st;
    if (fstat(j->fd, &st) < 0)
        return err_errno(e, errno, "%s", j->path);
    if (!S_ISREG(st.st_mode) || st.st_size > LIMIT_JOURNAL_BYTES)
        return err_set(e, E_INVALID, "%s: not a journal of ours: no regular file, or larger than %u MiB", j->path,
                       LIMIT_JOURNAL_BYTES >> 20);
    buf_reserve(ret_text, (size_t)st.st_size + 1);
    while (ret_text->n < (size_t)st.st_size) {
        ssize_t n = pread(j->fd, ret_text->data + ret_text->n, (size_t)st.st_size - ret_text->n, (off_t)ret_text->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "read %s", j->path);
        if (n == 0)
            break;
        ret_text->n += (size_t)n;
    }
    return 0;
}

static int write_whole(int fd, struct bytes text, uint64_t at)
{
    for (size_t done = 0; done < text.n;) {
        ssize_t n = pwrite(fd, text.data + done, text.n - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -(n < 0 ? errno : ENOSPC);
        done += (size_t)n;
    }
    return 0;
}

static int replay(struct journal *j, struct bytes file, journal_replay_fn fn, void *arg, struct err *e)
{
    struct buf record = {0};
    int r = 0;
    uint64_t line_n = 2;
    size_t at = sizeof HEAD - 1;
    for (size_t n; at < file.n && r == 0; at += n, line_n++) {
        n = check_line(file, at, j->hash, &j->hash);
        if (n == 0) {
            if (synced_line_follows(file, at))
                r = err_set(e, E_INVALID, "%s line %llu: its checksum is wrong though later lines are right: the file was changed",
                            j->path, (unsigned long long)line_n);
            break;
        }
        buf_clear(&record);
        add_unescaped(&record, (struct bytes){file.data + at + HASH_DIGITS + 1, n - HASH_DIGITS - 2});
        r = fn(arg, buf_view(&record), e);
        if (r < 0)
            err_wrap(e, "%s line %llu", j->path, (unsigned long long)line_n);
    }
    j->size = at;
    buf_free(&record);
    return r;
}

static int load(struct journal *j, journal_replay_fn fn, void *arg, uint64_t *ret_cut_bytes, struct err *e)
{
    struct buf text = {0};
    int r = read_file(j, &text, e);
    struct bytes file = buf_view(&text);
    bool is_head = file.n >= sizeof HEAD - 1 && memcmp(file.data, HEAD, sizeof HEAD - 1) == 0;
    if (r == 0 && is_head) {
        r = replay(j, file, fn, arg, e);
    } else if (r == 0 && (file.n >= sizeof HEAD - 1 || (file.n > 0 && memcmp(file.data, HEAD, file.n) != 0))) {
        r = err_set(e, E_INVALID, "%s: not a journal of this version: it does not begin with \"%.*s\"", j->path,
                    (int)sizeof HEAD - 2, HEAD);
    } else if (r == 0) { /* new, or its making was cut short */
        int failed = write_whole(j->fd, BYTES(HEAD), 0);
        if (failed < 0)
            r = err_errno(e, -failed, "write %s", j->path);
        j->size = sizeof HEAD - 1;
    }
    if (r == 0 && file.n > j->size && ftruncate(j->fd, (off_t)j->size) < 0)
        r = err_errno(e, errno, "cut the torn tail of %s", j->path);
    if (r == 0 && ret_cut_bytes)
        *ret_cut_bytes = file.n > j->size ? file.n - j->size : 0;
    j->base_size = sizeof HEAD - 1; /* how much of it still counts is not known: taken for needed it would grow from start to start */
    buf_free(&text);
    return r;
}

int journal_open(const char *path, journal_replay_fn fn, void *arg, uint64_t *ret_cut_bytes, struct journal **ret_j,
                 struct err *e)
{
    int r = make_directory_of(path, e);
    if (r < 0)
        return r;
    struct journal *j = mem_zero(1, sizeof *j);
    j->path = mem_text(path);
    j->fd = -1;
    r = lock(j, e);
    if (r == 0) {
        j->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        r = j->fd < 0 ? err_errno(e, errno, "open %s", path) : load(j, fn, arg, ret_cut_bytes, e);
    }
    if (r < 0) {
        journal_close(j);
        return r;
    }
    *ret_j = j;
    return 0;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        (void)close(j->fd);
    if (j->lock_fd >= 0)
        (void)close(j->lock_fd);
    buf_free(&j->line);
    buf_free(&j->rewrite);
    free(j->path);
    free(j);
}

/* ---- write ---- */

int journal_append(struct journal *j, struct bytes record, bool sync, struct err *e)
{
    buf_clear(&j->line);
    uint64_t hash = add_line(&j->line, record, sync, j->hash);
    if (j->size + j->line.n > LIMIT_JOURNAL_BYTES)
        return err_set(e, E_LIMIT, "%s: full: %u MiB", j->path, LIMIT_JOURNAL_BYTES >> 20);
    int failed = write_whole(j->fd, buf_view(&j->line), j->size);
    if (failed == 0 && sync && fdatasync(j->fd) < 0)
        failed = -errno;
    if (failed < 0) {
        (void)!ftruncate(j->fd, (off_t)j->size); /* what stays of the line would be cut at the next start */
        return err_errno(e, -failed, "write %s", j->path);
    }
    j->size += j->line.n;
    j->hash = hash;
    return 0;
}

bool journal_has_grown(const struct journal *j)
{
    return j->size > GROWN_BYTES && j->size > 4 * j->base_size;
}

void journal_rewrite_add(struct journal *j, struct bytes record)
{
    j->rewrite_hash = add_line(&j->rewrite, record, true, j->rewrite_hash);
}

static void sync_directory_of(const char *path)
{
    char *copy = mem_text(path), *slash = strrchr(copy, '/');
    if (slash)
        *slash = '\0';
    int fd = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd); /* without it the old file may come back after a power cut: as good, only older */
        (void)close(fd);
    }
    free(copy);
}

int journal_rewrite(struct journal *j, void (*write)(void *arg, struct journal *j), void *arg, struct err *e)
{
    buf_clear(&j->rewrite);
    buf_text(&j->rewrite, HEAD);
    j->rewrite_hash = 0;
    write(arg, j);
    struct buf path = {0};
    buf_printf(&path, "%s.new", j->path);
    int fd = open(path.data, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r = 0;
    if (fd < 0) {
        r = err_errno(e, errno, "open %s", path.data);
    } else {
        int failed = write_whole(fd, buf_view(&j->rewrite), 0);
        if (failed == 0 && (fsync(fd) < 0 || rename(path.data, j->path) < 0))
            failed = -errno;
        if (failed < 0) {
            r = err_errno(e, -failed, "write %s", path.data);
            (void)unlink(path.data);
            (void)close(fd);
        }
    }
    if (r == 0) {
        sync_directory_of(j->path);
        (void)close(j->fd);
        j->fd = fd;
        j->size = j->base_size = j->rewrite.n;
        j->hash = j->rewrite_hash;
    }
    buf_free(&path);
    buf_free(&j->rewrite);
    return r;
}
