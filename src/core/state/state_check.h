/* state_check.h - parts of state_check.c that stand in their own file */
#ifndef CORE_STATE_CHECK_H
#define CORE_STATE_CHECK_H
#include "base/err.h"
#include "core/state/model.h"

bool state_check_domains(const struct state *s, struct err *e);

#endif
