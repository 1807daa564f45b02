/* fgd.c - fragmentation gradient descent: the node, and the GPU, where a pod makes the least of what is left useless for those expected
 *
 * SOURCE Weng et al., Beware of Fragmentation, USENIX ATC 2023, and the simulator that its figures were made with: sums of numbers of 64
 *        bits in this order. By how much F falls, x, becomes 100 / (1 + exp(-x / 1000)), cut to a whole number: near 0 it is the same for
 *        40 thousandths of a GPU, and the first by name wins.
 */
#include "core/score/published.h"
#include "core/score/target.h"

/* The least x with a score above its index. */
static const binary64 steps[100] = {
    0xc0b1f31eae7f987c, 0xc0ae67a3fe1d2c39, 0xc0ab283287795de4, 0xc0a8d41b8fa6bfea, 0xc0a700e0c1e096f9,
    0xc0a57f12148d1096, 0xc0a43560f1b5a8b5, 0xc0a314b1ae9eb293, 0xc0a213451570042b, 0xc0a12a72fbccf4f8,
    0xc0a0557b710eab68, 0xc09f21b87d17b152, 0xc09db3d5c57e833e, 0xc09c5d28ed03b0d8, 0xc09b1a677b104c02,
    0xc099e8e98ce9c49e, 0xc098c682516d0ba1, 0xc097b163d440be97, 0xc096a80a6b72a5ef, 0xc095a92d6d005c93,
    0xc094b3b39fec2bf8, 0xc093c6aa5dc54306, 0xc092e13eacc410c9, 0xc09202b7d1740ab1, 0xc0912a72fbccf4f9,
    0xc09057dfccee080f, 0xc08f14fb08ad5864, 0xc08d83b15ff9d803, 0xc08bfb1287432559, 0xc08a7a6204a06e82,
    0xc08900f4539dff7a, 0xc0878e2ca6b96c39, 0xc086217affa62c42, 0xc084ba5a8ea857ff, 0xc08358504c7f33aa,
    0xc081fae9c4cd9e6e, 0xc080a1bc08d8901a, 0xc07e98c587e96ae8, 0xc07bf4fed858ec32, 0xc079577115331abd,
    0xc076bf722f5d45df, 0xc0742c5fd090cc8a, 0xc0719d9e51b5176a, 0xc06e252f91c7141c, 0xc069157656547085,
    0xc0640af6fd4a5bc8, 0xc05e093c67bc85a6, 0xc05402bbb8f74835, 0xc04400aecdfbb00b, 0xbd576ffffffffffe,
    0x404400aecdfbaffa, 0x405402bbb8f7481c, 0x405e093c67bc8585, 0x40640af6fd4a5bbf, 0x406915765654707b,
    0x406e252f91c71414, 0x40719d9e51b51769, 0x40742c5fd090cc88, 0x4076bf722f5d45dd, 0x4079577115331ab7,
    0x407bf4fed858ec29, 0x407e98c587e96ae3, 0x4080a1bc08d8901a, 0x4081fae9c4cd9e6b, 0x408358504c7f33a8,
    0x4084ba5a8ea857fb, 0x4086217affa62c3f, 0x40878e2ca6b96c35, 0x408900f4539dff79, 0x408a7a6204a06e80,
    0x408bfb1287432556, 0x408d83b15ff9d801, 0x408f14fb08ad5864, 0x409057dfccee080f, 0x40912a72fbccf4f9,
    0x409202b7d1740aae, 0x4092e13eacc410c7, 0x4093c6aa5dc54305, 0x4094b3b39fec2bf5, 0x4095a92d6d005c91,
    0x4096a80a6b72a5ee, 0x4097b163d440be96, 0x4098c682516d0ba1, 0x4099e8e98ce9c49c, 0x409b1a677b104bff,
    0x409c5d28ed03b0d4, 0x409db3d5c57e833d, 0x409f21b87d17b152, 0x40a0557b710eab66, 0x40a12a72fbccf4f6,
    0x40a213451570042c, 0x40a314b1ae9eb292, 0x40a43560f1b5a8b5, 0x40a57f12148d1093, 0x40a700e0c1e096f8,
    0x40a8d41b8fa6bfe1, 0x40ab283287795de5, 0x40ae67a3fe1d2c2b, 0x40b1f31eae7f9869, 0x40e1f0199e444cab,
};

static int64_t score_of(binary64 x)
{
    uint32_t low = 0, high = 100;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (b64_at_least(x, steps[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* F by its causes: the node takes one of the kind, but some of its GPUs do not; it lacks both cpu and GPUs, or cpu, or ... */
enum { LACKS_BOTH, LACKS_GPU, LACKS_CPU, NO_GPU_ASKED, NO_GPU_ASKED_NO_CPU, NOT_ACCEPTED, CAUSES };

static binary64 lost(const struct targets *t, uint64_t terms, int64_t cpu, const struct node_gpus *g)
{
    binary64 sums[CAUSES] = {0}, sum;
    for (uint32_t i = 0; i < t->kinds_n; i++) {
        const struct target_kind *k = &t->kinds[i];
        bool has_cpu = cpu >= k->cpu, accepted = k->term < TARGET_TERMS && (terms >> k->term & 1);
        uint32_t enough_n = 0, what = g->all, small = 0;
        for (uint32_t j = 0; j < g->n && k->n; j++) {
            enough_n += g->left[j] >= k->each;
            small += g->left[j] < k->each ? g->left[j] : 0;
        }
        int cause = !k->n                    ? has_cpu ? NO_GPU_ASKED : NO_GPU_ASKED_NO_CPU
                    : !accepted              ? NOT_ACCEPTED
                    : enough_n < k->n        ? has_cpu ? LACKS_GPU : LACKS_BOTH
                    : has_cpu                ? LACKS_GPU
                                             : LACKS_CPU;
        if (k->n && accepted && has_cpu && enough_n >= k->n)
            what = small;
        if (what)
            sums[cause] = b64_plus(sums[cause], b64_times(k->part, b64_of(what)));
    }
    sum = sums[0];
    for (int i = 1; i < CAUSES; i++)
        sum = b64_plus(sum, sums[i]);
    return sum;
}

int64_t score_fgd(struct state *s, const struct shape_class *c, const struct gpu_ask *ask, uint32_t node, uint32_t *ret_gpu)
{
    struct node_gpus g;
    int64_t best = -1, cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu];
    *ret_gpu = 0;
    if (!s->targets)
        return 0;
    node_gpus_of(s, c, node, &g);
    uint64_t terms = target_terms(s, node);
    binary64 before = lost(s->targets, terms, cpu, &g);
    if (!gpu_ask_is_part(ask)) {
        node_gpus_take(&g, ask);
        return score_of(b64_minus(before, lost(s->targets, terms, cpu - ask->cpu, &g)));
    }
    uint16_t *left = node_gpus_own(&g);
    for (uint32_t i = 0; i < g.n; i++) {
        bool known = left[i] < ask->each;
        for (uint32_t j = 0; j < i && !known; j++)
            known = left[j] == left[i];
        if (known)
            continue;
        left[i] = (uint16_t)(left[i] - ask->each);
        g.all -= ask->each;
        int64_t score = score_of(b64_minus(before, lost(s->targets, terms, cpu - ask->cpu, &g)));
        left[i] = (uint16_t)(left[i] + ask->each);
        g.all += ask->each;
        if (score > best) {
            best = score;
            *ret_gpu = i;
        }
    }
    return best < 0 ? 0 : best;
}
