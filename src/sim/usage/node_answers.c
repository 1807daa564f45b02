/* node_answers.c - a running pod uses a fixed share of what it asked for, since nothing is measured here */
#include "sim/usage/node_answers.h"
#include "sim/kubelet/kubelets.h"

static bool uses(const struct pod_life *p, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes)
{
    if (!p || p->step != POD_RUNNING_STEP)
        return false;
    *ret_cpu_milli = p->cpu_milli * 4 / 5; /* four fifths */
    *ret_memory_bytes = p->memory_bytes / 5 * 4;
    return true;
}

static bool pod_usage(void *ctx, const char *ns, const char *name, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes)
{
    return uses(kubelets_pod(ctx, ns, name), ret_cpu_milli, ret_memory_bytes);
}

static bool node_usage(void *ctx, const char *name, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes)
{
    const struct kubelets *k = ctx;
    bool ours;
    uint32_t pods_n = kubelets_node_pods_n(k, name, &ours);
    int64_t cpu_milli = 100, memory_bytes = 512 << 20, cpu, memory; /* the node's own system */
    size_t at = 0;
    for (const struct pod_life *p; ours && pods_n > 0 && (p = kubelets_next_pod(k, &at));)
        if (text_equal(p->node, name) && uses(p, &cpu, &memory)) {
            cpu_milli += cpu;
            memory_bytes += memory;
        }
    if (ours) {
        *ret_cpu_milli = cpu_milli;
        *ret_memory_bytes = memory_bytes;
    }
    return ours;
}

static bool pod_log(void *ctx, const char *ns, const char *name, const char *container, bool previous, struct buf *out)
{
    const struct kubelets *k = ctx;
    const struct pod_life *p = kubelets_pod(k, ns, name);
    if (!p || (previous && p->restarts_n == 0))
        return false;
    struct real_agent *real = p->devices ? kubelets_real(k, p->node) : NULL;
    if (real)
        fake_kubelet_answers(real_agent_kubelet(real), p->uid, container, out);
    kubelets_log(k, p, container, out);
    return true;
}

const struct apiserver_node_ops kubelets_node_ops = {.pod_usage = pod_usage, .node_usage = node_usage, .pod_log = pod_log};
