/* list.c - a simulated node as JSON, for people and scripts */
#include "nvsim/state.h"

static void json_string(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            buf_printf(out, "\\%c", *at);
        else if (*at < 0x20 || *at > 0x7e)
            buf_printf(out, "\\u%04x", *at);
        else
            buf_char(out, (char)*at);
    }
    buf_char(out, '"');
}

static void device_numbers(struct buf *out, uint32_t gi, uint32_t ci)
{
    if (gi != NVSIM_NONE)
        buf_printf(out, ",\"gpuInstance\":%u,\"computeInstance\":%u", gi, ci);
}

static void process_list(struct nvsim *n, uint32_t gpu, struct buf *out)
{
    const struct nvsim_state *s = n->state;
    const char *between = "";
    buf_text(out, ",\"processes\":[");
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++) {
        if (s->process_gpu[i] != gpu + 1)
            continue;
        const struct nvsim_work *w = &s->processes[i].work;
        buf_printf(out, "%s{\"pid\":%u", between, w->pid);
        device_numbers(out, w->gi, w->ci);
        buf_text(out, ",\"name\":");
        json_string(out, w->name);
        buf_printf(out, ",\"kind\":\"%s\",\"memoryMiB\":%llu,\"smPermille\":%u,\"memoryPermille\":%u}",
                   w->kind == 2 ? "mps" : w->kind == 1 ? "graphics" : "compute", (unsigned long long)w->memory_mib,
                   w->sm_permille, w->memory_permille);
        between = ",";
    }
    buf_char(out, ']');
}

static void mig_list(const struct nvsim *n, const struct nvsim_gpu *g, struct buf *out)
{
    const char *between = "";
    buf_printf(out, ",\"mig\":{\"mode\":%s,\"pending\":%s,\"devices\":[", g->mig.mode ? "true" : "false",
               g->mig.mode_pending ? "true" : "false");
    for (int i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_instance *gi = &g->mig.instances[i];
        const struct mig_profile *p = gi->used ? mig_profile_by_id(n->model, gi->profile_id) : NULL;
        for (int k = 0; p && k < MIG_CI_MAX; k++) {
            const struct mig_compute *ci = &gi->computes[k];
            char uuid[48];
            if (!ci->used)
                continue;
            nvsim_uuid_text("MIG-", ci->uuid, uuid);
            buf_printf(out, "%s{\"gpuInstance\":%u,\"computeInstance\":%u,\"profile\":\"", between, gi->id, ci->id);
            if (ci->slices != p->slices)
                buf_printf(out, "%uc.", ci->slices);
            buf_printf(out, "%s\",\"start\":%u,\"uuid\":\"%s\",\"processes\":%u}", p->name, gi->start, uuid, ci->busy_n);
            between = ",";
        }
    }
    buf_text(out, "]}");
}

static void fault_list(const struct nvsim_gpu *g, int64_t now_us, struct buf *out)
{
    const struct {
        const char *name;
        bool on;
    } faults[] = {{"lost", g->lost == NVSIM_LOST}, {"off-bus", g->lost == NVSIM_OFF_BUS}, {"hang", g->hang_until_us > now_us},
                  {"slow", g->slow_ms > 0}, {"throttle", g->throttle != 0}, {"reset-required", g->reset_required != 0},
                  {"row-remap-pending", g->remap_pending != 0}, {"row-remap-failure", g->remap_failure != 0},
                  {"nvlink", g->nvlink_down != 0}, {"fabric", g->fabric_unhealthy != 0}};
    const char *between = "";
    buf_text(out, ",\"faults\":[");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].on) {
            buf_printf(out, "%s\"%s\"", between, faults[i].name);
            between = ",";
        }
    buf_printf(out, "],\"lastXid\":%u", g->xid);
}

static void gpu_list(struct nvsim *n, uint32_t gpu, int64_t now_us, struct buf *out)
{
    const struct gpu_model *m = n->model;
    struct nvsim_gpu g = *nvsim_gpu_current(n, gpu);
    nvsim_physics_fold(&g, m, now_us);
    buf_printf(out, "%s{\"index\":%u,\"uuid\":\"%s\",\"busId\":\"%08X:%02X:00.0\"", gpu ? "," : "", gpu, g.uuid, g.domain, g.bus);
    buf_printf(out, ",\"smPermille\":%u,\"memoryUsedMiB\":%llu,\"memoryTotalMiB\":%u,\"powerMilliwatts\":%u,\"temperatureC\":%.1f",
               g.load.sm_permille, (unsigned long long)(g.load.memory_mib + m->reserved_mib), m->memory_mib, g.power_mw,
               g.temperature_c);
    buf_printf(out, ",\"clockMHz\":%u,\"energyMillijoules\":%.0f", g.clock_mhz, g.energy_mj);
    mig_list(n, &g, out);
    process_list(n, gpu, out);
    fault_list(&g, now_us, out);
    buf_char(out, '}');
}

void nvsim_list(struct nvsim *n, struct buf *out_json)
{
    static const char *const drivers[] = {"ok", "mismatch", "not-loaded"};
    struct err e = {0};
    if (nvsim_lock(n, &e) < 0) {
        buf_text(out_json, "{\"error\":");
        json_string(out_json, e.text);
        buf_char(out_json, '}');
        return;
    }
    int64_t now_us = nvsim_now_us();
    nvsim_work_settle(n, now_us);
    buf_text(out_json, "{\"node\":");
    json_string(out_json, n->state->node);
    buf_printf(out_json, ",\"model\":\"%s\",\"name\":\"%s\",\"driver\":\"%s\",\"driverVersion\":", n->model->key, n->model->name,
               drivers[n->state->driver < 3 ? n->state->driver : 0]);
    json_string(out_json, n->state->driver_version);
    buf_printf(out_json, ",\"events\":%u,\"gpus\":[", nvsim_event_count(n));
    for (uint32_t i = 0; i < n->gpus_n; i++)
        gpu_list(n, i, now_us, out_json);
    buf_text(out_json, "]}");
    nvsim_unlock(n);
}
