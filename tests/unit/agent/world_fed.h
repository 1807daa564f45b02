/* world_fed.h - a world (agent_world.h) whose agent is that of a simulated node: the tests of agents with a machine hold for it, too */
#ifndef TESTS_WORLD_FED_H
#define TESTS_WORLD_FED_H
#include "agent_world.h"

int world_setup_fed(void **state);
int world_teardown_fed(void **state);

#endif
