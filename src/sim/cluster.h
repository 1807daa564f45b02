/* cluster.h - a whole cluster in this process: API server, scheduler, job controllers, simulated nodes, all on one loop over HTTP
 *
 *     store <- apiserver <- http_server <-- HTTP --> kube clients of { scheduler + jobs | embedded controllers | kubelets }  and kubectl
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H
#include "core/policy.h"
#include "loop/loop.h"
#include "sim/node/shape.h"

struct charge_policy;
struct metrics_policy;
struct workload_policy;
struct cluster_config {
    const char *data_dir;            /* made when absent (0700) */
    const char *listen;              /* "127.0.0.1:8080" */
    const struct node_shape *shapes; /* shapes[i] nodes_n[i] times */
    const int32_t *nodes_n;
    uint32_t shapes_n;
    double speed;
    const char *operator_values;     /* text of the GPU operator's values.yaml, kept as a ConfigMap; NULL none */
    const char *const *real_agents;  /* names of nodes that an agent process of their own serves */
    uint32_t real_agents_n;
    bool mig_evicts;                 /* as kubelets_config's; agents of nodes of their own, too */
    bool tls, strict_kueue;
    struct policy policy;            /* the scheduler's */
    const struct charge_policy *charge; /* what quota counts; NULL: what pods ask for */
    const struct metrics_policy *metrics; /* which LocalQueues have series; NULL: all */
    const struct workload_policy *workloads; /* the job controllers'; NULL: Kueue's defaults */
};
struct cluster;
/* When it returns 0 the server answers and the nodes are registered. */
int cluster_start(struct loop *l, const struct cluster_config *config, struct cluster **ret_c, struct err *e);
void cluster_stop(struct cluster *c); /* NULL-safe */
const char *cluster_url(const struct cluster *c);
const char *cluster_kubeconfig(const struct cluster *c); /* path of the file written */
struct kube_client *cluster_client(struct cluster *c);
uint32_t cluster_nodes(const struct cluster *c);

/* "2.5": times faster. False: not a number from 0.001 to 1000000. */
bool cluster_speed_parse(const char *text, double *ret_speed);

/* The nodes that `up` and `demo` have unless told otherwise: every manifest of examples/ runs on them. */
extern const char *const cluster_default_nodes[];
extern const uint32_t cluster_default_nodes_n;

#endif
