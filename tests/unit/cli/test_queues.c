/* What capstan queues says of a ClusterQueue of either shape: what was written as v1beta1 keeps its field names where nobody converts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/live/live.h"

static const char *served;
static struct arena *a;
static char cohort[32], limit[32];

/* In place of a cluster. */
const struct json *connection_get_list(struct connection *c, struct arena *arena, const char *path, struct err *e)
{
    (void)c;
    return strstr(path, "/clusterqueues") ? json_parse(arena, bytes_of(served), NULL, e) : NULL;
}

int live_print_table(const struct options *o, const struct live_list *list)
{
    const struct output_column *columns = list->columns;
    uint32_t columns_n = list->columns_n;
    struct output_table t;
    struct err e = {0};
    output_init(&t, a, columns, columns_n);
    list->rows(NULL, &t, o, &e);
    assert_int_equal(t.rows_n, 1);
    for (uint32_t i = 0; i < columns_n; i++) {
        const char *cell = t.cells[i] ? t.cells[i] : "-";
        if (strcmp(columns[i].key, "cohort") == 0)
            snprintf(cohort, sizeof cohort, "%s", cell);
        else if (strcmp(columns[i].key, "limit") == 0)
            snprintf(limit, sizeof limit, "%s", cell);
    }
    output_fini(&t);
    return 0;
}

static void says(const char *field, const char *want_cohort, const char *want_limit)
{
    a = arena_new();
    served = arena_printf(a, "{\"items\":[{\"metadata\":{\"name\":\"q\"},\"spec\":{%s\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\","
                             "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":4,\"borrowingLimit\":2}]}]}]}}]}", field);
    assert_int_equal(queues_main(NULL), 0);
    arena_free(a);
    assert_string_equal(cohort, want_cohort);
    assert_string_equal(limit, want_limit);
}

static void cohort_of_both_shapes(void **state)
{
    (void)state;
    says("", "-", "4");
    says("\"cohortName\":\"new\",", "new", "6");
    says("\"cohort\":\"old\",", "old", "6");
}

/* Another server takes a flavor without a name, which the status has neither. */
static void flavor_without_a_name(void **state)
{
    (void)state;
    a = arena_new();
    served = "{\"items\":[{\"metadata\":{\"name\":\"q\"},\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":4}]}]}]},"
             "\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":1}]}]}}]}";
    assert_int_equal(queues_main(NULL), 0);
    arena_free(a);
    assert_string_equal(limit, "4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cohort_of_both_shapes), cmocka_unit_test(flavor_without_a_name)};
    return cmocka_run_group_tests_name("cli/queues", tests, NULL, NULL);
}
