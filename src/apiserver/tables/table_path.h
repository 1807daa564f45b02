/* table_path.h - the JSONPath subset of CRD printer columns and scale paths
 *
 * Understands .a.b, .a\.b, ['a.b'], [0], [-1], [*], [?(@.type=="Ready")] and [?(@.x!="y")]; with or without a leading
 * '$', '{' and '}'.
 */
#ifndef APISERVER_TABLE_PATH_H
#define APISERVER_TABLE_PATH_H
#include "wire/json.h"

/* The first value that matches; NULL when nothing does or the path is not understood. */
const struct json *table_path_find(const struct json *object, const char *path);

#endif
