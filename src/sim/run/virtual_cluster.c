/* virtual_cluster.c - see virtual_cluster.h */
#include "sim/run/virtual_cluster.h"
#include <stdlib.h>
#include "apiserver/apiserver.h"
#include "base/collections/map.h"
#include "codec/admission/admission.h"
#include "jobs/embedded.h"
#include "jobs/jobs.h"
#include "net/http_local.h"
#include "sched/record/recorder.h"
#include "sched/sched.h"
#include "sim/node/node_object.h"
#include "sim/usage/node_answers.h"

#define SEED 0x73696d72756e /* of pods' names */
#define RECORD_BYTES (INT64_C(4) << 30)

struct virtual_parts {
    struct apiserver *server;
    struct kube_client *system, *nodes; /* of the scheduler and all controllers; of the kubelets */
    struct scheduler *scheduler;
    struct jobs *jobs;
    struct embedded_controllers *controllers;
    struct map *made; /* name of a shape and its kind -> int32_t: nodes of it so far */
};

static struct kube_client *client_new(struct virtual_cluster *c, const char *agent)
{
    struct http_local_config config = {.handler = apiserver_handle, .ctx = c->parts->server, .user_agent = agent};
    return kube_client_wrap(c->loop, http_local_client_as(c->loop, &config));
}

int virtual_cluster_start(struct virtual_cluster *c, const struct virtual_cluster_config *config, struct err *e)
{
    *c = (struct virtual_cluster){.loop = loop_new_virtual(VIRTUAL_START_MS)};
    struct virtual_parts *p = c->parts = mem_zero(1, sizeof *c->parts);
    const struct policy *policy = &config->policy;
    struct apiserver_config api = {.runs_queues = true,
                                   .shares = (policy->fair.on ? ADMISSION_FAIR_SHARES : 0) |
                                             (policy->consumption.on ? ADMISSION_USAGE_SHARES : 0)};
    p->made = map_new(sizeof(int32_t));
    int r = apiserver_new(c->loop, &api, &p->server, e);
    if (r < 0)
        return r;
    c->client = client_new(c, "capstan-run");
    p->system = client_new(c, "capstan");
    p->nodes = client_new(c, "capstan-simulation");
    struct recorder *recorder = NULL;
    if (config->record_dir && (r = recorder_new(c->loop, config->record_dir, RECORD_BYTES, &recorder, e)) < 0)
        return r;
    p->scheduler = scheduler_new(
        c->loop, p->system,
        &(struct scheduler_config){
            .default_scheduler = true, .identity = "capstan", .policy = *policy, .charge = config->charge, .recorder = recorder});
    p->jobs = jobs_new(p->system,
                       &(struct jobs_config){.embedded = true, .policy = config->workloads, .says_ready = policy->ready.timeout_ms > 0});
    p->controllers = embedded_controllers_new(p->system, 1, SEED);
    c->kubelets = kubelets_new(p->nodes, &(struct kubelets_config){.speed = 1});
    apiserver_set_nodes(p->server, &kubelets_node_ops, c->kubelets);
    return 0;
}

void virtual_cluster_stop(struct virtual_cluster *c)
{
    struct virtual_parts *p = c->parts;
    if (!p)
        return;
    if (p->server)
        apiserver_set_nodes(p->server, NULL, NULL);
    kubelets_free(c->kubelets);
    embedded_controllers_free(p->controllers);
    jobs_free(p->jobs);
    scheduler_free(p->scheduler);
    kube_client_free(c->client);
    kube_client_free(p->system);
    kube_client_free(p->nodes);
    apiserver_free(p->server);
    map_free(p->made);
    free(p);
    loop_free(c->loop);
    *c = (struct virtual_cluster){0};
}

int virtual_cluster_add_nodes(struct virtual_cluster *c, const struct node_shape *shape, int32_t n,
                              void (*told)(void *arg, const char *name, int32_t gpus_n), void *arg, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct node_kind kind;
    node_kind_init(&kind, shape);
    int32_t *made = map_put(c->parts->made, bytes_of(arena_printf(a, "%s%s", shape->name, node_shape_kind(shape))), NULL);
    arena_reset(a);
    for (int32_t i = 0; i < n; i++, c->nodes_n++) {
        int32_t index = (*made)++;
        struct json *node = node_object_make(a, &kind, index, (int32_t)c->nodes_n, loop_wall_ms(c->loop), false);
        int r = apiserver_create(c->parts->server, a, node, e);
        if (r < 0)
            return err_wrap(e, "node %s", node_object_name(a, &kind, index));
        if (told)
            told(arg, node_object_name(a, &kind, index), shape->gpus_n);
        arena_reset(a);
    }
    return 0;
}
