/* near.h - jobs whose pods stand in domains of a topology: what users do with them, and what must hold */
#ifndef CHAOS_NEAR_H
#define CHAOS_NEAR_H
#include "world.h"

/* Topology "t" of zones and nodes, flavor "near" with it, ClusterQueue "q3" of that alone, LocalQueue "team3". */
const char *near_seed(int at); /* objects, one after the other; NULL: no more */
const char *near_annotation(struct world *w); /* what a job asks for: ,"kueue.x-k8s.io/..": ".." */
void near_change(struct world *w); /* a node comes into another zone, or into none; or the queue demands a check, or none */
void near_node_fails(struct world *w); /* with its pods, or is whole again */
/* Users give up jobs that have quota and find no nodes, or no domains. WHY  those that none could ever hold would wait for ever, and where
 * all admitted jobs must be ready first, everybody with them. */
void near_give_up(struct world *w);
/* A Workload that runs says its domains, all of its pods are counted there, and its live pods stand there; for another node in the place
 * of one that failed it does not wait. */
bool near_check(struct world *w);

#endif
