/* sim_jobs.h - capstan sim jobs: how long the jobs of a trace wait */
#ifndef CLI_SIM_JOBS_H
#define CLI_SIM_JOBS_H
#include "cli/options.h"

int sim_jobs_main(const struct options *o);

#endif
