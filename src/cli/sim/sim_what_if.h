/* sim_what_if.h - capstan sim what-if: who of a live cluster would start when, with a change */
#ifndef CLI_SIM_WHAT_IF_H
#define CLI_SIM_WHAT_IF_H
#include "cli/options.h"

int sim_what_if_main(const struct options *o);

#endif
