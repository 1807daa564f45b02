/* oracle.c - see oracle.h */
#include <jansson.h>
#include "oracle.h"

enum oracle_answer oracle_json(const char *text, size_t n)
{
    json_error_t error;
    json_t *v = json_loadb(text, n, JSON_DECODE_ANY, &error);
    if (!v)
        return json_error_code(&error) == json_error_numeric_overflow ? ORACLE_NUMBER_TOO_LARGE : ORACLE_REFUSED;
    json_decref(v);
    return ORACLE_ACCEPTED;
}
