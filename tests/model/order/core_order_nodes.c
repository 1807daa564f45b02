/* core_order_nodes.c - worlds whose flavors have a topology: who is given quota stands in domains of a few nodes, too. All is counted anew
 * for each question: what those have who are given quota and are not taken off, and what is kept for those for whom others leave */
#include "core_order.h"

static int64_t each_takes(const struct pod_group *set, int r)
{
    return r == PLACE_PARTS ? set->milli : r == 2 ? 1 : r == 1 && set->milli ? 0 : set->ask[r];
}

void add_pods(int64_t to[PLACES][PLACE_RES], const struct seats *on, const struct plain_gang *g, int sign)
{
    for (int set = 0; set < g->sets_n; set++)
        for (int i = 0; i < PLACES; i++)
            for (int r = 0; r < PLACE_RES; r++)
                to[i][r] += r < PLACE_FIRST_GPU ? sign * on->n[set][i] * each_takes(&g->sets[set], r)
                                                : sign * on->gpus[set][i][r - PLACE_FIRST_GPU];
}

void add_up_places(const struct model *m, bool kept, int64_t ret_used[PLACES][PLACE_RES])
{
    memset(ret_used, 0, PLACES * sizeof *ret_used);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists && m->gangs[i].admitted && !m->gangs[i].lifted)
            add_pods(ret_used, &m->gangs[i].on, &m->gangs[i], 1);
    for (int i = 0; i < PLACES * PLACE_RES && kept; i++)
        ret_used[i / PLACE_RES][i % PLACE_RES] += m->withheld[i / PLACE_RES][i % PLACE_RES];
}

void put_places_needed(const struct plain_gang *g, const struct given *given, struct need *x)
{
    for (int set = 0; set < g->sets_n; set++) {
        x->pods_n[set] = given->count[set];
        x->flavors[set] = 0;
        for (int r = 0; r < RES_N; r++)
            x->flavors[set] |= given->flavor[set][r] < 0 ? 0 : 1u << given->flavor[set][r];
    }
}

bool has_several_topologies(const struct need *x, int set)
{
    return x->flavors[set] & (x->flavors[set] - 1);
}

int first_together(const struct plain_gang *g, int set)
{
    int first = 0;
    while (first < set && !(g->sets[first].in_group && g->sets[set].in_group))
        first++;
    return first;
}

static int other_together(const struct plain_gang *g, int set)
{
    int other = g->sets_n - 1;
    while (other > set && !(g->sets[other].in_group && g->sets[set].in_group))
        other--;
    return other;
}

struct place_ask ask_of_set(const struct plain_gang *g, const struct need *x, int set)
{
    const struct pod_group *asks = &g->sets[set];
    struct place_ask ask = {.mode = asks->mode, .level = asks->level, .count = x->pods_n[set], .flavors = x->flavors[set],
                            .slices_n = asks->slices_n, .each = {asks->ask[0], each_takes(asks, 1), 1}, .milli = asks->milli};
    memcpy(ask.slice_level, asks->slice_level, sizeof ask.slice_level);
    memcpy(ask.slice_size, asks->slice_size, sizeof ask.slice_size);
    return ask;
}

/* Which GPUs the pods of the set take on the nodes where they stand. */
static void choose_gpus(const struct model *m, const struct plain_gang *g, int set, int64_t used[PLACES][PLACE_RES], struct seats *on)
{
    const struct place_ask ask = {.each = {0, each_takes(&g->sets[set], 1)}, .milli = g->sets[set].milli};
    for (int i = 0; i < m->places.n && m->places.in_parts; i++)
        take_gpus(used[i], m->places.all[i].has, &ask, on->n[set][i], on->gpus[set][i]);
}

void choose_gpus_again(const struct model *m, struct plain_gang *g, int set, int node, int pods)
{
    const struct place_ask ask = {.each = {0, each_takes(&g->sets[set], 1)}, .milli = g->sets[set].milli};
    int64_t used[PLACES][PLACE_RES];
    if (!m->places.in_parts)
        return;
    add_up_places(m, false, used);
    take_gpus(used[node], m->places.all[node].has, &ask, pods, g->on.gpus[set][node]);
}

void choose_gpus_instead(const struct model *m, const struct plain_gang *g, int set, const struct seats *before,
                         int64_t used[PLACES][PLACE_RES], struct seats *after)
{
    const struct place_ask ask = {.each = {0, each_takes(&g->sets[set], 1)}, .milli = g->sets[set].milli};
    for (int i = 0; i < m->places.n && m->places.in_parts; i++) {
        int64_t beside[PLACE_RES];
        memcpy(beside, used[i], sizeof beside);
        take_gpus(beside, m->places.all[i].has, &ask, after->n[set][i] - before->n[set][i], after->gpus[set][i]);
    }
}

/* Set by set, those of a group together; what those before it take counts. SOURCE Kueue: nowhere who has two flavors with a topology. */
int refused_set(const struct model *m, const struct plain_gang *g, const struct need *x, struct seats *ret_on)
{
    int64_t used[PLACES][PLACE_RES];
    *ret_on = (struct seats){0};
    if (!x->places || m->blind)
        return g->sets_n;
    for (int set = 0; set < g->sets_n; set++)
        if (has_several_topologies(x, set))
            return set;
    add_up_places(m, true, used);
    for (int set = 0; set < g->sets_n; set++) {
        int other = other_together(g, set);
        const struct place_ask ask = ask_of_set(g, x, set), beside = ask_of_set(g, x, other);
        if (first_together(g, set) != set)
            continue;
        bool found = other == set ? find_places(&m->places, used, &ask, ret_on->n[set])
                                  : find_places_together(&m->places, used, &ask, &beside, ret_on->n[set], ret_on->n[other]);
        if (!found) {
            *ret_on = (struct seats){0};
            return set;
        }
        for (int i = 0; i < PLACES; i++)
            for (int r = 0; r < PLACE_FIRST_GPU; r++)
                used[i][r] += ret_on->n[set][i] * each_takes(&g->sets[set], r) +
                              (other == set ? 0 : ret_on->n[other][i] * each_takes(&g->sets[other], r));
        bool leads = other != set && x->pods_n[other] <= x->pods_n[set]; /* the leader sits first */
        if (leads)
            choose_gpus(m, g, other, used, ret_on);
        choose_gpus(m, g, set, used, ret_on);
        if (other != set && !leads)
            choose_gpus(m, g, other, used, ret_on);
    }
    return g->sets_n;
}

bool nodes_hold(const struct model *m, const struct plain_gang *g, const struct need *x, struct seats *ret_on)
{
    return refused_set(m, g, x, ret_on) == g->sets_n;
}

bool is_on(const struct seats *on, int node)
{
    bool any = false;
    for (int set = 0; set < SETS; set++)
        any |= on->n[set][node] > 0;
    return any;
}

bool is_on_one_of(const struct plain_gang *g, const struct seats *on)
{
    bool any = false;
    for (int i = 0; i < PLACES; i++)
        any |= is_on(&g->on, i) && is_on(on, i);
    return any;
}

/* Of the GPUs that the set takes whole those first of which victims have anything, and that they leave whole. */
static void choose_what_is_left(const struct model *m, const struct plain_promise *p, int set, int64_t used[PLACES][PLACE_RES],
                                struct seats *on)
{
    struct place_ask ask = {.each = {0, 1}};
    const struct pod_group *of = &m->gangs[p->gang].sets[set];
    for (int i = 0; i < m->places.n && m->places.in_parts && !of->milli; i++) {
        int wanted = on->n[set][i] * (int)each_takes(of, 1);
        for (int k = 0; k < m->places.all[i].has[1] && wanted; k++) {
            bool is_left = false;
            for (int v = 0; v < p->victims.n; v++)
                for (int s = 0; s < SETS; s++)
                    is_left |= m->gangs[p->victims.all[v].gang].on.gpus[s][i][k] > 0;
            if (!is_left || used[i][PLACE_FIRST_GPU + k])
                continue;
            on->gpus[set][i][k] = 1000;
            used[i][PLACE_FIRST_GPU + k] += 1000;
            wanted--;
        }
        take_gpus(used[i], m->places.all[i].has, &ask, wanted, on->gpus[set][i]);
    }
}

/* Of single GPUs: which its pods take as if the victims had left, those that are given whole first. */
static struct seats seats_kept(const struct model *m, const struct plain_promise *p)
{
    const struct plain_gang *g = &m->gangs[p->gang];
    struct seats on = p->victims.on;
    int64_t used[PLACES][PLACE_RES];
    memset(on.gpus, 0, sizeof on.gpus);
    add_up_places(m, true, used);
    for (int i = 0; i < p->victims.n; i++)
        add_pods(used, &m->gangs[p->victims.all[i].gang].on, &m->gangs[p->victims.all[i].gang], -1);
    for (int in_parts = 0; in_parts < 2; in_parts++)
        for (int set = 0; set < g->sets_n; set++)
            if (in_parts && g->sets[set].milli)
                choose_gpus(m, g, set, used, &on);
            else if (!in_parts)
                choose_what_is_left(m, p, set, used, &on);
    return on;
}

/* Of each node, and of each GPU, what its gang needs beyond what its victims still hold, as far as it is left. */
void withhold(struct model *m, const struct plain_promise *p)
{
    int64_t need[PLACES][PLACE_RES] = {0}, used[PLACES][PLACE_RES];
    const struct seats on = seats_kept(m, p);
    add_pods(need, &on, &m->gangs[p->gang], 1);
    for (int i = 0; i < p->victims.n; i++)
        add_pods(need, &m->gangs[p->victims.all[i].gang].on, &m->gangs[p->victims.all[i].gang], -1);
    add_up_places(m, true, used);
    for (int i = 0; i < m->places.n; i++)
        for (int r = 0; r < PLACE_RES; r++) {
            int64_t left = m->places.all[i].has[r] - used[i][r];
            m->withheld[i][r] += max0(need[i][r] < left ? need[i][r] : left);
        }
}

/* ---- random ---- */

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return a->value[0] != b->value[0] ? a->value[0] - b->value[0] : a->value[1] - b->value[1];
}

static void put_gpus(const struct model *m, struct place *p)
{
    p->has[PLACE_PARTS] = m->places.in_parts ? 1000 * p->has[1] : 0;
    for (int k = 0; k < PLACE_GPUS; k++)
        p->has[PLACE_FIRST_GPU + k] = m->places.in_parts && k < p->has[1] ? 1000 : 0;
}

void put_places(struct model *m)
{
    struct places *p = &m->places;
    p->n = 2 + (int)pick(m, PLACES - 1);
    p->levels_n = 1 + (int)pick(m, PLACE_LEVELS);
    p->in_parts = m->seed / 128 % 2;
    for (int i = 0; i < p->n; i++) {
        p->all[i] = (struct place){.flavors = 1u << pick(m, (uint32_t)m->flavors_n), .has = {1000 * (1 + pick(m, 5)), pick(m, 7)}};
        p->all[i].has[2] = PLACE_PODS;
        if (pick(m, 3) == 0)
            p->all[i].has[2] = 1 + pick(m, 4);
        for (int f = 0; f < m->flavors_n && !m->plain; f++)
            p->all[i].flavors |= pick(m, 3) ? 1u << f : 0;
        for (int l = 0; l + 1 < p->levels_n; l++)
            p->all[i].value[l] = (int)pick(m, 3);
        put_gpus(m, &p->all[i]);
    }
    qsort(p->all, (size_t)p->n, sizeof *p->all, compare_places);
}

/* Also slices in slices: of a level below, and a part of the size. */
static void put_slices(struct model *m, struct pod_group *set)
{
    int from = set->mode == TOPOLOGY_REQUIRED || set->mode == TOPOLOGY_PREFERRED ? set->level : 0;
    set->slices_n = pick(m, 4) ? 0 : 1;
    set->slice_size[0] = 1 + (int)pick(m, 3);
    set->slice_level[0] = from + (int)pick(m, (uint32_t)(m->places.levels_n - from));
    if (!set->slices_n || set->slice_level[0] + 1 == m->places.levels_n || pick(m, 2))
        return;
    set->slices_n = 2;
    set->slice_size[1] = 1 + (int)pick(m, 2);
    set->slice_size[0] = set->slice_size[1] * (1 + (int)pick(m, 2));
    set->slice_level[1] = set->slice_level[0] + 1 + (int)pick(m, (uint32_t)(m->places.levels_n - set->slice_level[0] - 1));
}

void put_domains(struct model *m, struct pod_group *set)
{
    static const int parts[] = {100, 200, 250, 300, 350, 400, 500, 600, 700, 900};
    set->mode = (int)pick(m, 4);
    set->level = (int)pick(m, (uint32_t)m->places.levels_n);
    set->milli = m->places.in_parts && pick(m, 2) ? parts[pick(m, sizeof parts / sizeof *parts)] : 0;
    put_slices(m, set);
}

/* One of them has a single pod. The other fills its slices: what fills none may stand near the leader, too, or near the slices alone. */
void put_group(struct model *m, struct plain_gang *g)
{
    int first = (int)pick(m, (uint32_t)g->sets_n), other = (first + 1 + (int)pick(m, (uint32_t)g->sets_n - 1)) % g->sets_n;
    struct pod_group *a = &g->sets[first], *b = &g->sets[other];
    a->mode = pick(m, 2) ? TOPOLOGY_REQUIRED : TOPOLOGY_PREFERRED;
    put_slices(m, a);
    if (a->slices_n)
        a->count = a->asked_n = a->fewest = a->slice_size[0] * (1 + (int)pick(m, 2));
    b->mode = a->mode;
    b->level = a->level;
    b->slices_n = 0;
    b->count = b->asked_n = b->fewest = 1;
    a->in_group = b->in_group = true;
}

/* ---- what is told ---- */

static const char *const level_names[PLACE_LEVELS] = {"block", "rack", "kubernetes.io/hostname"};

static const char *level_name(const struct model *m, int level)
{
    return level_names[PLACE_LEVELS - m->places.levels_n + level];
}

/* Each as a device that is given whole, and as one that is given in parts. */
static void tell_gpus(struct model *m, const struct place *p, struct node_record *r)
{
    struct device *all = arena_zero(m->w.records, 2 * PLACE_GPUS, sizeof *all);
    for (int k = 0; k < p->has[1] && m->places.in_parts; k++) {
        struct device one = {.resource = id(&m->w, "nvidia.com/gpu"), .id = id(&m->w, arena_printf(m->w.records, "%d", k)),
                             .gpu = (uint16_t)k, .healthy = true};
        all[r->devices_n++] = one;
        one.resource = id(&m->w, GPU_SHARE_MILLI);
        one.parts = 1000;
        all[r->devices_n++] = one;
    }
    r->devices = all;
}

static void tell_place(struct model *m, int i)
{
    const struct place *p = &m->places.all[i];
    const char *labels = arena_printf(m->w.records, "kubernetes.io/hostname=n%d", i);
    for (int f = 0; f < m->flavors_n; f++)
        labels = p->flavors >> f & 1 ? arena_printf(m->w.records, "%s,%s=yes", labels, flavors[f]) : labels;
    for (int l = 0; l + 1 < m->places.levels_n; l++)
        labels = arena_printf(m->w.records, "%s,%s=v%d", labels, level_name(m, l), p->value[l]);
    const char *amounts = arena_printf(m->w.records, "cpu=%d,nvidia.com/gpu=%d,memory=1000000,pods=%d", (int)p->has[0], (int)p->has[1],
                                       (int)p->has[2]);
    if (m->places.in_parts)
        amounts = arena_printf(m->w.records, "%s," GPU_SHARE_MILLI "=%d", amounts, (int)p->has[PLACE_PARTS]);
    struct node_record r = a_node(&m->w, arena_printf(m->w.records, "n%d", i), amounts, labels);
    tell_gpus(m, p, &r);
    r.ready = p->state != PLACE_NOT_READY;
    r.unschedulable = p->state == PLACE_CORDONED;
    node_record(&m->w, r);
}

void tell_places(struct model *m)
{
    const char *levels = "";
    for (int l = 0; l < m->places.levels_n; l++)
        levels = arena_printf(m->w.records, "%s%s%s", levels, l ? "," : "", level_name(m, l));
    topology(&m->w, "t", levels);
    for (int f = 0; f < m->flavors_n; f++)
        topology_flavor(&m->w, flavors[f], "t", arena_printf(m->w.records, "%s=yes", flavors[f]));
    for (int i = 0; i < m->places.n; i++)
        tell_place(m, i);
}

static bool has_pods(const struct model *m, int node)
{
    bool any = false;
    for (int i = 0; i < GANGS; i++)
        any |= m->gangs[i].exists && m->gangs[i].pods_n && is_on(&m->gangs[i].on, node);
    return any;
}

/* Somebody may stand there, or be promised it. */
void change_places(struct model *m)
{
    int node = m->places.n && pick(m, 2) ? (int)pick(m, (uint32_t)m->places.n) : -1;
    bool only_state = false;
    if (node < 0 || !may_change_under(m, node, &only_state))
        return;
    struct place *p = &m->places.all[node];
    bool was_gone = p->state == PLACE_GONE;
    p->state = pick(m, 2) ? PLACE_GOOD : PLACE_GOOD + pick(m, 4);
    p->has[1] = pick(m, 4) || only_state ? p->has[1] : (int64_t)pick(m, 7);
    put_gpus(m, p);
    m->counts.changed_places_n++;
    m->counts.failed_under_n += p->state != PLACE_GOOD && has_pods(m, node);
    if (p->state != PLACE_GONE)
        tell_place(m, node);
    else if (!was_gone)
        gone(&m->w, CHANGE_NODE_GONE, arena_printf(m->w.records, "n%d", node));
}

struct topology_request request_of(struct model *m, const struct pod_group *set)
{
    struct topology_request r = {.mode = (enum topology_mode)set->mode};
    if (r.mode == TOPOLOGY_REQUIRED || r.mode == TOPOLOGY_PREFERRED)
        r.level = id(&m->w, level_name(m, set->level));
    for (int i = 0; i < set->slices_n; i++)
        r.slices[r.slices_n++] = (struct topology_slice){id(&m->w, level_name(m, set->slice_level[i])), set->slice_size[i]};
    r.group = set->in_group ? id(&m->w, "together") : 0;
    return r;
}

void put_domains_told(struct model *m, const struct plain_gang *g, struct gang_record *r)
{
    struct domain_choice *all = arena_zero(m->w.records, SETS * PLACES, sizeof *all);
    for (int set = 0; set < g->sets_n; set++)
        for (int i = 0; i < m->places.n; i++)
            if (g->on.n[set][i] + g->off.n[set][i])
                all[r->domains_n++] = (struct domain_choice){(uint16_t)set, id(&m->w, arena_printf(m->w.records, "n%d", i)),
                                                              g->on.n[set][i] + g->off.n[set][i]};
    r->domains = all;
}

const char *domains_words(struct model *m, const struct plain_gang *g)
{
    const char *text = "";
    for (int set = 0; set < g->sets_n; set++) {
        bool first = true;
        for (int i = 0; i < m->places.n; i++) {
            if (!g->on.n[set][i])
                continue;
            text = arena_printf(m->w.cycle, "%s%sn%d=%d", text, !*text ? "" : first ? "; " : " ", i, g->on.n[set][i]);
            first = false;
        }
    }
    return text;
}

const char *node_of(struct model *m, const struct plain_gang *g, int set, int pod)
{
    int at = 0;
    for (int n = m->places.n ? g->on.n[set][0] : pod + 1; pod >= n; n += g->on.n[set][at])
        at++;
    return arena_printf(m->w.records, "n%d", at);
}

/* The next GPU of those that its set has there, of which `parts` are left. */
static int take_next_gpu(int16_t left[PLACE_GPUS], int parts)
{
    for (int k = 0; k < PLACE_GPUS; k++)
        if (left[k] >= parts) {
            left[k] = (int16_t)(left[k] - parts);
            return k;
        }
    return -1;
}

const char *devices_of(struct model *m, const struct plain_gang *g, int set, int pod)
{
    int node = node_of(m, g, set, pod)[1] - '0', first = pod;
    while (first > 0 && node_of(m, g, set, first - 1)[1] - '0' == node)
        first--;
    const struct pod_group *asks = &g->sets[set];
    const char *text = "";
    int16_t left[PLACE_GPUS];
    memcpy(left, g->on.gpus[set][node], sizeof left);
    for (int i = first; i <= pod; i++) {
        text = asks->milli ? GPU_SHARE_MILLI "=" : "nvidia.com/gpu=";
        for (int n = asks->milli ? 1 : (int)asks->ask[1]; n > 0; n--)
            text = arena_printf(m->w.records, "%s%d%s", text, take_next_gpu(left, asks->milli ? asks->milli : 1000), n > 1 ? "," : "");
    }
    return text;
}

void print_domains(struct model *m, const struct plain_gang *g)
{
    for (int i = 0; i < g->sets_n; i++) {
        const struct pod_group *set = &g->sets[i];
        fprintf(stderr, " mode %d level %d%s", set->mode, set->level, set->in_group ? " together" : "");
        if (set->milli)
            fprintf(stderr, " parts %d", set->milli);
        for (int k = 0; k < set->slices_n; k++)
            fprintf(stderr, " slice %d:%d", set->slice_level[k], set->slice_size[k]);
    }
    fprintf(stderr, " in %s", domains_words(m, g));
}

void print_places(struct model *m)
{
    for (int i = 0; i < m->places.n; i++) {
        const struct place *p = &m->places.all[i];
        fprintf(stderr, "  n%d of flavors %x: cpu %d gpu %d pods %d in %d/%d%s\n", i, p->flavors, (int)p->has[0], (int)p->has[1],
                (int)p->has[2], p->value[0], p->value[1], p->state == PLACE_GOOD ? "" : ", of no use");
    }
}
