/* core_time.c - small lines of gangs on up to four nodes: each turn of backfill against a reference that looks at every millisecond and at
 * every way to put pods onto nodes
 *
 *   core_time [SEED [CASES]]
 *
 * Gangs come at equal times and behind each other, are longer or shorter than expected or of no length at all, ask for more than the
 * cluster has, and are charged to quotas; some nodes take only short ones. In each turn: who fits when the line comes to him has
 * started, on nodes that have room for all of his time, and nobody else has; who is promised a start is promised the earliest; and
 * nobody who starts behind him makes it later. In a line in the order of arrival, with one promise at a time and exact expectations, no
 * promise is ever later than the one before, and all are kept.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "core/time/backfill.h"

enum { NODES = 4, QUOTAS = 2, ROWS = NODES + QUOTAS, GANGS = 12, PODS = 5, LONGEST = 12 };

struct plain_gang {
    int64_t came, runs, expected, pods[PODS];
    uint32_t pods_n, quota, shape, nodes[PODS];
    uint64_t key;
    bool waits, stands, never, anywhere;
    int64_t from, until, promised; /* until: as expected now; promised: in the last turn; -1: not */
};
struct model {
    struct random random;
    struct profile profile;
    struct backfill line;
    struct backfill_policy policy;
    struct plain_gang gangs[GANGS];
    struct {
        uint32_t owner, nodes[PODS];
    } started[GANGS];
    uint32_t gangs_n, nodes_n, rows_n, started_n;
    int64_t capacity[ROWS], longest[ROWS], now;
    bool in_order, exact;
    uint64_t seed, number;
};

static void fail(const struct model *m, const char *what, uint32_t owner)
{
    fprintf(stderr, "core_time: case %" PRIu64 " of seed %" PRIu64 ", at %" PRId64 ", gang %u: %s\n", m->number, m->seed, m->now, owner,
            what);
    exit(1);
}

static int64_t below(struct model *m, int64_t n)
{
    return (int64_t)random_below(&m->random, (uint64_t)n);
}

/* ---- the reference: every millisecond, every way ---- */

struct plain_hold {
    uint32_t row;
    int64_t amount, from, until;
};
struct plain_holds {
    struct plain_hold all[GANGS * (PODS + 1) * 2];
    uint32_t n;
};

static int64_t length_of(const struct plain_gang *g)
{
    return g->expected > 0 ? g->expected : 1;
}

static void hold(struct plain_holds *h, const struct plain_gang *g, const uint32_t *nodes, int64_t from, int64_t until)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->pods_n; i++) {
        h->all[h->n++] = (struct plain_hold){nodes[i], g->pods[i], from, until};
        sum += g->pods[i];
    }
    if (g->quota != RESERVE_NO_QUOTA)
        h->all[h->n++] = (struct plain_hold){g->quota, sum, from, until};
}

static int64_t room(const struct model *m, const struct plain_holds *h, uint32_t row, int64_t from, int64_t until)
{
    int64_t least = INT64_MAX;
    for (int64_t t = from; t < until; t++) {
        int64_t left = m->capacity[row];
        for (uint32_t i = 0; i < h->n; i++)
            left -= h->all[i].row == row && h->all[i].from <= t && t < h->all[i].until ? h->all[i].amount : 0;
        least = left < least ? left : least;
    }
    return least;
}

static bool every_way(const struct plain_gang *g, uint32_t pod, int64_t *left, uint32_t nodes_n)
{
    bool found = pod >= g->pods_n || pod >= PODS;
    for (uint32_t k = 0; k < nodes_n && !found; k++) {
        if (left[k] < g->pods[pod])
            continue;
        left[k] -= g->pods[pod];
        found = every_way(g, pod + 1, left, nodes_n);
        left[k] += g->pods[pod];
    }
    return found;
}

static bool fits_at(const struct model *m, const struct plain_holds *h, const struct plain_gang *g, int64_t from)
{
    int64_t left[NODES], sum = 0, until = from + length_of(g);
    for (uint32_t i = 0; i < g->pods_n; i++)
        sum += g->pods[i];
    if (g->quota != RESERVE_NO_QUOTA && room(m, h, g->quota, from, until) < sum)
        return false;
    for (uint32_t k = 0; k < m->nodes_n; k++)
        left[k] = g->anywhere || g->expected <= m->longest[k] ? room(m, h, k, from, until) : 0;
    return every_way(g, 0, left, m->nodes_n);
}

/* -1: never. */
static int64_t earliest(const struct model *m, const struct plain_holds *h, const struct plain_gang *g)
{
    int64_t last = m->now;
    for (uint32_t i = 0; i < h->n; i++)
        last = h->all[i].until > last ? h->all[i].until : last;
    for (int64_t t = m->now; t <= last; t++)
        if (fits_at(m, h, g, t))
            return t;
    return -1;
}

static void check_places(const struct model *m, const struct plain_holds *h, uint32_t owner, const uint32_t *nodes, int64_t from)
{
    const struct plain_gang *g = &m->gangs[owner];
    struct plain_holds with = *h;
    hold(&with, g, nodes, from, from + length_of(g));
    for (uint32_t i = 0; i < g->pods_n; i++)
        if (!g->anywhere && g->expected > m->longest[nodes[i]])
            fail(m, "lasts longer than anybody may on its node", owner);
    for (uint32_t k = 0; k < m->rows_n; k++)
        if (room(m, &with, k, from, from + length_of(g)) < 0)
            fail(m, "was given what somebody else has in that time", owner);
}

/* ---- a turn ---- */

static void started(void *arg, const struct backfill_gang *g, const uint32_t *nodes)
{
    struct model *m = arg;
    m->started[m->started_n].owner = g->owner;
    memcpy(m->started[m->started_n++].nodes, nodes, m->gangs[g->owner].pods_n * sizeof *nodes);
}

static uint32_t in_line(const struct model *m, uint32_t *ret_order)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->gangs_n; i++) {
        if (!m->gangs[i].waits)
            continue;
        uint32_t at = n++;
        for (; at && m->gangs[ret_order[at - 1]].key > m->gangs[i].key; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
    return n;
}

static void runs_now(const struct model *m, struct plain_holds *ret_holds)
{
    ret_holds->n = 0;
    for (uint32_t i = 0; i < m->gangs_n; i++)
        if (m->gangs[i].stands)
            hold(ret_holds, &m->gangs[i], m->gangs[i].nodes, m->gangs[i].from, m->gangs[i].until);
}

static void take_start(struct model *m, struct plain_holds *h, uint32_t owner, const uint32_t *nodes)
{
    struct plain_gang *g = &m->gangs[owner];
    check_places(m, h, owner, nodes, m->now);
    if (m->policy.promises_n == 1 && m->in_order && m->exact && g->promised >= 0 && m->now > g->promised)
        fail(m, "starts later than it was promised", owner);
    g->waits = false;
    g->stands = true;
    g->from = m->now;
    g->until = m->now + length_of(g);
    memcpy(g->nodes, nodes, sizeof g->nodes);
    hold(h, g, nodes, g->from, g->until);
}

static void take_promise(struct model *m, struct plain_holds *h, uint32_t owner, uint32_t *promised_n)
{
    struct plain_gang *g = &m->gangs[owner];
    int64_t first = earliest(m, h, g);
    if (first < 0) {
        g->never = true;
        return;
    }
    if (*promised_n == m->line.promised_n || m->line.promises[*promised_n].gang.owner != owner)
        fail(m, "is promised nothing", owner);
    const struct backfill_promise *p = &m->line.promises[(*promised_n)++];
    if (p->start_ms != first)
        fail(m, "is promised another time than the earliest", owner);
    check_places(m, h, owner, p->nodes, first);
    if (m->policy.promises_n == 1 && m->in_order && m->exact && g->promised >= 0 && first > g->promised)
        fail(m, "is promised a later start than before", owner);
    g->promised = first;
    hold(h, g, p->nodes, first, first + length_of(g));
}

/* Those who passed it have started by now: could it still start when it was promised to? */
static void check_kept(const struct model *m)
{
    struct plain_holds h;
    if (!m->line.promised_n)
        return;
    const struct backfill_promise *p = &m->line.promises[0];
    runs_now(m, &h);
    int64_t first = earliest(m, &h, &m->gangs[p->gang.owner]);
    if (first < 0 || first > p->start_ms)
        fail(m, "cannot start when it was promised to, for those who passed it", p->gang.owner);
}

static void turn(struct model *m)
{
    uint32_t order[GANGS], n = in_line(m, order), started_n = 0, promised_n = 0;
    struct plain_holds h;
    runs_now(m, &h);
    m->started_n = 0;
    backfill_turn(&m->line, m->now, started, m);
    for (uint32_t i = 0; i < n; i++) {
        if (fits_at(m, &h, &m->gangs[order[i]], m->now)) {
            if (started_n == m->started_n || m->started[started_n].owner != order[i])
                fail(m, "fits and has not started", order[i]);
            take_start(m, &h, order[i], m->started[started_n++].nodes);
            continue;
        }
        if (promised_n < m->policy.promises_n)
            take_promise(m, &h, order[i], &promised_n);
        if (m->policy.is_strict)
            break;
    }
    if (started_n != m->started_n)
        fail(m, "has started, and does not fit or is not its turn", m->started[started_n].owner);
    if (promised_n != m->line.promised_n)
        fail(m, "has a promise that is not its turn", m->line.promises[promised_n].gang.owner);
    check_kept(m);
}

/* ---- a case ---- */

static void draw_pods(struct model *m, struct plain_gang *g)
{
    int64_t capacity = m->capacity[0];
    g->pods_n = 1 + (uint32_t)below(m, PODS);
    if (below(m, 2)) { /* alike */
        int64_t each = 1 + below(m, below(m, 12) ? capacity : capacity + 1);
        for (uint32_t i = 0; i < g->pods_n; i++)
            g->pods[i] = each;
        return;
    }
    for (uint32_t i = 0; i < g->pods_n; i++)
        g->pods[i] = capacity;
    g->pods[g->pods_n - 1] = 1 + below(m, capacity);
}

static void draw_gang(struct model *m, uint32_t at)
{
    struct plain_gang *g = &m->gangs[at];
    *g = (struct plain_gang){.came = at ? m->gangs[at - 1].came + (below(m, 2) ? below(m, 8) : 0) : 0, .promised = -1};
    g->runs = below(m, 6) ? below(m, LONGEST) : 0;
    g->expected = m->exact ? g->runs : below(m, LONGEST);
    g->key = m->in_order ? (uint64_t)g->came : (uint64_t)below(m, 6);
    g->quota = m->rows_n > m->nodes_n && below(m, 2) ? m->nodes_n + (uint32_t)below(m, m->rows_n - m->nodes_n) : RESERVE_NO_QUOTA;
    draw_pods(m, g);
    g->anywhere = !below(m, 4);
    g->shape = backfill_shape(&m->line, g->pods, g->pods_n);
    for (uint32_t i = 0; i < at; i++) /* who asks for the same is of one shape */
        if (m->gangs[i].pods_n == g->pods_n && !memcmp(m->gangs[i].pods, g->pods, g->pods_n * sizeof *g->pods))
            g->shape = m->gangs[i].shape;
}

static void begin(struct model *m)
{
    m->nodes_n = 1 + (uint32_t)below(m, NODES);
    m->rows_n = m->nodes_n + (uint32_t)below(m, QUOTAS + 1);
    m->policy = (struct backfill_policy){
        .is_strict = !below(m, 5), .promises_n = (uint32_t)below(m, 4), .choice = below(m, 2) ? RESERVE_BY_END : RESERVE_FULLEST};
    m->in_order = below(m, 2);
    m->exact = below(m, 2);
    m->now = 0;
    profile_init(&m->profile);
    int64_t capacity = 1 + below(m, 4);
    for (uint32_t k = 0; k < m->rows_n; k++) {
        m->capacity[k] = k < m->nodes_n ? capacity : 1 + below(m, capacity * m->nodes_n);
        (void)profile_add(&m->profile, m->capacity[k], k < m->nodes_n);
        m->longest[k] = INT64_MAX;
        if (k < m->nodes_n && !below(m, 4))
            m->profile.rows[k].longest_ms = m->longest[k] = below(m, LONGEST);
    }
    backfill_init(&m->line, &m->profile, &m->policy);
    m->gangs_n = 1 + (uint32_t)below(m, GANGS);
    for (uint32_t i = 0; i < m->gangs_n; i++)
        draw_gang(m, i);
}

static struct backfill_gang as_gang(const struct model *m, uint32_t at)
{
    const struct plain_gang *g = &m->gangs[at];
    return (struct backfill_gang){
        .key = g->key, .owner = at, .shape = g->shape, .quota = g->quota, .lasts_ms = g->expected, .anywhere = g->anywhere};
}

static void end_who_ends(struct model *m)
{
    for (uint32_t i = 0; i < m->gangs_n; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->stands || g->from + g->runs > m->now)
            continue;
        struct backfill_gang ended = as_gang(m, i);
        backfill_ended(&m->line, &ended, g->nodes);
        g->stands = false;
    }
    profile_prolong(&m->profile, m->now);
    for (uint32_t i = 0; i < m->gangs_n; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (g->stands && g->until <= m->now)
            g->until = m->now + (m->now > g->from ? m->now - g->from : 1);
    }
}

/* -1: nothing happens any more. */
static int64_t next_time(const struct model *m, uint32_t come_n)
{
    int64_t next = come_n < m->gangs_n ? m->gangs[come_n].came : INT64_MAX;
    for (uint32_t i = 0; i < m->gangs_n; i++) {
        const struct plain_gang *g = &m->gangs[i];
        next = g->stands && g->from + g->runs < next ? g->from + g->runs : next;
    }
    return next == INT64_MAX ? -1 : next;
}

static void check_end(const struct model *m)
{
    struct plain_holds none = {.n = 0};
    for (uint32_t k = 0; k < m->rows_n; k++)
        if (m->profile.rows[k].n)
            fail(m, "something is held at the end", k);
    for (uint32_t i = 0; i < m->gangs_n && !m->policy.is_strict; i++)
        if (m->gangs[i].waits && earliest(m, &none, &m->gangs[i]) >= 0)
            fail(m, "waits for ever", i);
}

static void run_case(struct model *m)
{
    uint32_t come_n = 0;
    int64_t next;
    begin(m);
    while ((next = next_time(m, come_n)) >= 0) {
        m->now = next;
        end_who_ends(m);
        for (; come_n < m->gangs_n && m->gangs[come_n].came <= m->now; come_n++) {
            struct backfill_gang gang = as_gang(m, come_n);
            m->gangs[come_n].waits = true;
            backfill_add(&m->line, &gang);
        }
        turn(m);
    }
    check_end(m);
    backfill_fini(&m->line);
    profile_fini(&m->profile);
}

int main(int argc, char **argv)
{
    static struct model m;
    m.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t cases_n = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    for (m.number = 0; m.number < cases_n; m.number++) {
        m.random = (struct random){m.seed * 1000003 + m.number};
        run_case(&m);
    }
    printf("ok: %" PRIu64 " cases\n", cases_n);
    return 0;
}
