#include "core/score/reserve.h"
#include "base/memory.h"
#include "core/score/target.h"

void reserve_free(struct reserve *r)
{
    free(r->whole_of);
    *r = (struct reserve){0};
}

/* It is idle, and one that asks for all of its GPUs would find its cpu, too. */
static bool is_of_use(const struct state *s, uint32_t node)
{
    uint32_t gpus_n = s->nodes.nodes[node].devices.gpus_n;
    return s->nodes.nodes[node].devices.left_all == gpus_n * GPU_WHOLE &&
           (s->column_cpu < 0 || node_free(&s->nodes, node)[s->column_cpu] >= s->targets->least_cpu_of[gpus_n]);
}

/* Its GPUs, if nobody has any of them and they are of use, or one pod has all; else 0. */
static uint8_t whole_gpus(const struct state *s, uint32_t node)
{
    const struct node *n = &s->nodes.nodes[node];
    uint32_t gpus_n = n->devices.gpus_n;
    if (gpus_n < 2 || gpus_n > NODE_GPUS || !(s->nodes.flags[node] & NODE_KNOWN))
        return 0;
    if (is_of_use(s, node))
        return (uint8_t)gpus_n;
    for (uint32_t at = n->first_seat; at && !n->devices.left_all; at = s->seats[at].next)
        if (gpu_ask_of(s, &s->shapes.classes[s->seats[at].shape]).n == gpus_n)
            return (uint8_t)gpus_n;
    return 0;
}

static void count_node(struct state *s, struct reserve *r, uint32_t node)
{
    uint8_t is = whole_gpus(s, node);
    r->whole_n[r->whole_of[node]]--;
    r->whole_n[is]++;
    r->whole_of[node] = is;
}

/* What is kept follows from all GPUs that there are. */
static void count_kept(struct state *s, struct reserve *r)
{
    const struct targets *t = s->targets;
    int64_t all_n = 0, asked = 0;
    uint32_t most = 0;
    for (uint32_t node = 1; node < s->nodes.n; node++) {
        uint32_t gpus_n = s->nodes.flags[node] & NODE_KNOWN ? s->nodes.nodes[node].devices.gpus_n : 0;
        all_n += gpus_n;
        most = gpus_n > most ? gpus_n : most;
    }
    for (uint32_t i = 1; i <= NODE_GPUS; i++)
        asked += t->asked_of[i];
    for (uint32_t i = most / 2 + 1; i <= NODE_GPUS && asked; i++) /* smaller ones find their GPUs on larger nodes, too */
        r->kept_n[i] = (uint32_t)(2 * all_n * t->asked_of[i] / asked / i / 3);
}

static void count_all(struct state *s, struct reserve *r)
{
    reserve_free(r);
    r->slots_n = s->nodes.cap;
    r->whole_of = mem_zero(r->slots_n + 1, sizeof *r->whole_of);
    for (uint32_t node = 1; node < s->nodes.n; node++)
        count_node(s, r, node);
    count_kept(s, r);
    r->seq = s->nodes.seq;
    r->counted = true;
}

bool reserve_keeps(struct state *s, const struct shape_class *c, uint32_t node)
{
    struct reserve *r = &s->targets->reserve;
    uint32_t gpus_n = s->nodes.nodes[node].devices.gpus_n, asked_n = gpu_ask_of(s, c).n;
    if (gpus_n < 2 || gpus_n > NODE_GPUS || !asked_n || asked_n >= gpus_n || !is_of_use(s, node))
        return false;
    if (!r->counted || r->slots_n < s->nodes.n || s->nodes.seq - r->seq > NODE_JOURNAL)
        count_all(s, r);
    for (const uint64_t from = r->seq; r->seq < s->nodes.seq; r->seq++) {
        uint32_t touched = s->nodes.journal[r->seq % NODE_JOURNAL];
        if (touched && s->nodes.nodes[touched].record_seq > from) {
            count_all(s, r); /* other nodes, another share of them */
            break;
        }
        if (touched)
            count_node(s, r, touched);
    }
    return r->whole_n[gpus_n] <= r->kept_n[gpus_n];
}
