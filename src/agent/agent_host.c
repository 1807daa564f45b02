/* agent_host.c - the host's driver and device nodes: where they are now, nodes that are missing, and the files that tell others of them */
#include "agent/agent_parts.h"
#include "agent/host/device_nodes.h"
#include "agent/host/roots.h"
#include "agent/host/validation.h"
#include "base/log.h"

void agent_host_roots(const struct agent *a, struct roots *ret_roots)
{
    const struct agent_config *c = a->loaded ? &a->loaded->config : NULL;
    roots_find(&(struct roots_options){.root = a->o.root,
                                       .driver = c ? c->driver_root : NULL,
                                       .dev = c ? c->dev_root : NULL,
                                       .driver_here = c ? c->container_driver_root : NULL,
                                       .dev_here = a->o.dev_root_here,
                                       .validations = a->o.validations_dir},
               ret_roots);
}

/* By CDI alone: no container runtime has to do with GPUs. */
static bool by_cdi(const struct agent *a)
{
    const uint32_t cdi = DEVICE_LIST_CDI_ANNOTATIONS | DEVICE_LIST_CDI_CRI;
    uint32_t strategies = a->loaded ? a->loaded->config.device_list_strategies : 0;
    return a->o.cdi_dir && (strategies & cdi) && !(strategies & ~cdi);
}

/* ready: of the agent. */
static void validations(struct agent *a, bool on, bool ready)
{
    struct roots r;
    struct err e = {0};
    struct validation v = {.roots = &r};
    if (!a->o.validations_dir)
        return;
    agent_host_roots(a, &r);
    v.driver = on && a->read_once && !a->driver_error.code;
    for (uint32_t i = 0; on && a->projection && i < a->projection->table.resources_n; i++)
        v.plugin = v.plugin || (ready && a->projection->table.resources[i].slots_n > 0);
    v.toolkit = v.driver && v.plugin && by_cdi(a);
    int changed = validation_write(a->o.validations_dir, &v, &e);
    if (changed > 0)
        log_info("validation files dir=%s driver=%d toolkit=%d plugin=%d", a->o.validations_dir, v.driver, v.toolkit, v.plugin);
    if (changed < 0 && !text_equal(e.text, a->validations_error.text))
        log_warning("validation files cannot be written error=\"%s\"", e.text);
    a->validations_error = e;
}

void agent_host_tick(struct agent *a, bool ready)
{
    validations(a, true, ready);
}

void agent_host_stop(struct agent *a)
{
    validations(a, false, false);
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
