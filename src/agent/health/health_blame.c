/* health_blame.c - candidates of an application error, until one of them ends */
#include <stdio.h>
#include "agent/health/health_blame.h"
#include "base/memory.h"

#define LIMIT_BLAME_PROCESSES 65536 /* processes kept from the last tick */

struct suspicion {
    struct blame_verdict v; /* pids: the candidates */
    int64_t since_ms;
    bool looked, done; /* looked: a list that is younger than the error has been seen */
};
struct seen_process {
    char uuid[48];
    uint32_t pid, gi, ci;
};
struct blame {
    struct suspicion items[BLAME_MAX];
    uint32_t items_n;
    struct seen_process *seen; /* of the last tick */
    uint32_t seen_n, seen_cap;
};

struct blame *blame_new(void)
{
    return mem_zero(1, sizeof(struct blame));
}

void blame_free(struct blame *b)
{
    if (!b)
        return;
    free(b->seen);
    free(b);
}

static bool reaches(const struct blame_verdict *v, const char *uuid, uint32_t gi, uint32_t ci)
{
    return text_equal(v->uuid, uuid) && (v->gi == HEALTH_WHOLE || v->gi == gi) && (v->ci == HEALTH_WHOLE || v->ci == ci);
}

void blame_start(struct blame *b, const char *uuid, uint32_t gi, uint32_t ci, uint32_t xid, int64_t now_ms)
{
    struct suspicion *it = &b->items[b->items_n < BLAME_MAX ? b->items_n++ : BLAME_MAX - 1];
    memset(it, 0, sizeof *it);
    (void)snprintf(it->v.uuid, sizeof it->v.uuid, "%s", uuid);
    it->v.gi = gi;
    it->v.ci = ci;
    it->v.xid = xid;
    it->since_ms = now_ms;
    for (uint32_t i = 0; i < b->seen_n && it->v.pids_n < HEALTH_PIDS; i++) {
        if (reaches(&it->v, b->seen[i].uuid, b->seen[i].gi, b->seen[i].ci))
            it->v.pids[it->v.pids_n++] = b->seen[i].pid;
    }
    it->done = b->items_n == BLAME_MAX;
}

/* Instances agree where one of them was not told. */
static bool agrees(uint32_t a, uint32_t b)
{
    return a == b || a == HEALTH_WHOLE || b == HEALTH_WHOLE;
}

void blame_culprit(struct blame *b, const char *uuid, uint32_t gi, uint32_t ci, uint32_t xid, uint32_t pid)
{
    for (uint32_t i = 0; i < b->items_n; i++) {
        struct suspicion *it = &b->items[i];
        if (it->done || it->v.xid != xid || !text_equal(it->v.uuid, uuid) || !agrees(it->v.gi, gi) || !agrees(it->v.ci, ci))
            continue;
        it->v.pids[0] = pid;
        it->v.pids_n = 1;
        it->v.sure = it->done = true;
    }
}

static bool runs(const struct driver_process *list, uint32_t n, uint32_t pid)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].pid == pid)
            return true;
    }
    return false;
}

static bool is_candidate(const struct suspicion *it, uint32_t pid)
{
    for (uint32_t i = 0; i < it->v.pids_n; i++) {
        if (it->v.pids[i] == pid)
            return true;
    }
    return false;
}

/* The list before the error may be old: who is there right after it was there, too. */
static void candidates_add(struct suspicion *it, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n)
{
    for (uint32_t i = 0; i < n && it->v.pids_n < HEALTH_PIDS; i++) {
        if (list[i].gpu < s->reading->gpus_n && reaches(&it->v, s->reading->gpus[list[i].gpu].uuid, list[i].gi, list[i].ci) &&
            !is_candidate(it, list[i].pid))
            it->v.pids[it->v.pids_n++] = list[i].pid;
    }
    it->looked = true;
}

static void suspicion_tick(struct suspicion *it, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n,
                           int64_t now_ms)
{
    if (!it->looked)
        candidates_add(it, s, list, n);
    struct blame_verdict ended = it->v;
    ended.pids_n = 0;
    for (uint32_t i = 0; i < it->v.pids_n; i++) {
        if (!runs(list, n, it->v.pids[i]))
            ended.pids[ended.pids_n++] = it->v.pids[i];
    }
    if (ended.pids_n) {
        ended.sure = true;
        it->v = ended;
        it->done = true;
    } else if (it->v.pids_n <= 1 || now_ms - it->since_ms >= HEALTH_BLAME_MS) {
        it->v.sure = it->v.pids_n == 1;
        it->done = true;
    }
}

void blame_tick(struct blame *b, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n, int64_t now_ms)
{
    for (uint32_t i = 0; i < b->items_n; i++) {
        if (!b->items[i].done)
            suspicion_tick(&b->items[i], s, list, n, now_ms);
    }
    b->seen_n = 0;
    for (uint32_t i = 0; i < n && b->seen_n < LIMIT_BLAME_PROCESSES; i++) {
        if (list[i].gpu >= s->reading->gpus_n)
            continue;
        MEM_RESERVE(b->seen, b->seen_cap, b->seen_n + 1);
        struct seen_process *p = &b->seen[b->seen_n++];
        memcpy(p->uuid, s->reading->gpus[list[i].gpu].uuid, sizeof p->uuid);
        p->pid = list[i].pid;
        p->gi = list[i].gi;
        p->ci = list[i].ci;
    }
}

bool blame_next(struct blame *b, struct blame_verdict *ret_verdict)
{
    for (uint32_t i = 0; i < b->items_n; i++) {
        if (!b->items[i].done)
            continue;
        *ret_verdict = b->items[i].v;
        memmove(&b->items[i], &b->items[i + 1], (b->items_n - i - 1) * sizeof *b->items);
        b->items_n--;
        return true;
    }
    return false;
}
