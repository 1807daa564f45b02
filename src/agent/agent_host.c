/* agent_host.c - the host's driver and device nodes: where they are now, and nodes that are missing */
#include "agent/agent_parts.h"
#include "agent/driver/device_nodes.h"
#include "agent/driver/roots.h"
#include "base/log.h"

void agent_host_roots(const struct agent *a, struct roots *ret_roots)
{
    const struct agent_config *c = a->loaded ? &a->loaded->config : NULL;
    roots_find(&(struct roots_options){.root = a->o.root,
                                       .driver = c ? c->driver_root : NULL,
                                       .dev = c ? c->dev_root : NULL,
                                       .driver_here = c ? c->container_driver_root : NULL,
                                       .dev_here = a->o.dev_root_here},
               ret_roots);
}

static void say(struct agent *a, int made, const struct err *e)
{
    if (made > 0)
        log_info("device nodes of the driver made count=%d", made);
    if (made < 0 && !text_equal(e->text, a->nodes_error.text))
        log_warning("device nodes of the driver cannot be made; a container may lack them error=\"%s\"", e->text);
    a->nodes_error = *e;
}

void agent_host_nodes(struct agent *a)
{
    struct roots r;
    struct err e = {0};
    agent_host_roots(a, &r);
    int made = device_nodes_make(&r, &e);
    say(a, made, &e);
}

void agent_host_capabilities(struct agent *a, const struct roots *r, const struct machine *m, const struct inventory_snapshot *s)
{
    int minors[2 * LIMIT_NODE_GPUS * 8] = {0};
    size_t n = 0;
    struct err e = {0};
    for (uint32_t i = 0; i < s->units_n && n + 2 <= sizeof minors / sizeof *minors; i++) {
        const struct unit *u = &s->units[i];
        if (!u->mig)
            continue;
        minors[n++] = m->cap_minor(m, u->gpu->minor, u->mig->gi, -1);
        minors[n++] = m->cap_minor(m, u->gpu->minor, u->mig->gi, u->mig->ci);
    }
    int made = device_nodes_make_capabilities(r, minors, n, &e);
    if (n)
        say(a, made, &e);
}
