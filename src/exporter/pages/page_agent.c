/* page_agent.c - what the agent says of itself: there whatever the driver does */
#include "agent/driver/dcgm.h"
#include "agent/driver/nvml.h"
#include "exporter/pages/page_parts.h"

/* "NOT_SUPPORTED" as the label `code`: of DCGM below 0, of the driver from 0 on. Its texts would change with its version. */
static const char *code_name(struct arena *a, int code)
{
    const char *dcgm = dcgm_code_name(code);
    switch (code) {
#define X(name, number, text)                                                                                          \
    case number:                                                                                                       \
        return #name;
        NVML_CODES(X)
#undef X
    default:
        return dcgm ? dcgm : arena_printf(a, "%d", code);
    }
}

static void one(struct page *p, const char *name, enum prometheus_type type, const char *help, double value)
{
    prometheus_family(&p->out, name, type, help);
    prometheus_sample(&p->out, NULL, 0, value);
}

static void duration_family(struct page *p)
{
    static const char *const bounds[] = {"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
                                         "0.1",   "0.25",   "0.5",   "1",    "2.5",   "+Inf"};
    const struct collect_state *s = p->state;
    prometheus_family(&p->out, "gpu_agent_collect_duration_seconds", PROMETHEUS_HISTOGRAM,
                      "Time that a collection took.");
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        prometheus_sample_suffix(&p->out, "_bucket", &(struct prometheus_label){"le", bounds[i]}, 1,
                                 (double)s->duration_buckets[i]);
    prometheus_sample_suffix(&p->out, "_sum", NULL, 0, s->duration_sum_s);
    prometheus_sample_suffix(&p->out, "_count", NULL, 0, (double)s->duration_buckets[11]);
}

static void push_families(struct page *p)
{
    const struct page_config *c = p->config;
    if (c->pushes_n == 0)
        return;
    prometheus_family(&p->out, "gpu_agent_push_total", PROMETHEUS_COUNTER,
                      "Bodies pushed to another server, by what became of them; a retried one is tried again.");
    for (uint32_t i = 0; i < c->pushes_n; i++) {
        const struct push_counts *n = &c->pushes[i].counts;
        const struct {
            const char *outcome;
            uint64_t n;
        } outcomes[] = {
            {"sent", n->sent_n}, {"retried", n->retried_n}, {"dropped", n->dropped_n}, {"refused", n->refused_n}};
        for (size_t k = 0; k < sizeof outcomes / sizeof *outcomes; k++) {
            const struct prometheus_label l[] = {{"target", c->pushes[i].target}, {"outcome", outcomes[k].outcome}};
            prometheus_sample(&p->out, l, 2, (double)outcomes[k].n);
        }
    }
    prometheus_family(&p->out, "gpu_agent_push_queue", PROMETHEUS_GAUGE, "Bodies that wait to be pushed.");
    for (uint32_t i = 0; i < c->pushes_n; i++)
        prometheus_sample(&p->out, &(struct prometheus_label){"target", c->pushes[i].target}, 1,
                          c->pushes[i].counts.queued_n);
}

/* Nothing is left out in silence. */
static void dropped_family(struct page *p)
{
    const struct {
        const char *of;
        uint64_t n;
    } dropped[] = {{"processes", p->state->processes_dropped_n},
                   {"pods", p->account ? account_pods_dropped(p->account) : 0},
                   {"xids", p->state->xids_dropped_n}};
    prometheus_family(&p->out, "gpu_agent_series_dropped_total", PROMETHEUS_COUNTER,
                      "What had no series because of a limit: processes and pods of each collection, XID errors.");
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        prometheus_sample(&p->out, &(struct prometheus_label){"of", dropped[i].of}, 1, (double)dropped[i].n);
}

static void textfile_family(struct page *p)
{
    const struct textfile_counts *n = p->config->textfile;
    if (!n)
        return;
    prometheus_family(&p->out, "gpu_agent_textfile_writes_total", PROMETHEUS_COUNTER,
                      "Writes of the textfile for node-exporter, by what became of them.");
    prometheus_sample(&p->out, &(struct prometheus_label){"outcome", "written"}, 1, (double)n->written_n);
    prometheus_sample(&p->out, &(struct prometheus_label){"outcome", "failed"}, 1, (double)n->failed_n);
}

/* A closed slot has its reason in the node's events and in `capstan agent --status`. */
static void slots_family(struct page *p)
{
    const struct collect_state *s = p->state;
    if (s->offers_n == 0)
        return;
    prometheus_family(&p->out, "gpu_agent_slots", PROMETHEUS_GAUGE,
                      "Slots that the node offers, by whether they can be handed out (Open) and why not.");
    for (uint32_t i = 0; i < s->offers_n; i++)
        for (int k = 0; k < SLOT_STATES_N; k++) {
            const struct prometheus_label l[] = {{"resource", s->offers[i].name},
                                                 {"state", slot_state_name((enum slot_state)k)}};
            if (s->offers[i].slots_n[k] || k == SLOT_OPEN)
                prometheus_sample(&p->out, l, 2, s->offers[i].slots_n[k]);
        }
}

void page_agent(struct page *p)
{
    const struct collect_state *s = p->state;
    prometheus_family(&p->out, "gpu_agent_build_info", PROMETHEUS_GAUGE, "Version of the agent.");
    prometheus_sample(&p->out, &(struct prometheus_label){"version", CAPSTAN_VERSION}, 1, 1);
    one(p, "gpu_agent_driver_loaded", PROMETHEUS_GAUGE, "1 when the driver's library answers.", s->driver_loaded);
    one(p, "gpu_agent_collect_stalled", PROMETHEUS_GAUGE, "1 when there was no collection for two periods.",
        s->stalled);
    if (s->last_success_s > 0)
        one(p, "gpu_agent_collect_last_success_timestamp_seconds", PROMETHEUS_GAUGE,
            "End of the last complete collection.", s->last_success_s);
    duration_family(p);
    one(p, "gpu_agent_collections_total", PROMETHEUS_COUNTER, "Complete collections.", (double)s->collections_n);
    one(p, "gpu_agent_collections_skipped_total", PROMETHEUS_COUNTER,
        "Periods that found the last collection still under way.", (double)s->skipped_n);
    one(p, "gpu_agent_collections_failed_total", PROMETHEUS_COUNTER, "Collections that the driver did not answer.",
        (double)s->failures_n);
    prometheus_family(&p->out, "gpu_agent_backend_errors_total", PROMETHEUS_COUNTER, "Driver calls that failed.");
    for (uint32_t i = 0; i < s->errors_n; i++) {
        const struct prometheus_label l[] = {{"call", s->errors[i].call},
                                             {"code", code_name(p->arena, s->errors[i].code)}};
        prometheus_sample(&p->out, l, 2, s->errors[i].n);
    }
    bool mismatch = p->sample && p->sample->pid_namespace_mismatch;
    one(p, "gpu_agent_pid_namespace_mismatch", PROMETHEUS_GAUGE,
        "1 when none of the driver's process ids is to be seen: run with the host's.", mismatch);
    slots_family(p);
    dropped_family(p);
    push_families(p);
    textfile_family(p);
    one(p, "gpu_agent_series", PROMETHEUS_GAUGE, "Series on this page before this one.", p->out.samples_n);
}
