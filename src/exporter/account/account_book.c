/* account_book.c - who is in the books: pods and GPUs, each by its name */
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/account/account_parts.h"

/* ---- who is in the books ---- */

static void text_set(const char **to, const char *text)
{
    if (!text || !*text || (*to && text_equal(*to, text)))
        return;
    free((char *)*to);
    *to = mem_text(text);
}

static struct account_pod *pod_new(const struct account *a, const char *ns, const char *pod)
{
    struct account_pod *p = mem_zero(1, sizeof *p);
#define X(name) p->name = mem_text("");
    ACCOUNT_TEXTS(X)
#undef X
    text_set(&p->ns, ns);
    text_set(&p->pod, pod);
    text_set(&p->node, a->node_name);
    return p;
}

void account_pod_free(struct account_pod *p)
{
#define X(name) free((char *)p->name);
    ACCOUNT_TEXTS(X)
#undef X
    free(p);
}

/* NULL: too many pods. */
static struct account_pod **pod_slot(struct account *a, const char *ns, const char *pod)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, pod);
    struct account_pod **slot = map_find(a->pods, buf_view(&key));
    if (slot || map_count(a->pods) >= LIMIT_ACCOUNT_PODS)
        return slot;
    slot = map_put(a->pods, buf_view(&key), NULL);
    *slot = pod_new(a, ns, pod);
    return slot;
}

struct account_pod *account_pod_put(struct account *a, const char *ns, const char *pod)
{
    struct account_pod **slot = pod_slot(a, ns, pod);
    return slot ? *slot : NULL;
}

/* A new pod of an old name begins at 0, as its counters' readers expect of a new process. What nobody has drained of the old one is kept
 * beside until somebody does. */
static void replace(struct account *a, struct account_pod **slot)
{
    struct account_pod *old = *slot;
    *slot = pod_new(a, old->ns, old->pod);
    old->live = false;
    if (!old->changed || a->replaced_n >= LIMIT_ACCOUNT_PODS) {
        account_pod_free(old);
        return;
    }
    MEM_RESERVE(a->replaced, a->replaced_cap, a->replaced_n + 1);
    a->replaced[a->replaced_n++] = old;
}

struct account_pod *account_pod_of(struct account *a, const struct sample *s, const struct sample_allocation *l)
{
    if (l->container < 0)
        return NULL;
    const struct sample_container *c = &s->containers[l->container];
    const struct sample_unit *u = &s->units[l->unit];
    struct account_pod **slot = pod_slot(a, c->ns, c->pod);
    if (!slot)
        return NULL;
    if (*(*slot)->uid && *c->pod_uid && !text_equal((*slot)->uid, c->pod_uid))
        replace(a, slot);
    struct account_pod *p = *slot;
    text_set(&p->uid, c->pod_uid);
    text_set(&p->queue, c->queue);
    text_set(&p->job, c->job);
    text_set(&p->user, c->user);
    text_set(&p->device_kind, u->mig ? u->mig->profile : u->gpu->name);
    return p;
}

struct account_gpu *account_gpu_put(struct account *a, const char *uuid)
{
    struct account_gpu **slot = map_put(a->gpus, bytes_of(uuid), NULL);
    if (!*slot) {
        *slot = mem_zero(1, sizeof **slot);
        memcpy((*slot)->uuid, uuid, strlen(uuid) < sizeof(*slot)->uuid ? strlen(uuid) : sizeof(*slot)->uuid - 1);
    }
    return *slot;
}

/* ---- reading ---- */

static int pod_order(const void *a, const void *b)
{
    const struct account_pod *x = *(struct account_pod *const *)a, *y = *(struct account_pod *const *)b;
    int r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->pod, y->pod);
}

uint32_t account_pods(const struct account *a, const struct account_pod *const **ret_pods)
{
    struct account *own = (struct account *)a; /* the list is a cache */
    size_t at = 0;
    struct bytes key;
    own->pod_list_n = 0;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        MEM_RESERVE(own->pod_list, own->pod_list_cap, own->pod_list_n + 1);
        own->pod_list[own->pod_list_n++] = *p;
    }
    if (own->pod_list_n > 1) /* qsort takes no NULL, not even of nothing */
        qsort(own->pod_list, own->pod_list_n, sizeof *own->pod_list, pod_order);
    *ret_pods = own->pod_list;
    return own->pod_list_n;
}

uint32_t account_gpus(const struct account *a, const struct account_gpu *const **ret_gpus)
{
    struct account *own = (struct account *)a;
    size_t at = 0;
    struct bytes key;
    own->gpu_list_n = 0;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));) {
        MEM_RESERVE(own->gpu_list, own->gpu_list_cap, own->gpu_list_n + 1);
        own->gpu_list[own->gpu_list_n++] = *g;
    }
    *ret_gpus = own->gpu_list;
    return own->gpu_list_n;
}

void account_capacity_stored(struct account *a)
{
    size_t at = 0;
    struct bytes key;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));)
        (*g)->capacity_stored_s = (*g)->capacity_s;
}
