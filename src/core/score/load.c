#include "core/score/load.h"
#include "base/memory.h"

/* docs/placement.md, where they come from */
#define BUSY_PERMILLE 500
#define HOT_MARGIN_C 10
#define FAULT_MS 3600000

/* Errors that name the application. SOURCE NVIDIA's device plugin, which passes over them as well (data/gpu/xid.tsv: restart-app) */
static bool is_of_application(uint16_t xid)
{
    static const uint16_t all[] = {8, 11, 13, 31, 43, 45, 68, 109};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == xid)
            return true;
    return false;
}

static enum load_strain strain_of(const struct device_feedback *f, int64_t at_ms)
{
    bool is_faulty = f->xid && !is_of_application(f->xid) && f->xid_ms > at_ms - FAULT_MS;
    bool is_full = f->memory_total_mib && (uint64_t)f->memory_used_mib * 1000 >= (uint64_t)f->memory_total_mib * BUSY_PERMILLE;
    if (is_faulty || f->throttled)
        return LOAD_FAULTY;
    if (f->margin_c != INT16_MIN && f->margin_c < HOT_MARGIN_C)
        return LOAD_HOT;
    return is_full || f->activity_permille >= BUSY_PERMILLE ? LOAD_BUSY : LOAD_CALM;
}

const struct device_feedback *load_measured(const struct intern *names, const struct device_feedback *all, uint32_t n, name_id id)
{
    const char *text = intern_name(names, id), *share = strstr(text, "::");
    name_id gpu = n && share ? intern_find(names, (struct bytes){text, (size_t)(share - text)}) : 0;
    const struct device_feedback *of_gpu = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].id == id)
            return &all[i];
        of_gpu = gpu && all[i].id == gpu ? &all[i] : of_gpu;
    }
    return of_gpu;
}

/* NULL: of no device there is anything to say. */
static struct node_load *found(const struct state *s, const struct node *node)
{
    const struct node_feedback *f = node->feedback;
    const struct device_table *t = &node->devices;
    if (!f || !t->n)
        return NULL;
    struct node_load *l = mem_zero(1, sizeof *l + t->n);
    /* Clocks of nodes are a little off; a sample from far in the future is as little worth as an old one. */
    l->from_ms = f->at_ms - FEEDBACK_PERIODS * f->period_ms;
    l->until_ms = f->at_ms + FEEDBACK_PERIODS * f->period_ms;
    l->n = t->n;
    bool any = false;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct device_feedback *one = load_measured(s->names, f->all, f->n, t->all[i].id);
        l->strain[i] = one ? (uint8_t)strain_of(one, f->at_ms) : LOAD_CALM;
        any |= l->strain[i] != LOAD_CALM;
    }
    if (any)
        return l;
    free(l);
    return NULL;
}

static bool counts(const struct node_load *l, int64_t now_ms)
{
    return l && l->from_ms <= now_ms && now_ms <= l->until_ms;
}

/* When it begins to count, or ends. */
static int64_t next_ms(const struct node_load *l, int64_t now_ms)
{
    return !l || l->until_ms < now_ms ? INT64_MAX : l->from_ms > now_ms ? l->from_ms : l->until_ms + 1;
}

static void note_next(struct state *s, const struct node_load *l)
{
    int64_t at_ms = next_ms(l, s->now_ms);
    s->load_next_ms = at_ms < s->load_next_ms ? at_ms : s->load_next_ms;
}

void load_take(struct state *s, uint32_t slot)
{
    struct node *node = &s->nodes.nodes[slot];
    struct node_load *had = node->load, *l = found(s, node);
    bool did = counts(had, s->now_ms), does = counts(l, s->now_ms);
    bool same = did == does && (!did || (had->n == l->n && memcmp(had->strain, l->strain, l->n) == 0));
    node->load = l;
    free(had);
    note_next(s, l);
    if (!same)
        node_table_touch(&s->nodes, slot);
}

void load_begin(struct state *s, int64_t now_ms)
{
    const int64_t before_ms = s->now_ms;
    if (now_ms >= before_ms && now_ms < s->load_next_ms)
        return;
    s->load_next_ms = INT64_MAX;
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        const struct node_load *l = s->nodes.nodes[slot].load;
        int64_t at_ms = next_ms(l, now_ms);
        s->load_next_ms = at_ms < s->load_next_ms ? at_ms : s->load_next_ms;
        if (counts(l, before_ms) != counts(l, now_ms))
            node_table_touch(&s->nodes, slot);
    }
}

/* The least strain so that as many devices as are wanted have no more, and others are not needed. */
static enum load_strain least_for(const uint32_t n[LOAD_STRAINS_N], int64_t wanted)
{
    enum load_strain strain = LOAD_CALM;
    for (int64_t have = n[LOAD_CALM]; have < wanted && strain < LOAD_FAULTY; have += n[strain])
        strain++;
    return strain;
}

enum load_strain load_of(const struct state *s, const struct shape_class *c, uint32_t slot, struct device_bits *ret_worse)
{
    const struct node *node = &s->nodes.nodes[slot];
    const struct device_table *t = &node->devices;
    const struct node_load *l = node->load;
    enum load_strain worst = LOAD_CALM;
    if (ret_worse)
        *ret_worse = (struct device_bits){0};
    if (!counts(l, s->now_ms) || l->n != t->n)
        return LOAD_CALM;
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct device_span *span = c->demands[i].extended ? device_table_span(t, c->demands[i].resource) : NULL;
        uint32_t n[LOAD_STRAINS_N] = {0};
        for (uint32_t k = span ? span->first : 0; span && k < (uint32_t)span->first + span->n; k++)
            n[l->strain[k]] += device_is_free(t, k) && (!span->in_parts || t->left[t->gpu_of[k]] >= c->share.parts);
        int64_t wanted = !span ? 0 : span->in_parts ? c->share.n : c->demands[i].value;
        enum load_strain strain = least_for(n, wanted);
        worst = strain > worst ? strain : worst;
    }
    for (uint32_t k = 0; k < t->n && ret_worse; k++)
        if (l->strain[k] > worst)
            device_bit_set(ret_worse, k);
    return worst;
}

/* WHY half of a packed score: it has 31 bits, and two more are needed; which of two nodes has less memory left by a thousandth goes. */
uint32_t load_score(uint32_t score, bool is_packed, enum load_strain strain)
{
    uint32_t most = (1u << 30) - 1, own = is_packed ? score / 2 : score;
    own = own > most ? most : own ? own : 1;
    return (uint32_t)(LOAD_FAULTY - strain) << 30 | own;
}
