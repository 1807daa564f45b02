/* core_backfill.c - starts that are promised, against what then happens: small clusters whose jobs come, live and end
 *
 *   core_backfill [SEED [WORLDS]]
 *
 * SHAPE  time passes second by second; jobs come as they were drawn, are let in, bound, and end when they said that they would, or in the
 *        end where they said nothing. At any second a scheduler may begin anew from what the objects say. After each second:
 *          kept     nobody starts later than he was promised, nor is promised a later start, unless somebody in front of him started, or
 *                   was promised another start, since (or takes back what he would borrow)
 *          room     what runs, what is promised to those in front of him, and what he is promised himself fit the nodes and the quota
 *                   together for all of his time
 *          nobody waits who could start as things are without taking anything of what is promised to those in front of him
 *          first    a promise that is new is of the first time at which it can be kept; and in each queue that gives promises the first who
 *                   can have one has one
 *        All by adding up, second by second. Pods of one job are alike, so that counting places tells whether they fit.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

#define GPU "nvidia.com/gpu"
enum { JOBS_MOST = 24, NODES_MOST = 4, QUEUES_MOST = 3, LONGEST_S = 30, NEVER_S = 1 << 20 };

struct plain_promise {
    bool given;
    int start_s;
    int gpus[NODES_MOST];
    int sum;
    bool borrows;
};
struct plain_job {
    char name[16];
    int queue, pods_n, gpus, priority, created_s, runs_s;
    bool told;   /* how long it runs */
    int start_s; /* -1: waits */
    bool over;
    int on[NODES_MOST];   /* GPUs there */
    const char *nodes[8]; /* of its pods */
    struct plain_promise promise, before;
    bool excused; /* somebody in front of it has changed something since it was promised that */
};
struct drawn {
    struct random random;
    uint64_t seed;
    struct plain_job jobs[JOBS_MOST];
    int jobs_n, nodes_n, queues_n, size[NODES_MOST], nominal[QUEUES_MOST], borrowing[QUEUES_MOST];
    bool cohort;
    enum queue_backfill backfill[QUEUES_MOST];
    int64_t first_ms;
    int restarts; /* in so many of a hundred seconds */
    struct world w;
    uint64_t promises_n, passed_n, begun_n;
    bool trace;
};

static int pick(struct drawn *d, int n)
{
    return (int)random_below(&d->random, (uint64_t)n);
}

_Noreturn static void die(const struct drawn *d, int now_s, const char *what, const char *name, int have, int want)
{
    printf("not ok - seed %" PRIu64 ", second %d: %s: %s (%d, %d)\n", d->seed, now_s, name, what, have, want);
    exit(1);
}

/* ---- the world ---- */

static void draw(struct drawn *d)
{
    d->nodes_n = 1 + pick(d, NODES_MOST);
    int all = 0;
    for (int i = 0; i < d->nodes_n; i++)
        all += d->size[i] = 1 + pick(d, 4);
    d->queues_n = 1 + pick(d, QUEUES_MOST);
    d->cohort = pick(d, 2);
    bool plenty = pick(d, 2);
    for (int i = 0; i < d->queues_n; i++) {
        d->nominal[i] = plenty ? all : 1 + pick(d, all);
        d->borrowing[i] = pick(d, 2) ? pick(d, 5) : -1;
        d->backfill[i] = (enum queue_backfill)(i ? pick(d, 3) : 1 + pick(d, 2));
    }
    d->jobs_n = 4 + pick(d, JOBS_MOST - 3);
    int told = pick(d, 3) ? 100 : 70, hurry = 1 + pick(d, 4);
    for (int i = 0, at_s = 0; i < d->jobs_n; i++) {
        struct plain_job *j = &d->jobs[i];
        *j = (struct plain_job){.start_s = -1, .queue = pick(d, d->queues_n), .gpus = 1 + pick(d, 4)};
        snprintf(j->name, sizeof j->name, "j%02d", i);
        j->pods_n = pick(d, 3) ? 1 : 1 + pick(d, 5);
        j->priority = pick(d, 8) == 0;
        at_s += pick(d, hurry) ? 0 : pick(d, 8);
        j->created_s = at_s;
        j->runs_s = 1 + pick(d, pick(d, 2) ? 5 : LONGEST_S);
        j->told = pick(d, 100) < told;
    }
    d->restarts = pick(d, 2) ? 0 : 1 + pick(d, 30);
    d->first_ms = 1000000000;
}

static int64_t wall_ms(const struct drawn *d, int s)
{
    return d->first_ms + 1000 * (int64_t)s;
}

static const char *node_name(struct drawn *d, int i)
{
    return arena_printf(d->w.records, "n%d", i);
}

static int node_index(struct drawn *d, const char *name)
{
    return name[1] - '0';
}

static void tell_queues(struct drawn *d)
{
    flavor(&d->w, "any", "");
    for (int i = 0; i < d->nodes_n; i++)
        node(&d->w, node_name(d, i), arena_printf(d->w.records, "pods=100,cpu=100000," GPU "=%d", d->size[i]), "");
    for (int i = 0; i < d->queues_n; i++) {
        struct queue_words q;
        const char *name = arena_printf(d->w.records, "q%d", i);
        queue_begin(&d->w, &q, name, d->cohort ? "c" : "");
        q.r.backfill = d->backfill[i];
        queue_quota(&d->w, &q, "any", GPU, d->nominal[i], d->borrowing[i] < 0 ? NO_LIMIT : d->borrowing[i], NO_LIMIT);
        queue_done(&d->w, &q);
        local_queue(&d->w, arena_printf(d->w.records, "ns/%s", name), name);
    }
}

static struct gang_record record_of(struct drawn *d, const struct plain_job *j)
{
    struct gang_record r = a_workload(&d->w, j->name, arena_printf(d->w.records, "ns/q%d", j->queue), j->pods_n,
                                      arena_printf(d->w.records, GPU "=%d", j->gpus));
    r.created_ms = wall_ms(d, j->created_s) + (j - d->jobs);
    r.priority = j->priority;
    r.run_s = j->told ? j->runs_s : 0;
    r.run_by_limit = j->told;
    return r;
}

static struct gang_record record_of_started(struct drawn *d, const struct plain_job *j)
{
    struct gang_record r = admitted_in(&d->w, record_of(d, j), "any");
    r.admitted_queue = id(&d->w, arena_printf(d->w.records, "q%d", j->queue));
    r.reserved_ms = wall_ms(d, j->start_s);
    return r;
}

static void tell_pod(struct drawn *d, const struct plain_job *j, int i)
{
    struct pod_record p =
        a_pod(&d->w, arena_printf(d->w.records, "ns/%s-%d", j->name, i), j->name, arena_printf(d->w.records, GPU "=%d", j->gpus));
    p.pod_set = id(&d->w, "main");
    p.node = j->nodes[i] ? id(&d->w, j->nodes[i]) : 0;
    p.phase = j->nodes[i] ? POD_RUNNING : POD_PENDING;
    pod_record(&d->w, p);
}

/* ---- one second ---- */

static struct plain_job *job_of(struct drawn *d, const char *name)
{
    return &d->jobs[strtol(name + 1, NULL, 10)];
}

static bool waits(const struct drawn *d, const struct plain_job *j, int now_s)
{
    (void)d;
    return j->created_s <= now_s && j->start_s < 0;
}

static bool runs(const struct plain_job *j)
{
    return j->start_s >= 0 && !j->over;
}

static bool comes_before(const struct plain_job *a, const struct plain_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a < b;
}

static void let_in(struct drawn *d, struct plain_job *j, int now_s)
{
    if (j->start_s >= 0)
        return;
    j->start_s = now_s;
    if (d->trace)
        printf("%d: %s starts (%dx%d, queue %d, %d s)\n", now_s, j->name, j->pods_n, j->gpus, j->queue, j->told ? j->runs_s : -1);
    outcome(&d->w, EFFECT_ADMIT, j->name, NULL, OUTCOME_DONE);
    gang_record(&d->w, record_of_started(d, j));
    for (int i = 0; i < j->pods_n; i++)
        tell_pod(d, j, i);
}

static void bind(struct drawn *d, struct plain_job *j, const char *pod_key, const char *on)
{
    int i = (int)strtol(strrchr(pod_key, '-') + 1, NULL, 10);
    j->nodes[i] = node_name(d, node_index(d, on));
    j->on[node_index(d, on)] += j->gpus;
    tell_pod(d, j, i);
}

static void decide_until_nothing_is_left(struct drawn *d, int now_s)
{
    struct err e;
    d->w.no_remedies = pick(d, 4) != 0;
    for (int turn = 0;; turn++) {
        run(&d->w);
        for (uint32_t i = 0; i < d->w.plan.entries_n; i++) {
            const struct plan_entry *p = &d->w.plan.entries[i];
            struct plain_job *j = job_of(d, text_of(&d->w, p->gang));
            if (p->effect == EFFECT_ADMIT)
                let_in(d, j, now_s);
            if (p->effect == EFFECT_BIND)
                bind(d, j, text_of(&d->w, p->pod), text_of(&d->w, p->node));
        }
        if (!state_check(d->w.s, &e)) {
            printf("%s\n", e.text);
            die(d, now_s, "the state does not hold", "-", 0, 0);
        }
        if (!decide_has_work(d->w.s))
            return;
        if (turn > 100)
            die(d, now_s, "decides for ever", "-", 0, 0);
    }
}

static void end(struct drawn *d, struct plain_job *j)
{
    j->over = true;
    struct gang_record r = record_of_started(d, j);
    r.finished = true;
    gang_record(&d->w, r);
    for (int i = 0; i < j->pods_n; i++)
        gone(&d->w, CHANGE_POD_GONE, arena_printf(d->w.records, "ns/%s-%d", j->name, i));
}

/* ---- what is promised ---- */

static void read_promises(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++) {
        struct plain_job *j = &d->jobs[i];
        struct booking_record b;
        j->promise = (struct plain_promise){0};
        if (!waits(d, j, now_s) || !state_gang_booking(d->w.s, id(&d->w, j->name), &b))
            continue;
        j->promise.given = true;
        j->promise.borrows = b.borrows;
        j->promise.start_s = (int)((b.start_ms - d->first_ms) / 1000);
        for (uint32_t k = 0; k < b.places_n; k++)
            j->promise.gpus[node_index(d, text_of(&d->w, b.places[k].node))] += b.places[k].count * j->gpus;
        for (uint32_t k = 0; k < b.quota_n; k++)
            j->promise.sum += b.quota[k].resource == id(&d->w, GPU) ? (int)b.quota[k].amount : 0;
        if (j->promise.sum != j->pods_n * j->gpus)
            die(d, now_s, "is promised other quota than it needs", j->name, j->promise.sum, j->pods_n * j->gpus);
    }
}

static struct booking_record record_of_promise(struct drawn *d, const struct plain_job *j)
{
    struct booking_record b = {.start_ms = wall_ms(d, j->promise.start_s), .basis = 1, .borrows = j->promise.borrows};
    struct booked_place *places = arena_zero(d->w.records, NODES_MOST, sizeof *places);
    struct booked_quota *quota = arena_zero(d->w.records, 1, sizeof *quota);
    for (int i = 0; i < d->nodes_n; i++)
        if (j->promise.gpus[i])
            places[b.places_n++] = (struct booked_place){0, id(&d->w, node_name(d, i)), j->promise.gpus[i] / j->gpus};
    *quota = (struct booked_quota){id(&d->w, "any"), id(&d->w, GPU), j->promise.sum};
    b.places = places;
    b.quota = quota;
    b.quota_n = 1;
    return b;
}

/* A scheduler that begins anew, in any order of what it reads. */
static void begin_anew(struct drawn *d, int now_s)
{
    struct world fresh = world_new();
    const char *old_nodes[JOBS_MOST][8];
    for (int i = 0; i < d->jobs_n; i++)
        for (int k = 0; k < d->jobs[i].pods_n; k++)
            old_nodes[i][k] = d->jobs[i].nodes[k] ? arena_text(fresh.records, d->jobs[i].nodes[k]) : NULL;
    world_free(&d->w);
    d->w = fresh;
    d->w.now_ms = wall_ms(d, now_s);
    bool queues_first = pick(d, 2);
    if (queues_first)
        tell_queues(d);
    int first = pick(d, d->jobs_n);
    for (int n = 0; n < d->jobs_n; n++) {
        struct plain_job *j = &d->jobs[(first + n) % d->jobs_n];
        for (int k = 0; k < j->pods_n; k++)
            j->nodes[k] = old_nodes[j - d->jobs][k];
        if (waits(d, j, now_s)) {
            struct gang_record r = record_of(d, j);
            struct booking_record b = record_of_promise(d, j);
            r.booking = j->promise.given ? &b : NULL;
            gang_record(&d->w, r);
        } else if (runs(j)) {
            gang_record(&d->w, record_of_started(d, j));
            for (int k = 0; k < j->pods_n; k++)
                tell_pod(d, j, k);
        }
    }
    if (!queues_first)
        tell_queues(d);
    d->begun_n++;
}

/* ---- adding up ---- */

static int end_s(const struct plain_job *j)
{
    return j->told ? j->start_s + j->runs_s : NEVER_S;
}

static int promised_end_s(const struct plain_job *j)
{
    return j->told ? j->promise.start_s + j->runs_s : NEVER_S;
}

/* Is it bound by what `other` is promised? */
static bool is_bound(const struct drawn *d, const struct plain_job *j, const struct plain_job *other, int used)
{
    bool borrows = used + j->pods_n * j->gpus > d->nominal[j->queue];
    return other->promise.given && other != j && comes_before(other, j) &&
           !(other->promise.borrows && !borrows && other->queue != j->queue);
}

struct sums {
    int node[NODES_MOST], queue[QUEUES_MOST], all;
};

/* What is taken at that second, by who runs then, and by the promises that bind j. */
static struct sums sums_at(const struct drawn *d, const struct plain_job *j, int used, int s)
{
    struct sums x = {0};
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *other = &d->jobs[i];
        bool has = runs(other) && end_s(other) > s,
             will = is_bound(d, j, other, used) && other->promise.start_s <= s && promised_end_s(other) > s;
        for (int n = 0; n < d->nodes_n; n++)
            x.node[n] += has ? other->on[n] : will ? other->promise.gpus[n] : 0;
        x.queue[other->queue] += has || will ? other->pods_n * other->gpus : 0;
        x.all += has || will ? other->pods_n * other->gpus : 0;
    }
    return x;
}

static bool quota_holds(const struct drawn *d, const struct plain_job *j, const struct sums *x)
{
    int most = d->nominal[j->queue], all = 0, need = j->pods_n * j->gpus;
    for (int i = 0; i < d->queues_n; i++)
        all += d->nominal[i];
    if (!d->cohort)
        return x->queue[j->queue] + need <= most;
    bool own = d->borrowing[j->queue] < 0 || x->queue[j->queue] + need <= most + d->borrowing[j->queue];
    return own && x->all + need <= all;
}

/* Who is promised his queue's own quota has it within that. */
static bool others_have_their_own(const struct drawn *d, const struct plain_job *j, int used, int from_s, int s, const struct sums *x)
{
    bool have = true;
    for (int i = 0; i < d->jobs_n && have; i++) {
        const struct plain_job *other = &d->jobs[i];
        int then_s = other->promise.start_s > from_s ? other->promise.start_s : from_s;
        if (is_bound(d, j, other, used) && !other->promise.borrows && other->queue == j->queue && then_s == s && promised_end_s(other) > s)
            have = x->queue[j->queue] + j->pods_n * j->gpus <= d->nominal[j->queue];
    }
    return have;
}

/* Of its queue, with those of it in front. */
static int used_at(const struct drawn *d, const struct plain_job *j, int s)
{
    int used = 0;
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *other = &d->jobs[i];
        bool has = runs(other) && end_s(other) > s,
             will = other->promise.given && comes_before(other, j) && other->promise.start_s <= s && promised_end_s(other) > s;
        used += other != j && other->queue == j->queue && (has || will) ? other->pods_n * other->gpus : 0;
    }
    return used;
}

/* Seconds at which something begins: between them sums only fall. */
static bool something_begins(const struct drawn *d, const struct plain_job *j, int used, int s)
{
    bool any = false;
    for (int i = 0; i < d->jobs_n && !any; i++)
        any = is_bound(d, j, &d->jobs[i], used) && d->jobs[i].promise.start_s == s;
    return any;
}

static int last_s(const struct drawn *d, int from_s)
{
    int last = from_s;
    for (int i = 0; i < d->jobs_n; i++) {
        if (d->jobs[i].promise.given && d->jobs[i].promise.start_s > last)
            last = d->jobs[i].promise.start_s;
        if (d->jobs[i].promise.given && d->jobs[i].told && promised_end_s(&d->jobs[i]) > last)
            last = promised_end_s(&d->jobs[i]);
        if (runs(&d->jobs[i]) && d->jobs[i].told && end_s(&d->jobs[i]) > last)
            last = end_s(&d->jobs[i]);
    }
    return last;
}

/* Could it run from then on, for as long as it does, beside what is promised to those in front of it? */
static bool could_start(const struct drawn *d, const struct plain_job *j, int from_s)
{
    int left[NODES_MOST], places = 0, used = used_at(d, j, from_s), until_s = j->told ? from_s + j->runs_s : NEVER_S,
                          last = last_s(d, from_s);
    memcpy(left, d->size, sizeof left);
    for (int s = from_s; s < until_s && s <= last; s++) {
        if (s > from_s && !something_begins(d, j, used, s))
            continue;
        struct sums x = sums_at(d, j, used, s);
        if (!quota_holds(d, j, &x) || !others_have_their_own(d, j, used, from_s, s, &x))
            return false;
        for (int n = 0; n < d->nodes_n; n++)
            left[n] = d->size[n] - x.node[n] < left[n] ? d->size[n] - x.node[n] : left[n];
    }
    for (int n = 0; n < d->nodes_n; n++)
        places += left[n] > 0 ? left[n] / j->gpus : 0;
    return places >= j->pods_n;
}

static int earliest_s(const struct drawn *d, const struct plain_job *j, int now_s)
{
    for (int s = now_s, last = last_s(d, now_s); s <= last; s++)
        if (could_start(d, j, s))
            return s;
    return NEVER_S;
}

/* ---- checks ---- */

static bool differs(const struct plain_promise *a, const struct plain_promise *b)
{
    return memcmp(a, b, sizeof *a) != 0;
}

/* Is it one of those in front that was promised a start for a moment, unseen, where queues lend? Of its own queue while somebody is tried
 * who then takes that; of another until somebody starts whom that did not bind. */
static bool may_have_been_promised(const struct drawn *d, const struct plain_job *other, const struct plain_job *j, int now_s)
{
    bool starts = other->queue == j->queue;
    for (int i = 0; i < d->jobs_n && !starts; i++)
        starts = d->jobs[i].start_s == now_s;
    return starts && d->cohort && waits(d, other, now_s) && !other->promise.given;
}

/* Since the last second somebody in front of it started, or was promised another start; or, where it borrows, anybody who takes his own. */
static void excuse(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++) {
        struct plain_job *j = &d->jobs[i];
        for (int k = 0; k < d->jobs_n; k++) {
            const struct plain_job *other = &d->jobs[k];
            bool changed = other->start_s == now_s || differs(&other->promise, &other->before);
            bool in_front = comes_before(other, j) || (j->before.borrows && other->queue != j->queue);
            j->excused |= k != i && in_front && (changed || may_have_been_promised(d, other, j, now_s));
        }
    }
}

static void check_kept(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++) {
        struct plain_job *j = &d->jobs[i];
        if (j->before.given && !j->excused && j->start_s == now_s && now_s > j->before.start_s)
            die(d, now_s, "starts later than it was promised", j->name, now_s, j->before.start_s);
        if (j->before.given && !j->excused && j->start_s < 0 && (!j->promise.given || j->promise.start_s > j->before.start_s))
            die(d, now_s, "is promised a later start, or none", j->name, j->promise.given ? j->promise.start_s : -1, j->before.start_s);
        if (j->promise.given && (!j->before.given || differs(&j->promise, &j->before))) {
            d->promises_n++;
            j->excused = false;
        }
    }
}

static void check_room(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *j = &d->jobs[i];
        if (!j->promise.given)
            continue;
        if (j->promise.start_s <= now_s)
            die(d, now_s, "was promised a start that is over", j->name, j->promise.start_s, now_s);
        for (int s = j->promise.start_s; s < promised_end_s(j) && s <= last_s(d, now_s); s++) {
            struct sums x = sums_at(d, j, used_at(d, j, j->promise.start_s), s);
            for (int n = 0; n < d->nodes_n; n++)
                if (j->promise.gpus[n] && x.node[n] + j->promise.gpus[n] > d->size[n])
                    die(d, now_s, "has no room then on a node that it is promised", j->name, s, n);
            if (!quota_holds(d, j, &x))
                die(d, now_s, "has no quota then", j->name, s, x.queue[j->queue]);
        }
    }
}

static void check_nobody_waits(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++)
        if (waits(d, &d->jobs[i], now_s) && could_start(d, &d->jobs[i], now_s))
            die(d, now_s, "waits, though it takes nothing of what is promised to others", d->jobs[i].name, 0, 0);
}

static void check_first(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *j = &d->jobs[i];
        if (j->promise.given && differs(&j->promise, &j->before)) {
            int s = earliest_s(d, j, now_s);
            if (s != j->promise.start_s)
                die(d, now_s, "is promised another start than the first", j->name, j->promise.start_s, s);
        }
    }
    for (int q = 0; q < d->queues_n; q++) {
        const struct plain_job *first = NULL;
        int n = 0;
        for (int i = 0; i < d->jobs_n; i++) {
            const struct plain_job *j = &d->jobs[i];
            n += j->queue == q && j->promise.given;
            if (j->queue == q && waits(d, j, now_s) && (!first || comes_before(j, first)) && earliest_s(d, j, now_s) != NEVER_S)
                first = j;
        }
        if (n > (d->backfill[q] == BACKFILL_EASY ? 1 : d->backfill[q] == BACKFILL_NONE ? 0 : JOBS_MOST))
            die(d, now_s, "too many promises", "-", q, n);
        if (first && d->backfill[q] != BACKFILL_NONE && !first->promise.given)
            die(d, now_s, "is promised nothing", first->name, q, n);
    }
}

static void check(struct drawn *d, int now_s)
{
    for (int i = 0; i < d->jobs_n; i++)
        d->jobs[i].before = d->jobs[i].promise;
    read_promises(d, now_s);
    for (int i = 0; i < d->jobs_n && d->trace; i++)
        if (differs(&d->jobs[i].promise, &d->jobs[i].before) && d->jobs[i].start_s != now_s)
            printf("%d: %s is promised %d%s (%dx%d)\n", now_s, d->jobs[i].name, d->jobs[i].promise.start_s,
                   d->jobs[i].promise.borrows ? ", borrowing" : "", d->jobs[i].pods_n, d->jobs[i].gpus);
    excuse(d, now_s);
    check_kept(d, now_s);
    check_room(d, now_s);
    check_nobody_waits(d, now_s);
    check_first(d, now_s);
    for (int i = 0; i < d->jobs_n; i++)
        for (int k = 0; k < d->jobs_n && d->jobs[i].start_s == now_s; k++)
            d->passed_n += d->jobs[k].promise.given && comes_before(&d->jobs[k], &d->jobs[i]);
}

static void show(const struct drawn *d)
{
    for (int i = 0; i < d->nodes_n; i++)
        printf("node n%d: %d\n", i, d->size[i]);
    for (int i = 0; i < d->queues_n; i++)
        printf("queue %d: %d, borrows %d%s, backfill %d\n", i, d->nominal[i], d->borrowing[i], d->cohort ? ", cohort" : "",
               (int)d->backfill[i]);
    for (int i = 0; i < d->jobs_n; i++)
        printf("%s: queue %d, %dx%d, priority %d, comes %d, runs %d%s\n", d->jobs[i].name, d->jobs[i].queue, d->jobs[i].pods_n,
               d->jobs[i].gpus, d->jobs[i].priority, d->jobs[i].created_s, d->jobs[i].runs_s, d->jobs[i].told ? "" : ", says nothing");
}

static void live(struct drawn *d)
{
    int left = d->jobs_n, last = 0;
    if (d->trace)
        show(d);
    d->w = world_new();
    d->w.now_ms = wall_ms(d, 0);
    tell_queues(d);
    for (int now_s = 0; left && now_s < JOBS_MOST * (LONGEST_S + 10) && now_s - last < 2 * LONGEST_S; now_s++) {
        d->w.now_ms = wall_ms(d, now_s);
        if (pick(d, 100) < d->restarts)
            begin_anew(d, now_s - 1);
        d->w.now_ms = wall_ms(d, now_s);
        for (int i = 0; i < d->jobs_n; i++) {
            struct plain_job *j = &d->jobs[i];
            if (runs(j) && now_s >= j->start_s + j->runs_s) {
                end(d, j);
                left--;
                last = now_s;
            }
        }
        for (int i = 0; i < d->jobs_n; i++)
            if (d->jobs[i].created_s == now_s)
                gang_record(&d->w, record_of(d, &d->jobs[i]));
        decide_until_nothing_is_left(d, now_s);
        check(d, now_s);
        last = d->jobs[d->jobs_n - 1].created_s > now_s ? now_s : last;
    }
    world_free(&d->w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, worlds = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000, promises_n = 0,
             passed_n = 0, begun_n = 0;
    for (uint64_t i = 0; i < worlds; i++) {
        struct drawn *d = mem_zero(1, sizeof *d);
        *d = (struct drawn){.random.state = seed + i, .seed = seed + i, .trace = getenv("MODEL_TRACE") != NULL};
        draw(d);
        live(d);
        promises_n += d->promises_n;
        passed_n += d->passed_n;
        begun_n += d->begun_n;
        free(d);
    }
    printf("ok - %" PRIu64 " worlds, %" PRIu64 " promises, passed %" PRIu64 " times, begun anew %" PRIu64 " times\n", worlds, promises_n,
           passed_n, begun_n);
    return !promises_n || !passed_n;
}
