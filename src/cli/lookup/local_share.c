#include "cli/lookup/local_share.h"
#include <string.h>
#include "kube/object.h"

#define LINES_MAX 3

const struct json *local_queue_of(const struct json *workload, const struct json *local_queues)
{
    const char *ns = object_meta(workload, "namespace"), *name = json_text(json_path(workload, "spec", "queueName", NULL), "");
    JSON_EACH (one, local_queues)
        if (strcmp(object_meta(one, "name"), name) == 0 && strcmp(object_meta(one, "namespace"), ns) == 0)
            return one;
    return NULL;
}

static int64_t share_of(const struct json *local_queue)
{
    const struct json *fair = json_path(local_queue, "status", "fairSharing", NULL);
    return json_get(fair, "admissionFairSharingStatus") ? json_get_int64(fair, "weightedShare", 0) : LOCAL_SHARE_UNKNOWN;
}

int64_t local_share_of(const struct json *workload, const struct json *local_queues)
{
    return share_of(local_queue_of(workload, local_queues));
}

bool local_shares_count(const struct json *cluster_queue)
{
    const char *mode = json_text(json_path(cluster_queue, "spec", "admissionScope", "admissionMode", NULL), "");
    return strcmp(mode, "UsageBasedAdmissionFairSharing") == 0;
}

static void add(struct arena *a, struct json *list, const struct json *local_queue)
{
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "localQueue", arena_printf(a, "%s/%s", object_meta(local_queue, "namespace"), object_meta(local_queue, "name")));
    json_set_int64(a, one, "weightedShare", share_of(local_queue));
    json_append(list, one);
}

static bool goes_before(const struct json *other, const struct json *own, const char *cluster_queue)
{
    return other != own && strcmp(json_text(json_path(other, "spec", "clusterQueue", NULL), ""), cluster_queue) == 0 &&
           json_int64(json_path(other, "status", "pendingWorkloads", NULL), 0) > 0 && share_of(other) != LOCAL_SHARE_UNKNOWN &&
           share_of(other) < share_of(own);
}

struct json *local_shares_ahead(struct arena *a, const struct json *workload, const struct json *local_queues, const char *cluster_queue)
{
    const struct json *own = local_queue_of(workload, local_queues);
    struct json *list = json_new(a, JSON_ARRAY);
    if (!own)
        return NULL;
    add(a, list, own);
    JSON_EACH (other, local_queues)
        if (goes_before(other, own, cluster_queue))
            add(a, list, other);
    return list->n > 1 ? list : NULL;
}

static const char *number(struct arena *a, const struct json *one)
{
    int64_t share = json_get_int64(one, "weightedShare", 0);
    return share == INT64_MAX ? "infinitely much" : arena_printf(a, "%lld", (long long)share);
}

const char *local_shares_text(struct arena *a, const struct json *shares)
{
    const struct json *own = json_first(shares);
    const char *text = "";
    uint32_t n = 0;
    for (const struct json *one = own->next; one; one = one->next)
        if (n++ < LINES_MAX)
            text = arena_printf(a, "%s%sLocalQueue %s goes first: it has used %s of late, LocalQueue %s %s", text, *text ? "\n" : "",
                                json_get_text(one, "localQueue", "?"), number(a, one), json_get_text(own, "localQueue", "?"),
                                number(a, own));
    return n > LINES_MAX ? arena_printf(a, "%s\nso do %u more", text, n - LINES_MAX) : text;
}
