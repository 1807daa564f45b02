/* run_part.h - a run while it goes on */
#ifndef SIM_RUN_RUN_PART_H
#define SIM_RUN_RUN_PART_H
#include "codec/kinds/kind.h"
#include "sim/run/run.h"

struct run {
    struct virtual_cluster cluster;
    struct timeline *t;
    struct arena *a; /* of one step */
    struct kind_table *kinds;
    struct run_result result;
    struct err *e;
    /* of the call that is under way */
    bool answered;
    int code;
    char text[ERR_TEXT_MAX];
    const struct json *body;
};
/* run_act.c: does what the step says. 0, or -E_* with a sentence. */
int run_act(struct run *r, const struct scenario_step *s);
/* GET, in r->a; NULL: it is not there. */
const struct json *run_get(struct run *r, const char *path);
/* run_expect.c: looks, counts and tells. */
void run_expect(struct run *r, const struct scenario_step *s);

#endif
