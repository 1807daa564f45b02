/* agent_steering.c - random pods, a kubelet that does what it likes within its rules, and a scheduler, against what must always hold:
 * no container gets the limits of another pod, no slot is given twice, every pod is served in the end, a difference is told once.
 *
 *   agent_steering [SEED [STEPS [RUNS [hasty]]]]
 *
 * hasty: questions are not held back; it must break
 *
 * Runs with an even number: the scheduler binds pods whose limits differ one after the other, and the kubelet takes what is preferred: then
 * nothing may be refused. Odd ones: a foreign scheduler, a kubelet that ignores preferences, loses answers and asks in any order.
 *
 * Events of pods come late: the kubelet may ask for one that the agent has not heard of. As the device plugin does, it is made to wait
 * until somebody is known who asks for so many. Pods are told in the order in which they were bound, and the kubelet takes those up in that
 * order whose events the agent lacks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "agent/plugin/steering.h"
#include "base/random.h"

#define RESOURCES 2
#define SLOTS 12
#define PODS 12
#define CONTAINERS 2

static const char *const resource_names[RESOURCES] = {"nvidia.com/gpu", "keti.com/mpsgpu"};
static const char *const slot_names[SLOTS] = {"g0::0", "g0::1", "g0::2", "g1::0", "g1::1", "g1::2",
                                              "g2::0", "g2::1", "g2::2", "g3::0", "g3::1", "g3::2"};
static const struct allocate_limits limit_kinds[3] = {{0, 0}, {30, 0}, {30, 4096}};

struct container {
    int resource, n, chosen[2], given[2]; /* given -1: not yet */
    bool told;
};
struct pod {
    enum { ABSENT, BOUND, RUNNING, FAILED } state;
    char name[16], uid[24];
    int containers_n, limits, asked_n; /* containers that were served */
    struct container containers[CONTAINERS];
    bool heard, begun; /* the agent has the pod's event; has that of its start */
    uint64_t bound;  /* counts */
    bool has_choice, listed; /* podresources has told of it: what schedulers can know */
    int64_t until, backoff, told_ms; /* FAILED: when the agent hears of it */
};
struct model {
    struct steering *g;
    struct arena *a;
    struct random random;
    struct pod pods[PODS];
    int owner[RESOURCES][SLOTS]; /* pod, -1 free: the kubelet's book */
    bool strict;                 /* even runs */
    int64_t now;
    uint64_t uids, refused_n, served_n, seed, held_n;
};

static bool holds = true; /* off to see that it is missed: agent_steering SEED STEPS RUNS hasty */

static void broken(const struct model *m, const char *what)
{
    fprintf(stderr, "broken: %s (seed %" PRIu64 ", step %" PRId64 ")\n", what, m->seed, m->now);
    exit(1);
}

static int below(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

/* ---- scheduler ---- */

static bool is_chosen(const struct model *m, int resource, int slot)
{
    for (int i = 0; i < PODS; i++) {
        const struct pod *p = &m->pods[i];
        bool unsettled = p->state == BOUND || (p->state == RUNNING && !p->listed);
        for (int c = 0; unsettled && p->has_choice && c < p->containers_n; c++) {
            for (int k = 0; k < p->containers[c].n; k++) {
                if (p->containers[c].resource == resource && p->containers[c].chosen[k] == slot)
                    return true;
            }
        }
    }
    return false;
}

/* Slots that the bound pods ask for: a node has no more than it has, whichever they are. */
static bool has_room(const struct model *m, const struct pod *p)
{
    int used[RESOURCES] = {0};
    for (int i = 0; i < PODS; i++) {
        const struct pod *q = &m->pods[i];
        for (int c = 0; (q == p || q->state == BOUND || q->state == RUNNING) && c < q->containers_n; c++)
            used[q->containers[c].resource] += q->containers[c].n;
    }
    return used[0] <= SLOTS && used[1] <= SLOTS;
}

static bool choose(struct model *m, struct pod *p)
{
    bool mine[RESOURCES][SLOTS] = {{false}};
    for (int c = 0; c < p->containers_n; c++) {
        struct container *it = &p->containers[c];
        int found = 0;
        for (int k = 0, s = below(m, SLOTS); k < SLOTS && found < it->n; k++, s = (s + 1) % SLOTS) {
            if (m->owner[it->resource][s] >= 0 || is_chosen(m, it->resource, s) || mine[it->resource][s])
                continue;
            mine[it->resource][s] = true;
            it->chosen[found++] = s;
        }
        if (found < it->n)
            return false;
    }
    return true;
}

/* Somebody who is not yet known to have its slots might be taken for p. */
static bool is_confusable(const struct model *m, const struct pod *p)
{
    for (int i = 0; i < PODS; i++) {
        const struct pod *q = &m->pods[i];
        bool unsettled = q->state == BOUND || (q->state == RUNNING && !q->listed);
        if (q == p || !unsettled || q->limits == p->limits)
            continue;
        for (int c = 0; c < p->containers_n; c++) {
            for (int k = 0; k < q->containers_n; k++) {
                if (p->containers[c].resource == q->containers[k].resource && p->containers[c].n == q->containers[k].n)
                    return true;
            }
        }
    }
    return false;
}

/* The agent hears of a pod. */
static void hear(struct model *m, struct pod *p)
{
    struct steering_want wants[CONTAINERS];
    const char *slots[CONTAINERS][2], *names[CONTAINERS] = {"first", "second"};
    for (int c = 0; c < p->containers_n; c++) {
        struct container *it = &p->containers[c];
        for (int k = 0; k < it->n; k++)
            slots[c][k] = slot_names[it->chosen[k]];
        wants[c] = (struct steering_want){names[c], resource_names[it->resource], p->has_choice ? slots[c] : NULL, (uint32_t)it->n,
                                          limit_kinds[p->limits], false};
    }
    p->heard = true;
    steering_pod(m->g, "ns", p->name, p->uid, wants, (uint32_t)p->containers_n, m->now);
}

/* The next one in the order of binding; whether it is still to be admitted or not. */
static void hear_next(struct model *m)
{
    struct pod *next = NULL;
    for (int i = 0; i < PODS; i++) {
        struct pod *p = &m->pods[i];
        if ((p->state == BOUND || p->state == RUNNING) && !p->heard && (!next || p->bound < next->bound))
            next = p;
    }
    if (next)
        hear(m, next);
}

static void bind(struct model *m, struct pod *p)
{
    if ((m->strict && (is_confusable(m, p) || steering_waiting(m->g) > 4)) || !has_room(m, p) || !choose(m, p))
        return;
    (void)snprintf(p->uid, sizeof p->uid, "uid-%" PRIu64, ++m->uids);
    p->state = BOUND;
    p->listed = p->heard = p->begun = false;
    p->bound = m->uids;
    p->asked_n = 0;
    for (int c = 0; c < p->containers_n; c++) {
        struct container *it = &p->containers[c];
        for (int k = 0; k < it->n; k++)
            it->given[k] = -1;
        it->told = false;
    }
}

static void pod_make(struct model *m, struct pod *p)
{
    p->containers_n = 1 + below(m, CONTAINERS);
    p->limits = below(m, 3);
    p->has_choice = m->strict || below(m, 10) > 0;
    p->backoff = 10;
    for (int c = 0; c < p->containers_n; c++)
        p->containers[c] = (struct container){.resource = below(m, 4) == 0, .n = 1 + (below(m, 3) == 0)};
}

/* ---- kubelet ---- */

static void slots_free(struct model *m, int pod)
{
    for (int r = 0; r < RESOURCES; r++) {
        for (int s = 0; s < SLOTS; s++) {
            if (m->owner[r][s] == pod)
                m->owner[r][s] = -1;
        }
    }
}

static int slot_index(const char *name)
{
    for (int i = 0; i < SLOTS; i++) {
        if (text_equal(slot_names[i], name))
            return i;
    }
    return -1;
}

/* The kubelet's own pick among the free ones; with the preference where it is asked for and heeded. */
static bool pick(struct model *m, const struct container *it, const char *ret[2])
{
    const char *available[SLOTS];
    const char **preferred = NULL;
    int n = 0;
    for (int k = 0, s = below(m, SLOTS); k < SLOTS; k++, s = (s + 1) % SLOTS) {
        if (m->owner[it->resource][s] < 0)
            available[n++] = slot_names[s];
    }
    if (n < it->n)
        return false;
    for (int k = 0; k < it->n; k++)
        ret[k] = available[k];
    arena_reset(m->a);
    if (n == it->n)
        return true;
    if (!steering_prefer(m->g, m->a, resource_names[it->resource], available, (uint32_t)n, (uint32_t)it->n, m->now, &preferred))
        (void)steering_unreserved(m->g, m->a, resource_names[it->resource], available, (uint32_t)n, (uint32_t)it->n, m->now, &preferred);
    for (int k = 0; k < it->n; k++) {
        int s = slot_index(preferred[k]);
        if (s < 0 || m->owner[it->resource][s] >= 0)
            broken(m, "a slot was preferred that is not free");
    }
    bool heeds = m->strict || below(m, 10) > 0;
    for (int k = 0; heeds && k < it->n; k++)
        ret[k] = preferred[k];
    return true;
}

enum outcome { SERVED, REFUSED, LOST };

/* What the device plugin does with a question that nobody is known to have: it waits for events. Those of pods before this one come
 * first. */
static void hold(struct model *m, const struct pod *p, const struct container *it)
{
    m->held_n += !p->heard && !steering_awaits(m->g, resource_names[it->resource], (uint32_t)it->n, false, m->now);
    while (!p->heard && !steering_awaits(m->g, resource_names[it->resource], (uint32_t)it->n, false, m->now))
        hear_next(m);
}

static enum outcome serve(struct model *m, int pod, struct container *it)
{
    const char *slots[2], *ns, *name;
    struct pod *p = &m->pods[pod];
    struct allocate_limits limits;
    struct err e = {0};
    if (holds)
        hold(m, p, it);
    if (!pick(m, it, slots))
        return REFUSED;
    if (steering_admit(m->g, resource_names[it->resource], slots, (uint32_t)it->n, m->now, &limits, &ns, &name, &e) < 0) {
        if (m->strict)
            broken(m, e.text);
        m->refused_n++;
        return REFUSED;
    }
    if (limits.thread_percentage != limit_kinds[p->limits].thread_percentage ||
        limits.pinned_memory_mib != limit_kinds[p->limits].pinned_memory_mib)
        broken(m, "a container got the limits of another pod");
    if (name[0] && !text_equal(name, p->name))
        broken(m, "a container was taken for another one");
    if (!m->strict && below(m, 40) == 0)
        return LOST;
    for (int k = 0; k < it->n; k++) {
        it->given[k] = slot_index(slots[k]);
        if (m->owner[it->resource][it->given[k]] >= 0)
            broken(m, "a slot was given twice");
        m->owner[it->resource][it->given[k]] = pod;
    }
    return SERVED;
}

/* A pod that the agent has not heard of, beside one that was bound before and waits: the kubelet takes that one up first. That it has
 * refused one it tells before the next one comes. */
static bool is_in_turn(const struct model *m, const struct pod *p)
{
    for (int i = 0; i < PODS && !p->heard; i++)
        if (m->pods[i].bound < p->bound && (m->pods[i].state == BOUND || (m->pods[i].state == FAILED && m->now <= m->pods[i].told_ms)))
            return false;
    return true;
}

static void admit_pod(struct model *m, int pod)
{
    struct pod *p = &m->pods[pod];
    if (!is_in_turn(m, p))
        return;
    while (p->asked_n < p->containers_n) {
        switch (serve(m, pod, &p->containers[p->asked_n])) {
        case LOST: /* the kubelet stops before it has written down the answer, and starts again */
            steering_kubelet_restarted(m->g);
            return;
        case REFUSED: /* UnexpectedAdmissionError: for ever */
            p->state = FAILED;
            slots_free(m, pod);
            p->told_ms = m->now + below(m, 10);
            p->until = p->told_ms + 1 + below(m, (int)p->backoff);
            p->backoff = p->backoff < 5000 ? p->backoff * 2 : p->backoff;
            return;
        case SERVED:
            p->asked_n++;
            break;
        }
    }
    p->state = RUNNING;
    m->served_n++;
    p->until = m->now + below(m, 300);
}

/* ---- podresources ---- */

static void list(struct model *m)
{
    static const char *const names[CONTAINERS] = {"first", "second"};
    struct slot_owner owners[RESOURCES * SLOTS];
    struct steering_difference *told;
    uint32_t n = 0;
    for (int i = 0; i < PODS; i++) {
        struct pod *p = &m->pods[i];
        p->listed = p->state == RUNNING;
        for (int c = 0; p->state == RUNNING && c < p->containers_n; c++) {
            for (int k = 0; k < p->containers[c].n; k++)
                owners[n++] = (struct slot_owner){resource_names[p->containers[c].resource], slot_names[p->containers[c].given[k]], "ns",
                                                  p->name, names[c]};
        }
    }
    steering_settled(m->g, owners, n);
    arena_reset(m->a);
    struct steering_wrong_limits *wrong;
    if (steering_wrong_limits(m->g, m->a, &wrong))
        broken(m, "limits are said to be of another pod, and are not");
    arena_reset(m->a);
    n = steering_differences(m->g, m->a, &told);
    for (uint32_t d = 0; d < n; d++) {
        struct pod *p = NULL;
        for (int i = 0; i < PODS; i++) {
            if (m->pods[i].state == RUNNING && text_equal(m->pods[i].uid, told[d].uid))
                p = &m->pods[i];
        }
        struct container *it = p ? &p->containers[text_equal(told[d].container, "second")] : NULL;
        if (!it || it->told || !p->has_choice)
            broken(m, "a difference was told twice, or of nobody");
        bool same = true;
        for (int k = 0; k < it->n; k++)
            same = same && (it->given[k] == it->chosen[0] || (it->n == 2 && it->given[k] == it->chosen[1]));
        if (same)
            broken(m, "a difference was told that is none");
        it->told = true;
    }
}

static bool step(struct model *m, bool quiet)
{
    bool all = true;
    int order = below(m, PODS);
    m->now++;
    for (int i = 0; i < PODS; i++) {
        int at = (i + order) % PODS;
        struct pod *p = &m->pods[at];
        if (p->state == ABSENT && !quiet && below(m, 20) == 0)
            pod_make(m, p);
        if (p->state == ABSENT && p->containers_n && below(m, 3) == 0)
            bind(m, p);
        if (p->state == BOUND && below(m, 5) == 0)
            admit_pod(m, at);
        if (p->state == RUNNING && m->now >= p->until) {
            p->state = ABSENT;
            p->containers_n = 0;
            slots_free(m, at);
            steering_pod_gone(m->g, p->uid);
        }
        if (p->state == FAILED && m->now >= p->told_ms)
            steering_pod_gone(m->g, p->uid);
        if (p->state == FAILED && m->now >= p->until) /* its controller makes it again */
            p->state = ABSENT;
        if (p->state == BOUND && !quiet && below(m, 400) == 0) {
            p->state = ABSENT; /* deleted before it was admitted */
            p->containers_n = 0;
            slots_free(m, at);
            steering_pod_gone(m->g, p->uid);
        }
        all = all && p->containers_n == 0;
    }
    if (below(m, 2) == 0)
        hear_next(m);
    for (int i = 0; i < PODS; i++) {
        struct pod *p = &m->pods[i];
        if (p->state == RUNNING && p->heard && !p->begun && below(m, 4) == 0) {
            p->begun = true;
            steering_begun(m->g, p->uid, m->now);
        }
    }
    if (below(m, 4) == 0)
        list(m);
    return all;
}

static void run(uint64_t seed, int64_t steps, bool strict, uint64_t *served_n, uint64_t *refused_n, uint64_t *held_n)
{
    struct model m = {.g = steering_new(), .a = arena_new(), .random = {seed}, .seed = seed, .strict = strict};
    for (int r = 0; r < RESOURCES; r++) {
        for (int s = 0; s < SLOTS; s++)
            m.owner[r][s] = -1;
    }
    for (int i = 0; i < PODS; i++)
        (void)snprintf(m.pods[i].name, sizeof m.pods[i].name, "pod-%d", i);
    while (m.now < steps)
        (void)step(&m, false);
    for (int64_t end = m.now + 500000; !step(&m, true);) {
        if (m.now >= end)
            broken(&m, "a pod was never served");
    }
    if (steering_waiting(m.g))
        broken(&m, "somebody still waits who is gone");
    *served_n += m.served_n;
    *refused_n += m.refused_n;
    *held_n += m.held_n;
    steering_free(m.g);
    arena_free(m.a);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int64_t steps = argc > 2 ? strtoll(argv[2], NULL, 10) : 3000;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 300, served_n = 0, refused_n = 0, held_n = 0;
    holds = argc <= 4;
    for (uint64_t i = 0; i < runs; i++)
        run(seed + i, steps, i % 2 == 0, &served_n, &refused_n, &held_n);
    printf("agent_steering: %" PRIu64 " runs of %" PRId64 " steps: %" PRIu64 " pods served, %" PRIu64 " containers refused, %" PRIu64
           " held back\n", runs, steps, served_n, refused_n, held_n);
    return held_n ? 0 : 1;
}
