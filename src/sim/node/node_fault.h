/* node_fault.h - faults that happen to the GPUs of a simulated node, as its annotation capstan.dev/simulate-fault names them
 *
 *     "xid=79,gpu=3" or "lost,gpu=0" or "ecc,gpu=1,gi=7,ci=0"; several with ';'
 */
#ifndef SIM_NODE_FAULT_H
#define SIM_NODE_FAULT_H
#include "agent/driver/driver.h"

/* Those of `text` happen that are not in `before` (NULL: none were). -E_INVALID: what is wrong; then none has happened. */
int node_fault_happen(struct driver *model_driver, uint32_t gpus_n, const char *text, const char *before, struct err *e);

#endif
