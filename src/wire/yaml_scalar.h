/* yaml_scalar.h - what a plain (unquoted) YAML 1.1 scalar means, as kubectl's reader sees it (this room only) */
#ifndef WIRE_YAML_SCALAR_H
#define WIRE_YAML_SCALAR_H
#include "wire/json.h"

struct yaml_scalar {
    enum json_type type; /* JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING */
    bool truth;          /* JSON_BOOL */
    bool not_finite;     /* .inf, .nan: type is JSON_NUMBER, but JSON cannot say it */
    char number[48];     /* JSON_NUMBER: its JSON literal */
};
struct yaml_scalar yaml_scalar_resolve(struct bytes text);
/* True when some YAML reader would take the plain text for something else than a string (dates and 1:30 included). */
bool yaml_scalar_needs_quotes(struct bytes text);

#endif
