#include "sched/serve/visibility.h"
#include "base/limits.h"
#include "sched/scheduler.h"
#include "wire/json_reader.h"

enum { ITEMS_USUAL = 1000 };

/* SOURCE Kueue: 0 means as many as usual, less than nothing is nothing. */
static int number(const struct http_request *r, const char *key, int64_t otherwise, int64_t *ret, struct err *e)
{
    const char *text = http_query(r, key);
    *ret = 0;
    if (text && *text && !bytes_int64(bytes_of(text), ret))
        return err_set(e, E_INVALID, "%s: \"%.100s\" is no whole number", key, text);
    *ret = *ret == 0 ? otherwise : *ret < 0 ? 0 : *ret;
    return 0;
}

int visibility_query(const struct http_request *r, struct visibility_question *q, struct err *e)
{
    int code = number(r, "limit", ITEMS_USUAL, &q->limit, e);
    if (code == 0)
        code = number(r, "offset", 0, &q->offset, e);
    if (q->limit > LIMIT_PENDING_ITEMS)
        q->limit = LIMIT_PENDING_ITEMS;
    return code;
}

/* ---- one item ---- */

/* metadata alone: the rest of a Workload is pod templates. */
static const struct json *metadata_of(struct arena *a, struct bytes object)
{
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, object);
    if (json_reader_object(&r))
        while (json_reader_key(&r, &key)) {
            if (bytes_is(key, "metadata"))
                return json_parse(a, json_reader_raw(&r), NULL, NULL);
            json_reader_skip(&r);
        }
    return NULL;
}

static struct json *metadata_shown(struct arena *a, const struct json *metadata)
{
    static const char *const copied[] = {"name", "namespace", "creationTimestamp"}, *const of_owner[] = {"apiVersion", "kind", "name", "uid"};
    struct json *shown = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_get(metadata, copied[i]))
            json_set_text(a, shown, copied[i], json_get_text(metadata, copied[i], ""));
    JSON_EACH (reference, json_get(metadata, "ownerReferences")) {
        struct json *owner = json_new(a, JSON_OBJECT);
        for (size_t i = 0; i < sizeof of_owner / sizeof *of_owner; i++)
            json_set_text(a, owner, of_owner[i], json_get_text(reference, of_owner[i], ""));
        json_append(json_ensure_array(a, shown, "ownerReferences"), owner);
    }
    return shown;
}

/* False: it has no Workload. */
static bool write_item(const struct scheduler *s, struct arena *a, const struct pending_gang *g, int64_t place, int64_t local_place,
                       struct buf *out)
{
    char ns[256];
    const char *name, *local = intern_name(s->names, g->local_queue), *slash = strchr(local, '/');
    const struct seen_gang *seen = seen_gang(s, g->gang);
    if (!seen || seen->source != GANG_WORKLOAD)
        return false;
    pod_key_split(seen_gang_object(s, seen), ns, &name);
    const struct json *metadata = metadata_of(a, kube_cache_raw(s->sources[SOURCE_WORKLOADS].cache, ns, name));
    if (!metadata)
        return false;
    buf_text(out, out->data[out->n - 1] == '[' ? "{\"metadata\":" : ",{\"metadata\":");
    json_write(out, metadata_shown(a, metadata));
    buf_printf(out, ",\"priority\":%d,\"localQueueName\":", g->priority);
    json_write_string(out, bytes_of(slash ? slash + 1 : local));
    buf_printf(out, ",\"positionInClusterQueue\":%lld,\"positionInLocalQueue\":%lld}", (long long)place, (long long)local_place);
    return true;
}

/* ---- the summary ---- */

static void write_of_local_queue(const struct scheduler *s, struct arena *a, const struct visibility_question *q, name_id local_queue,
                                 const struct pending_gang *all, uint32_t n, struct buf *out)
{
    int64_t place = 0, written = 0;
    for (uint32_t i = 0; i < n && written < q->limit; i++)
        if (all[i].local_queue == local_queue && place++ >= q->offset)
            written += write_item(s, a, &all[i], i, place - 1, out);
}

static void write_of_cluster_queue(const struct scheduler *s, struct arena *a, const struct visibility_question *q,
                                   const struct pending_gang *all, uint32_t n, struct buf *out)
{
    struct map *places = map_new(sizeof(int64_t)); /* LocalQueue -> how many of it came before */
    int64_t end = q->offset < INT64_MAX - q->limit ? q->offset + q->limit : INT64_MAX;
    for (uint32_t i = 0; i < n && i < end; i++) {
        int64_t *place = map_put(places, (struct bytes){(const char *)&all[i].local_queue, sizeof all[i].local_queue}, NULL);
        if (i >= q->offset)
            (void)write_item(s, a, &all[i], i, *place, out);
        (*place)++;
    }
    map_free(places);
}

static int not_found(const char *what, const char *name, struct err *e)
{
    return err_set(e, E_NOTFOUND, "%s." VISIBILITY_GROUP " \"%s\" not found", what, name);
}

int visibility_answer(const struct scheduler *s, struct arena *a, const struct visibility_question *q, struct buf *out, struct err *e)
{
    const char *key = arena_printf(a, "%s/%s", q->ns, q->name), *queue = q->name;
    struct pending_gang *all;
    if (!s->synced)
        return err_set(e, E_AGAIN, "not everything has been read yet: ask again in a moment");
    if (*q->ns) {
        const struct json *local = source_get(s, SOURCE_LOCAL_QUEUES, key, a);
        if (!local)
            return not_found("localqueue", q->name, e);
        queue = json_text(json_path(local, "spec", "clusterQueue", NULL), "");
    } else if (!kube_cache_raw(s->sources[SOURCE_QUEUES].cache, "", queue).n) {
        return not_found("clusterqueue", q->name, e);
    }
    uint32_t n = state_queue_pending(s->state, intern_find(s->names, bytes_of(queue)), a, &all);
    buf_printf(out, "{\"kind\":\"PendingWorkloadsSummary\",\"apiVersion\":\"" VISIBILITY_GROUP "/%s\",\"metadata\":{},\"items\":[",
               q->version);
    if (*q->ns)
        write_of_local_queue(s, a, q, intern_find(s->names, bytes_of(key)), all, n, out);
    else
        write_of_cluster_queue(s, a, q, all, n, out);
    buf_text(out, "]}\n");
    return 0;
}
