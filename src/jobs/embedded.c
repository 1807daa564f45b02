/* embedded.c - start and stop them together */
#include "jobs/embedded.h"
#include <stdlib.h>
#include "base/memory.h"
#include "jobs/apps/daemon_set.h"
#include "jobs/apps/deployment.h"
#include "jobs/apps/endpoints.h"
#include "jobs/apps/endpoints_mirror.h"
#include "jobs/apps/replica_set.h"
#include "jobs/apps/stateful_set.h"
#include "jobs/batch/batch_job.h"
#include "jobs/batch/cron_job.h"
#include "jobs/lost_nodes.h"
#include "jobs/taint_eviction.h"
#include "kube/event.h"

struct embedded_controllers {
    struct kube_recorder *events;
    struct batch_jobs *jobs;
    struct cron_jobs *cron_jobs;
    struct daemon_sets *daemon_sets;
    struct deployments *deployments;
    struct endpoints *endpoints;
    struct endpoints_mirror *endpoints_mirror;
    struct lost_nodes *lost_nodes;
    struct replica_sets *replica_sets, *replication_controllers;
    struct stateful_sets *stateful_sets;
    struct taint_eviction *taint_eviction;
};

struct embedded_controllers *embedded_controllers_new(struct kube_client *c, double speed, uint64_t seed)
{
    struct embedded_controllers *e = mem_zero(1, sizeof *e);
    e->events = kube_recorder_new(c, "capstan-controllers");
    e->jobs = batch_jobs_new(c, e->events, &(struct batch_jobs_config){.speed = speed, .seed = seed});
    e->cron_jobs = cron_jobs_new(c, e->events, &cron_kind_batch, NULL);
    e->daemon_sets = daemon_sets_new(c, speed, seed + 3);
    e->deployments = deployments_new(c);
    e->endpoints = endpoints_new(c);
    e->endpoints_mirror = endpoints_mirror_new(c);
    e->lost_nodes = lost_nodes_new(c);
    e->replica_sets = replica_sets_new(c, e->events, REPLICA_SET, seed + 1);
    e->replication_controllers = replica_sets_new(c, e->events, REPLICATION_CONTROLLER, seed + 2);
    e->stateful_sets = stateful_sets_new(c, speed);
    e->taint_eviction = taint_eviction_new(c, e->events, speed);
    return e;
}

void embedded_controllers_look_at_node(struct embedded_controllers *e, const char *node)
{
    lost_nodes_look(e->lost_nodes, node);
}

void embedded_controllers_free(struct embedded_controllers *e)
{
    if (!e)
        return;
    batch_jobs_free(e->jobs);
    cron_jobs_free(e->cron_jobs);
    daemon_sets_free(e->daemon_sets);
    deployments_free(e->deployments);
    endpoints_free(e->endpoints);
    endpoints_mirror_free(e->endpoints_mirror);
    lost_nodes_free(e->lost_nodes);
    replica_sets_free(e->replica_sets);
    replica_sets_free(e->replication_controllers);
    stateful_sets_free(e->stateful_sets);
    taint_eviction_free(e->taint_eviction);
    kube_recorder_free(e->events);
    free(e);
}
