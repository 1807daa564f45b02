/* scenario.h - a story for `capstan sim run`, as a file: which nodes there are, what happens when, and what should have come of it
 *
 *     title: Two teams share two nodes          # all of these may be left out but nodes and steps
 *     nodes: ["2:h100-80gb,gpus=4"]             # shapes as for `capstan up --nodes`
 *     config: fair.yaml                         # Kueue's Configuration; FILEs stand beside the scenario
 *     until: 2h                                 # else until all jobs are over
 *     steps:
 *     - at: 0s                                  # each step does one thing; left out: when the one above it does
 *       apply: teams.yaml                       # a file, or a list of objects; runs: how long their pods run
 *     - at: 1m
 *       job: {name: train, namespace: team-a, queue: gpus, pods: 4, gpus: 1, runs: 30m, priority: high}
 *     - at: 5m
 *       fail-node: h100-80gb-0                  # recover-node, remove-node, drain-node, uncordon-node; add-nodes: SHAPE
 *     - at: 9m
 *       delete: {kind: Job, namespace: team-a, name: train}
 *     - expect: {job: team-a/train, state: running, pods: 4}
 *
 * SHAPE  steps in the order of the file, which is that of their times.
 * OWNER  all of it stands in the arena that was given to scenario_read.
 * LIMIT  LIMIT_SCENARIO_*; what wire/yaml.h allows in depth and aliases.
 * BAD INPUT  one sentence with file, line and column and what to write instead.
 */
#ifndef SIM_RUN_SCENARIO_H
#define SIM_RUN_SCENARIO_H
#include "sim/node/shape.h"
#include "wire/json.h"

struct scenario_place {
    const char *file;      /* as it was opened */
    uint32_t line, column; /* from 1 */
};
struct scenario_object {
    const struct json *object;
    struct scenario_place place;
};
struct scenario_nodes {
    struct node_shape shape;
    int32_t nodes_n;
};

#define SCENARIO_STATES(X) X(WAITING, "waiting") X(RUNNING, "running") X(FINISHED, "finished") X(FAILED, "failed") X(GONE, "gone")
enum scenario_state {
#define X(name, text) SCENARIO_##name,
    SCENARIO_STATES(X)
#undef X
        SCENARIO_STATES_N
};
extern const char *const scenario_states[SCENARIO_STATES_N];

/* What is not asked is -1 or NULL. */
struct scenario_expect {
    struct scenario_place place;
    const char *job, *queue, *node; /* one of them: "NAMESPACE/NAME", "NAMESPACE/QUEUE", NAME */
    int state;                      /* of a job: enum scenario_state */
    int64_t pods, starts;           /* of a job: on nodes; times that it began */
    const char *reason;             /* of a job: in the sentence why it waits */
    const struct json *nodes;       /* of a job: the nodes of its pods, in any order */
    int64_t waiting, running;       /* of a queue: jobs */
    int64_t gpus;                   /* of a node: in use */
};

enum scenario_action {
    SCENARIO_APPLY,
    SCENARIO_DELETE,
    SCENARIO_ADD_NODES,
    SCENARIO_FAIL_NODE,
    SCENARIO_RECOVER_NODE,
    SCENARIO_REMOVE_NODE,
    SCENARIO_DRAIN_NODE,
    SCENARIO_UNCORDON_NODE,
    SCENARIO_EXPECT,
};
struct scenario_step {
    int64_t at_ms;
    enum scenario_action action;
    struct scenario_place place;
    const char *what;                /* of nodes: the name; APPLY: the file, NULL: objects stand here */
    struct scenario_object *objects; /* APPLY; DELETE: kind and name of each */
    uint32_t objects_n;
    const struct scenario_nodes *nodes; /* ADD_NODES */
    struct scenario_expect *expects;    /* EXPECT */
    uint32_t expects_n;
};

struct scenario {
    const char *title;            /* "" none */
    struct scenario_nodes *nodes; /* at the beginning */
    uint32_t nodes_n;             /* places in `nodes` */
    const char *config;           /* path of the Configuration; NULL none */
    struct scenario_place config_place;
    int64_t until_ms; /* -1: until all jobs are over */
    struct scenario_step *steps;
    uint32_t steps_n;
};
/* path: "-" is standard input; then FILEs stand in the working directory. */
int scenario_read(struct arena *a, const char *path, struct scenario *ret_scenario, struct err *e);
/* The same of a text. read_file: gives what FILE holds, in `a`; NULL: there are no files to be read, and naming one is an error. */
typedef int scenario_read_file(void *arg, struct arena *a, const char *path, struct bytes *ret_text, struct err *e);
int scenario_parse(struct arena *a, const char *name, struct bytes text, scenario_read_file *read_file, void *arg,
                   struct scenario *ret_scenario, struct err *e);

#endif
