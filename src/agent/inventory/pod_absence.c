/* pod_absence.c - see pod_absence.h */
#include "agent/inventory/pod_absence.h"
#include <stdio.h>
#include "base/memory.h"

struct entry {
    char *uid, *ns, *name;
    bool begun, ended, asks, deleted;
    bool quiet; /* ended or deleted, and no process of it was found since */
};
struct pod_absence {
    bool with_api;
    bool (*lives)(void *ctx, const char *uid);
    void *ctx;
    struct entry *pods;
    uint32_t pods_n, pods_cap;
    int64_t kubelet_since_ms; /* -1: not told; the time of the first list */
    char missing[200];
};

struct pod_absence *pod_absence_new(bool with_api, bool (*lives)(void *ctx, const char *uid), void *ctx)
{
    struct pod_absence *p = mem_zero(1, sizeof *p);
    p->with_api = with_api;
    p->lives = lives;
    p->ctx = ctx;
    p->kubelet_since_ms = -1;
    return p;
}

static void entry_clear(struct entry *it)
{
    free(it->uid);
    free(it->ns);
    free(it->name);
}

void pod_absence_free(struct pod_absence *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->pods_n; i++)
        entry_clear(&p->pods[i]);
    free(p->pods);
    free(p);
}

/* ---- the API server's word ---- */

static struct entry *entry_find(struct pod_absence *p, const char *uid)
{
    for (uint32_t i = 0; i < p->pods_n; i++)
        if (text_equal(p->pods[i].uid, uid))
            return &p->pods[i];
    return NULL;
}

void pod_absence_word(struct pod_absence *p, const struct pod_word *w)
{
    struct entry *it = entry_find(p, w->uid);
    if (!it) {
        MEM_RESERVE(p->pods, p->pods_cap, p->pods_n + 1);
        it = &p->pods[p->pods_n++];
        *it = (struct entry){.uid = mem_text(w->uid), .ns = mem_text(w->ns), .name = mem_text(w->name)};
    }
    it->begun = w->begun;
    it->ended = w->ended;
    it->asks = it->asks || w->asks; /* an ended pod's wishes are not read again */
    it->deleted = false;
    it->quiet = it->quiet && w->ended;
}

void pod_absence_deleted(struct pod_absence *p, const char *uid)
{
    struct entry *it = entry_find(p, uid);
    if (it)
        it->deleted = true; /* forgotten when no slot is its: pods_forget */
}

void pod_absence_kubelet_restarted(struct pod_absence *p, int64_t now_ms)
{
    p->kubelet_since_ms = now_ms;
}

/* ---- one list ---- */

/* What is asked of a list while it is settled. */
struct look {
    struct pod_absence *p;
    const struct pod_list *list;
    bool judged; /* by the API server's word; false: by time alone */
    int64_t kubelet_ms;
};

static bool is_of(const struct entry *it, const char *ns, const char *name)
{
    return text_equal(it->name, name) && text_equal(it->ns, ns);
}

static bool is_over(struct pod_absence *p, struct entry *it)
{
    if (!it->ended && !it->deleted)
        return false;
    it->quiet = it->quiet || !p->lives || !p->lives(p->ctx, it->uid);
    return it->quiet;
}

static bool list_names(const struct pod_list *l, const struct entry *it)
{
    for (uint32_t i = 0; i < l->named_n; i++)
        if (is_of(it, l->named[i].ns, l->named[i].name))
            return true;
    return false;
}

static bool list_gives(const struct pod_list *l, const char *ns, const char *pod)
{
    for (uint32_t i = 0; i < l->owners_n; i++)
        if (text_equal(l->owners[i].pod, pod) && text_equal(l->owners[i].ns, ns))
            return true;
    return false;
}

/* begun: of the pods that the kubelet has begun with; false: of all that are bound. NULL: every one is named. */
static const struct entry *not_named(const struct look *k, bool begun)
{
    for (uint32_t i = 0; i < k->p->pods_n; i++) {
        const struct entry *it = &k->p->pods[i];
        if (it->asks && (it->begun || !begun) && !it->ended && !it->deleted && !list_names(k->list, it))
            return it;
    }
    return NULL;
}

static bool is_whole(const struct look *k)
{
    const struct entry *missing = k->judged ? not_named(k, true) : NULL;
    k->p->missing[0] = '\0';
    if (missing)
        (void)snprintf(k->p->missing, sizeof k->p->missing, "%s/%s", missing->ns, missing->name);
    return k->judged ? !missing : k->kubelet_ms >= ABSENCE_KUBELET_MS;
}

/* Of an owner that the list does not name. */
static bool is_gone(void *ctx, const struct slot_owner *o, int64_t missing_ms)
{
    const struct look *k = ctx;
    struct pod_absence *p = k->p;
    bool heard = false, alive = false, asks = false, over = true;
    if (list_gives(k->list, o->ns, o->pod))
        return true; /* the kubelet has the pod, and with other slots */
    for (uint32_t i = 0; i < p->pods_n; i++) {
        struct entry *it = &p->pods[i];
        if (!is_of(it, o->ns, o->pod))
            continue;
        heard = true;
        if (it->ended || it->deleted) {
            over = is_over(p, it) && over;
            continue;
        }
        alive = true;
        asks = asks || it->asks;
    }
    if (heard)
        return over && (!alive || !asks);
    return k->judged ? missing_ms >= ABSENCE_UNHEARD_MS : k->kubelet_ms >= ABSENCE_KUBELET_MS;
}

/* WHY  kubelets list what a pod had until it is deleted, though others may have been given it since: nobody is to be charged for it, and
 *      nothing to wait for it. */
static bool goes_on(struct pod_absence *p, const struct slot_owner *o)
{
    bool over = false;
    for (uint32_t i = 0; i < p->pods_n; i++) {
        struct entry *it = &p->pods[i];
        if (!is_of(it, o->ns, o->pod))
            continue;
        if (!is_over(p, it))
            return true;
        over = true;
    }
    return !over;
}

static bool owns(const struct inventory_snapshot *s, const struct entry *it)
{
    for (uint32_t i = 0; i < s->owners_n; i++)
        if (is_of(it, s->owners[i].ns, s->owners[i].pod))
            return true;
    return false;
}

static void pods_forget(struct pod_absence *p, struct inventory *i)
{
    const struct inventory_snapshot *s = NULL;
    for (uint32_t k = p->pods_n; k-- > 0;) {
        if (!p->pods[k].deleted)
            continue;
        s = s ? s : inventory_now(i);
        if (owns(s, &p->pods[k]))
            continue;
        entry_clear(&p->pods[k]);
        p->pods[k] = p->pods[--p->pods_n];
    }
}

bool pod_absence_settle(struct pod_absence *p, struct inventory *i, const struct pod_list *l, int64_t now_ms)
{
    if (p->kubelet_since_ms < 0)
        p->kubelet_since_ms = now_ms;
    struct look k = {.p = p, .list = l, .judged = p->with_api && l->synced, .kubelet_ms = now_ms - p->kubelet_since_ms};
    struct slot_owner *going = mem_alloc((l->owners_n + 1) * sizeof *going);
    uint32_t going_n = 0;
    for (uint32_t n = 0; n < l->owners_n; n++)
        if (goes_on(p, &l->owners[n]))
            going[going_n++] = l->owners[n];
    struct owners_seen seen = {.owners = going, .n = going_n, .whole = is_whole(&k), .gone = is_gone, .ctx = &k};
    seen.complete = seen.whole && !(k.judged && not_named(&k, false));
    inventory_see_owners(i, &seen);
    free(going);
    pods_forget(p, i);
    return seen.whole;
}

void pod_absence_silent(struct pod_absence *p, struct inventory *i, bool no_kubelet)
{
    bool unsure = !no_kubelet || inventory_now(i)->owners_n > 0;
    for (uint32_t k = 0; k < p->pods_n && !unsure; k++)
        unsure = p->pods[k].asks && p->pods[k].begun && !p->pods[k].ended && !p->pods[k].deleted;
    inventory_owners_unknown(i, unsure);
    pods_forget(p, i);
}

const char *pod_absence_missing(const struct pod_absence *p)
{
    return p->missing;
}
