/* node_answers.h - what the embedded API server asks kubelets: usage of pods and nodes, and logs */
#ifndef SIM_NODE_ANSWERS_H
#define SIM_NODE_ANSWERS_H
#include "apiserver/apiserver.h"

extern const struct apiserver_node_ops kubelets_node_ops; /* ctx is the struct kubelets */

#endif
