/* record.c - what recording costs the core, and how fast a recording is played: no JSON, no API server
 *
 * record.off, .on      pods bound a second of CPU time on 1,000 nodes of 8 GPUs, in turns of 50 that come, start, are seen and go:
 *                      1,000,000 changes; without and with a recorder, which writes to a file in TMPDIR
 * record.bytes         of a change, plans among them
 * replay.1000000       seconds to play them again, plans compared
 */
#include <unistd.h>
#include "../tests/unit/core/world.h"
#include "base/clock.h"
#include "figure_line.h"
#include "loop/loop.h"
#include "sched/record/player.h"
#include "sched/record/recorder.h"
#include "sim/folder.h"

#define GPU "nvidia.com/gpu"
enum { NODES = 1000, TURN = 50, CHANGES = 1000000, CHANGES_OF_A_POD = 4, ROUNDS = CHANGES / CHANGES_OF_A_POD / TURN, STAY = 150 };

struct churn {
    struct world w;
    struct recorder *recorder;
    struct pod_record pods[STAY][TURN]; /* a ring of turns that are still there */
    uint64_t bound_n, decided_n;
};

static void apply(struct churn *c, const struct change *change)
{
    recorder_change(c->recorder, change);
    state_apply(c->w.s, change);
}

static void add_nodes(struct churn *c)
{
    char name[64], labels[160];
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "node-%06d", i);
        snprintf(labels, sizeof labels, "kubernetes.io/hostname=%s,zone=z%d,product=a100", name, i % 4);
        apply(c, &(struct change){.type = CHANGE_NODE,
                                  .node = a_node(&c->w, name, "cpu=96000,memory=1099511627776,pods=110," GPU "=8", labels)});
    }
}

static void one_turn(struct churn *c, int round, struct shape shape)
{
    static const struct decide_config config = {.gangs_max = 1024, .pods_max = 20000};
    struct pod_record *pods = c->pods[round % STAY];
    char text[64];
    for (int i = 0; i < TURN && round >= STAY; i++) /* those of long ago go */
        apply(c, &(struct change){.type = CHANGE_POD_GONE, .gone = pods[i].key});
    for (int i = 0; i < TURN; i++) {
        snprintf(text, sizeof text, "ns/pod-%08d", round * TURN + i);
        pods[i] = (struct pod_record){.key = id(&c->w, text), .ours = true, .shape = shape, .created_ms = c->w.now_ms};
        snprintf(text, sizeof text, "uid-%08d", round * TURN + i);
        pods[i].uid = id(&c->w, text);
        apply(c, &(struct change){.type = CHANGE_POD, .pod = pods[i]});
    }
    arena_reset(c->w.cycle);
    decide(c->w.s, &config, c->w.now_ms, c->w.cycle, &c->w.plan);
    recorder_cycle(c->recorder, &config, c->w.now_ms, &c->w.plan);
    c->decided_n++;
    for (uint32_t i = 0; i < c->w.plan.entries_n; i++) {
        const struct plan_entry *e = &c->w.plan.entries[i];
        if (e->effect != EFFECT_BIND)
            continue;
        apply(c, &(struct change){.type = CHANGE_OUTCOME,
                                  .outcome = {.effect = EFFECT_BIND, .outcome = OUTCOME_DONE, .gang = e->gang, .pod = e->pod}});
        for (int k = 0; k < TURN; k++)
            if (pods[k].key == e->pod) {
                pods[k].node = e->node;
                apply(c, &(struct change){.type = CHANGE_POD, .pod = pods[k]});
                c->bound_n++;
            }
    }
    c->w.now_ms += 10;
}

/* Pods bound a second of CPU time. */
static double churn(struct recorder *recorder)
{
    static struct churn c;
    c = (struct churn){.w = world_new(), .recorder = recorder};
    recorder_begin(recorder, c.w.s, &(struct policy){0});
    add_nodes(&c);
    struct shape shape = shape_of(&c.w, "cpu=4000,memory=17179869184," GPU "=1", "product=a100");
    double began = cpu_seconds();
    for (int round = 0; round < ROUNDS; round++)
        one_turn(&c, round, shape);
    double took = cpu_seconds() - began;
    recorder_end(recorder);
    uint64_t bound_n = c.bound_n;
    world_free(&c.w);
    return (double)bound_n / took;
}

int main(void)
{
    char dir[64];
    const char *tmp = getenv("TMPDIR"), *const * runs;
    uint32_t runs_n;
    struct recorder *recorder;
    struct player_result result;
    struct err e = {0};
    (void)snprintf(dir, sizeof dir, "%s/capstan-record-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
    struct loop *l = loop_new();
    struct arena *a = arena_new();
    if (!mkdtemp(dir) || recorder_new(l, dir, INT64_C(4) << 30, &recorder, &e) < 0) {
        fprintf(stderr, "%s: %s\n", dir, e.text);
        return 1;
    }
    print("record.off", churn(NULL), "pods/s");
    print("record.on", churn(recorder), "pods/s");
    print("record.bytes", (double)recorder_bytes(recorder) / CHANGES, "bytes/change");
    recorder_free(recorder);
    int64_t began_us = clock_monotonic_us();
    double began = cpu_seconds();
    int r = player_runs(dir, a, &runs, &runs_n, &e);
    r = r < 0 ? r : player_play(dir, runs[0], &(struct player_options){.until_ms = INT64_MAX}, &result, &e);
    if (r < 0 || result.otherwise_n || result.state_is_other || !result.ended) {
        fprintf(stderr, "replayed otherwise: %s\n", e.text);
        return 1;
    }
    print("replay.1000000", (double)(clock_monotonic_us() - began_us) / 1e6, "s");
    print("replay.1000000.cpu", cpu_seconds() - began, "s");
    fprintf(stderr, "%llu changes, %llu cycles\n", (unsigned long long)result.changes_n, (unsigned long long)result.cycles_n);
    folder_remove(dir);
    arena_free(a);
    loop_free(l);
    return 0;
}
