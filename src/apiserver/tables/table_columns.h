/* table_columns.h - what `kubectl get` shows of each built-in kind: columns, and the rules by which a cell is made of an object
 *
 * SHAPE  one struct table_layout a kind; its `cells` function appends exactly columns_n cells in the order of the columns.
 * SOURCE the column names and cell rules that kube-apiserver 1.32 prints (API reference, kubectl's own output).
 */
#ifndef APISERVER_TABLE_COLUMNS_H
#define APISERVER_TABLE_COLUMNS_H
#include "apiserver/tables/table_cells.h"

struct table_column {
    const char *name, *type;
    const char *format; /* "name" for the first column; "" else */
    int priority;       /* 1 = only with -o wide */
    const char *description;
};
struct table_layout {
    const char *group, *kind;
    const struct table_column *columns;
    uint32_t columns_n;
    void (*cells)(struct table_cells *c, const struct json *object);
};

#define TABLE_COLUMNS(array) array, sizeof(array) / sizeof *(array)
#define COLUMN_NAME                                                                                                    \
    {                                                                                                                  \
        "Name", "string", "name", 0, "Name of the object, unique among objects of its kind in its namespace."          \
    }
#define COLUMN_AGE                                                                                                     \
    {                                                                                                                  \
        "Age", "string", "", 0, "Time since the object was created."                                                   \
    }
#define COLUMN_CREATED                                                                                                 \
    {                                                                                                                  \
        "Created At", "date", "", 0, "When the object was created."                                                    \
    }
#define COLUMNS_CONTAINERS                                                                                             \
    {"Containers", "string", "", 1, "Names of the containers of the template."},                                       \
    {                                                                                                                  \
        "Images", "string", "", 1, "Images of the containers of the template."                                         \
    }
#define COLUMN_SELECTOR                                                                                                \
    {                                                                                                                  \
        "Selector", "string", "", 1, "Which pods belong to it."                                                        \
    }

extern const struct table_layout table_layouts_pod[];      /* Pod, Node, Event; ends with kind NULL, as all */
extern const struct table_layout table_layouts_workload[]; /* batch, apps */
extern const struct table_layout table_layouts_service[];  /* Service, Endpoints, Ingress, ... */
extern const struct table_layout table_layouts_object[];   /* ConfigMap, Secret, roles, quotas, ... */

#endif
