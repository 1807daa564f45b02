/* pods_logs.c - names of containers and pods from the names of the kubelet's log files: no API, no runtime socket
 *
 * SHAPE  maps whose values point into one arena; all is read again when the modification time of a directory has changed.
 * RACE   a change within the clock's grain of the reading is not seen in the modification time: a directory that was changed a moment ago
 *        is read again at the next look.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "exporter/collect/pods_parts.h"

#define GRAIN_MS 2000

struct log_directory {
    char *path;
    struct map *names; /* container id -> names; pod uid -> names */
    struct arena *arena;
    int64_t modified_ns;
    bool is_fresh, is_full; /* read while it was being changed; entries were left out */
};
struct pods_logs {
    struct log_directory containers, pods;
    struct map *uids; /* "ns/pod" -> uid, a text of the pods' arena */
    uint64_t generation;
};

static void directory_init(struct log_directory *d, const char *root, const char *path)
{
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%s%s", root, path);
    d->path = buf_take(&text, NULL);
    d->names = map_new(sizeof(struct pod_names));
    d->arena = arena_new();
    d->modified_ns = -1;
}

struct pods_logs *pods_logs_new(const char *root)
{
    struct pods_logs *g = mem_zero(1, sizeof *g);
    directory_init(&g->containers, root, "/var/log/containers");
    directory_init(&g->pods, root, "/var/log/pods");
    g->uids = map_new(sizeof(const char *));
    return g;
}

static void directory_free(struct log_directory *d)
{
    free(d->path);
    map_free(d->names);
    arena_free(d->arena);
}

void pods_logs_free(struct pods_logs *g)
{
    directory_free(&g->containers);
    directory_free(&g->pods);
    map_free(g->uids);
    free(g);
}

/* Splits "a_b_c" at its two underscores; names of Kubernetes have none. False: not of that form, or parts too long. */
static bool split_three(char *text, const char *ret_parts[3])
{
    char *first = strchr(text, '_'), *second = first ? strchr(first + 1, '_') : NULL;
    if (!second || strchr(second + 1, '_'))
        return false;
    *first = *second = '\0';
    ret_parts[0] = text;
    ret_parts[1] = first + 1;
    ret_parts[2] = second + 1;
    for (int i = 0; i < 3; i++)
        if (!*ret_parts[i] || strlen(ret_parts[i]) > 253)
            return false;
    return true;
}

/* "<pod>_<ns>_<container>-<id>.log" */
static void container_add(struct pods_logs *g, const char *entry)
{
    size_t n = strlen(entry);
    const char *parts[3];
    if (n < 5 || strcmp(entry + n - 4, ".log") != 0)
        return;
    char *text = arena_text_n(g->containers.arena, entry, n - 4), *dash = strrchr(text, '-');
    if (!dash || strlen(dash + 1) < 32 || strlen(dash + 1) > 71)
        return;
    *dash = '\0';
    if (!split_three(text, parts))
        return;
    struct pod_names *names = map_put(g->containers.names, bytes_of(dash + 1), NULL);
    *names = (struct pod_names){.ns = parts[1], .pod = parts[0], .container = parts[2], .uid = "", .queue = ""};
}

static int64_t modified_at(const char *directory, const char *ns, const char *pod, const char *uid)
{
    struct stat st;
    _cleanup_buf_ struct buf path = {0};
    buf_printf(&path, "%s/%s_%s_%s", directory, ns, pod, uid);
    return stat(path.data, &st) == 0 ? st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 : 0;
}

/* "<ns>_<pod>_<uid>". Of two pods of one name the younger is there now. */
static void pod_add(struct pods_logs *g, const char *entry)
{
    const char *parts[3];
    if (!split_three(arena_text(g->pods.arena, entry), parts))
        return;
    struct pod_names *names = map_put(g->pods.names, bytes_of(parts[2]), NULL);
    *names = (struct pod_names){.ns = parts[0], .pod = parts[1], .container = NULL, .uid = parts[2], .queue = ""};
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", parts[0], parts[1]);
    bool is_new;
    const char **uid = map_put(g->uids, buf_view(&key), &is_new);
    if (is_new ||
        modified_at(g->pods.path, parts[0], parts[1], parts[2]) > modified_at(g->pods.path, parts[0], parts[1], *uid))
        *uid = parts[2];
}

static void directory_read(struct pods_logs *g, struct log_directory *d,
                           void (*add)(struct pods_logs *g, const char *entry))
{
    uint32_t n = 0;
    map_clear(d->names);
    if (d == &g->pods)
        map_clear(g->uids);
    arena_reset(d->arena);
    g->generation++;
    DIR *dir = opendir(d->path);
    for (struct dirent *entry; dir && (entry = readdir(dir)) && n <= LIMIT_PODS_LOGS;)
        if (entry->d_name[0] != '.' && n++ < LIMIT_PODS_LOGS)
            add(g, entry->d_name);
    if (dir)
        (void)closedir(dir);
    if (n > LIMIT_PODS_LOGS && !d->is_full)
        log_warning("%s has more than %d entries: the others are not read, and the pods of their processes not known",
                    d->path, LIMIT_PODS_LOGS);
    d->is_full = n > LIMIT_PODS_LOGS;
}

static void directory_look(struct pods_logs *g, struct log_directory *d,
                           void (*add)(struct pods_logs *g, const char *entry), int64_t wall_ms)
{
    struct stat st;
    int64_t modified_ns = stat(d->path, &st) == 0 ? st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec : 0;
    if (modified_ns == d->modified_ns && !d->is_fresh)
        return;
    int64_t age_ms = wall_ms - modified_ns / 1000000;
    d->modified_ns = modified_ns;
    d->is_fresh = modified_ns != 0 && age_ms > -GRAIN_MS && age_ms < GRAIN_MS;
    directory_read(g, d, add);
}

void pods_logs_look(struct pods_logs *g, int64_t wall_ms)
{
    directory_look(g, &g->containers, container_add, wall_ms);
    directory_look(g, &g->pods, pod_add, wall_ms);
}

uint64_t pods_logs_generation(const struct pods_logs *g)
{
    return g->generation;
}

bool pods_logs_container(struct pods_logs *g, const char *container_id, struct pod_names *ret_names)
{
    const struct pod_names *names = *container_id ? map_find_text(g->containers.names, container_id) : NULL;
    if (names)
        *ret_names = *names;
    return names != NULL;
}

/* The only folder in a pod's log directory; "" when there are several. */
static const char *only_container(struct pods_logs *g, const struct pod_names *names)
{
    const char *path = arena_printf(g->pods.arena, "%s/%s_%s_%s", g->pods.path, names->ns, names->pod, names->uid),
               *found = "";
    DIR *dir = opendir(path);
    uint32_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) && n < 2;)
        if (entry->d_name[0] != '.' && n++ == 0 && strlen(entry->d_name) <= 253)
            found = arena_text(g->pods.arena, entry->d_name);
    if (dir)
        (void)closedir(dir);
    return n == 1 ? found : "";
}

bool pods_logs_uid(struct pods_logs *g, const char *uid, struct pod_names *ret_names)
{
    struct pod_names *names = *uid ? map_find_text(g->pods.names, uid) : NULL;
    if (!names)
        return false;
    if (!names->container)
        names->container = only_container(g, names);
    *ret_names = *names;
    return true;
}

const char *pods_logs_uid_of(struct pods_logs *g, const char *ns, const char *pod)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, pod);
    const char **uid = map_find(g->uids, buf_view(&key));
    return uid ? *uid : NULL;
}
