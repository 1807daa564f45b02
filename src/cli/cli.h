/* cli.h - the commands: one file each, one function each; argv[0] is the command's own name. They return an exit code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#define COMMANDS(X)                                                                                                              \
    X(up, "start an embedded cluster with simulated GPU nodes")                                                                  \
    X(demo, "start one, run the examples, print what happened")                                                                  \
    X(scheduler, "schedule on the cluster that a kubeconfig names")                                                              \
    X(agent, "serve, label and watch the GPUs of this node")                                                                     \
    X(why, "why a job waits, and what would help")                                                                               \
    X(queues, "queues: quota, use, how many wait")                                                                                   \
    X(jobs, "jobs of all kinds: gang, state, waiting time")                                                                      \
    X(nodes, "nodes: GPUs, who has them")                                                                                        \
    X(report, "GPU-hours that teams were given and used")                                                                         \
    X(lint, "what is wrong in GPU manifests, and the corrected form")                                                            \
    X(nvsim, "a simulated GPU node behind libnvidia-ml.so.1: make it, put work and faults on it")                                 \
    X(mig, "partition the GPUs of this machine: assert, apply and export MIG layouts")                                          \
    X(sessions, "processes on the GPUs of this machine: pod, memory, activity")                                                 \
    X(version, "version of this program and its libraries")

#define X(name, help) int name##_main(int argc, char **argv);
COMMANDS(X)
#undef X

#endif
