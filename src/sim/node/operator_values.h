/* operator_values.h - the values.yaml of NVIDIA's GPU operator, as far as its keys mean something for simulated nodes
 *
 * Served: mig.strategy, devicePlugin.{enabled,config.{name,default,data},env,args}, migManager.{enabled,config.{name,default,data}},
 * gfd.env. Everything else that the operator's chart knows is answered with one warning line (driver and toolkit: assumed present); keys
 * that it does not know are warned of as well.
 * SOURCE values.yaml of NVIDIA's GPU operator.
 */
#ifndef SIM_OPERATOR_VALUES_H
#define SIM_OPERATOR_VALUES_H
#include "agent/config/config.h"
#include "wire/json.h"

struct operator_config {
    const char *name, *preset;   /* ConfigMap and default key; "" = not given */
    const struct json *data;     /* written out in the values; NULL none */
};
struct operator_values {
    struct operator_config device_plugin, mig;
    bool device_plugin_off, mig_off;
    struct config_setting *settings; /* mig.strategy, then environment, then arguments */
    uint32_t settings_n;
};
/* Everything stands in `a`. warnings: one line each. */
int operator_values_parse(struct arena *a, struct bytes yaml, struct operator_values *ret_values, struct buf *warnings, struct err *e);

#endif
