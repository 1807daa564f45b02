#include "codec/decode/pod_requests.h"
#include "base/amount.h"
#include "codec/decode/decode.h"

void pod_requests_init(struct pod_requests *p)
{
    p->rows_n = 0;
    p->dropped_n = 0;
}

/* Row of a resource, made when new; -1 when the table is full. */
static int row_of(struct pod_requests *p, name_id resource)
{
    for (uint32_t i = 0; i < p->rows_n; i++)
        if (p->rows[i].resource == resource)
            return (int)i;
    if (p->rows_n == LIMIT_RESOURCES) {
        p->dropped_n++;
        return -1;
    }
    uint32_t i = p->rows_n++;
    p->rows[i].resource = resource;
    p->rows[i].containers = p->rows[i].sidecars = p->rows[i].init_most = p->rows[i].overhead = 0;
    p->rows[i].pod_level = -1;
    return (int)i;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void pod_requests_add(struct pod_requests *p, enum pod_part part, const struct container_request *rows, uint32_t rows_n)
{
    for (uint32_t i = 0; i < rows_n; i++) {
        int64_t amount = rows[i].request >= 0 ? rows[i].request : rows[i].limit;
        int at = amount < 0 ? -1 : row_of(p, rows[i].resource);
        if (at < 0)
            continue;
        switch (part) {
        case POD_CONTAINER:
            p->rows[at].containers = amount_plus(p->rows[at].containers, amount);
            break;
        case POD_INIT_CONTAINER:
            p->rows[at].init_most = larger(p->rows[at].init_most, amount_plus(p->rows[at].sidecars, amount));
            break;
        case POD_SIDECAR:
            p->rows[at].sidecars = amount_plus(p->rows[at].sidecars, amount);
            p->rows[at].init_most = larger(p->rows[at].init_most, p->rows[at].sidecars);
            break;
        case POD_OVERHEAD:
            p->rows[at].overhead = amount_plus(p->rows[at].overhead, amount);
            break;
        case POD_LEVEL:
            p->rows[at].pod_level = amount;
            break;
        }
    }
}

void pod_requests_finish(const struct pod_requests *p, struct arena *a, const struct amount **ret_amounts,
                         uint32_t *ret_n)
{
    struct amount *out = p->rows_n ? arena_alloc(a, p->rows_n * sizeof *out) : NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->rows_n; i++) {
        int64_t sum = larger(amount_plus(p->rows[i].containers, p->rows[i].sidecars), p->rows[i].init_most);
        if (p->rows[i].pod_level >= 0)
            sum = p->rows[i].pod_level;
        sum = amount_plus(sum, p->rows[i].overhead);
        if (sum > 0)
            out[n++] = (struct amount){p->rows[i].resource, sum};
    }
    decode_sort_amounts(out, n);
    *ret_amounts = n ? out : NULL;
    *ret_n = n;
}
