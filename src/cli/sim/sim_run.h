/* sim_run.h - capstan sim run */
#ifndef CLI_SIM_RUN_H
#define CLI_SIM_RUN_H
#include "cli/options.h"

int sim_run_main(const struct options *o);

#endif
