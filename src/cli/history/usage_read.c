/* usage_read.c - see usage_read.h */
#include "cli/history/usage_read.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"

bool usage_when(const char *text, double now_s, double *ret_s)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    char *end;
    double amount = *text >= '0' && *text <= '9' ? strtod(text, &end) : NAN;
    if (isfinite(amount) && *end && !end[1])
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (*end == units[i].unit && amount * units[i].seconds <= USAGE_SPAN_MAX_S) {
                *ret_s = now_s - amount * units[i].seconds;
                return true;
            }
    int64_t wall_ms;
    _cleanup_buf_ struct buf day = {0};
    buf_printf(&day, "%sT00:00:00Z", text);
    if (!time_parse(bytes_of(text), &wall_ms) && !time_parse(buf_view(&day), &wall_ms))
        return false;
    *ret_s = (double)wall_ms / 1000;
    return true;
}

/* PATH of a data directory means the store in it. */
static void store_of(struct buf *out, const char *path)
{
    struct stat st;
    buf_text(out, path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        buf_text(out, path[strlen(path) - 1] == '/' ? "usage.db" : "/usage.db");
}

/* The store of the cluster that the other commands ask: `capstan up` keeps it and the kubeconfig in one folder. */
static void default_store(struct buf *out, const char *kubeconfig)
{
    const char *base = getenv("XDG_DATA_HOME"), *home = getenv("HOME"), *list = kubeconfig ? kubeconfig : getenv("KUBECONFIG");
    for (bool there = false; list && *list && !there; list += strcspn(list, ":"), list += *list == ':') {
        size_t n = strcspn(list, ":");
        const char *slash = memrchr(list, '/', n);
        if (n == 0)
            continue;
        buf_clear(out);
        buf_add(out, list, slash ? (size_t)(slash - list) + 1 : 0);
        buf_text(out, "usage.db");
        there = access(out->data, F_OK) == 0;
    }
    if (out->n)
        return;
    if (base && *base)
        buf_printf(out, "%s/capstan/usage.db", base);
    else
        buf_printf(out, "%s/.local/share/capstan/usage.db", home && *home ? home : ".");
}

int usage_read_open(const char *store, const char *kubeconfig, struct arena *a, struct usage_store **ret_u, const char **ret_read_from,
                    struct err *e)
{
    _cleanup_buf_ struct buf path = {0};
    if (store)
        store_of(&path, store);
    else
        default_store(&path, kubeconfig);
    *ret_read_from = arena_text(a, path.data);
    int r = usage_open_to_read(path.data, ret_u, e);
    if (r == -E_NOTFOUND)
        return err_set(e, E_NOTFOUND, "%s: there is no such file; name the data directory of 'capstan up' or of an agent with --store",
                       path.data);
    return r;
}

int usage_read(const char *store, struct arena *a, double since_s, double until_s, struct usage_record **ret_records, uint32_t *ret_n,
               const char **ret_read_from, struct err *e)
{
    struct usage_store *u = NULL;
    int r = usage_read_open(store, NULL, a, &u, ret_read_from, e);
    if (r == 0)
        r = usage_since(u, a, since_s, until_s, ret_records, ret_n, e);
    usage_close(u);
    return r;
}
