/* agent_world.h - the whole agent on a virtual clock: simulated GPUs below, an API server above, what a user sees of node "n1" */
#ifndef TESTS_AGENT_WORLD_H
#define TESTS_AGENT_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/agent.h"

#define ALL 0xffffffffu

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct driver *driver;
    struct agent *agent;
    struct agent_options options;
    struct arena *a;   /* texts until the end of the test */
    char dir[64];      /* state_dir of the options */
    struct json *got;  /* of the last request; NULL: refused */
    int code;
    struct world_feed *feed; /* world_fed.c; NULL: the agent looks for itself */
    void (*started)(struct world *w); /* the agent is there; NULL: nobody waits for it */
};

int world_setup(void **state); /* server and node; the options can still be changed */
int world_setup_live(void **state); /* the same in real time, with sockets */
int world_teardown(void **state);
void world_start_agent(struct world *w, const char *model, uint32_t gpus_n);
void world_run(struct world *w, int64_t ms);
void world_write_file(struct world *w, const char *name, const char *text); /* in dir */

/* Of the API server, which must not refuse. */
void world_create(struct world *w, const char *text);
struct json *world_get(struct world *w, const char *path);
void world_patch(struct world *w, const char *path, const char *body);
void world_on_got(void *arg, const struct kube_answer *answer); /* of a request that may be refused: code and got */
void world_set_label(struct world *w, const char *name, const char *value); /* of the node; NULL: takes it away */
const char *world_label(struct world *w, const char *name);                 /* "(none)" */
const char *world_devices(struct world *w);                                 /* the node's annotation */
const char *world_condition(struct world *w, const char *type);             /* "True/GPUsHealthy" */
bool world_has_event(struct world *w, const char *reason, const char *part);

#endif
