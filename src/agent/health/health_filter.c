/* health_filter.c - the two environment variables of health checks, and the catalogue */
#include "agent/health/health_filter.h"
#include "agent/health/xid_table.h"

const struct xid_entry *xid_find(uint32_t xid)
{
    uint32_t low = 0, high = xid_table_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (xid_table[middle].xid < xid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < xid_table_n && xid_table[low].xid == xid ? &xid_table[low] : NULL;
}

static bool word_is(struct bytes word, const char *lower)
{
    size_t n = strlen(lower);
    if (word.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((word.data[i] | 0x20) != lower[i])
            return false;
    }
    return true;
}

static void word_add(struct health_list *l, struct bytes word, const char *variable, struct buf *problems)
{
    int64_t number;
    if (word_is(word, "all")) {
        l->all = true;
    } else if (word_is(word, "xids")) {
        l->xids = true;
    } else if (!bytes_int64(word, &number) || number < 0 || number > UINT16_MAX) {
        buf_printf(problems, "%s: \"%.*s\" is not an XID: write numbers with commas, \"xids\" or \"all\"\n", variable,
                   (int)(word.n < 40 ? word.n : 40), word.data);
    } else if (l->numbers_n < LIMIT_HEALTH_XIDS) {
        l->numbers[l->numbers_n++] = (uint32_t)number;
    } else if (l->numbers_n == LIMIT_HEALTH_XIDS) {
        l->numbers_n++; /* said once */
        buf_printf(problems, "%s: more than %d numbers: the others do not count\n", variable, LIMIT_HEALTH_XIDS);
    }
}

static void list_parse(struct health_list *l, const char *text, const char *variable, struct buf *problems)
{
    for (const char *at = text ? text : ""; *at;) {
        size_t n = strcspn(at, ", \t\n");
        if (n)
            word_add(l, (struct bytes){at, n}, variable, problems);
        at += n + (at[n] != '\0');
    }
    if (l->numbers_n > LIMIT_HEALTH_XIDS)
        l->numbers_n = LIMIT_HEALTH_XIDS;
}

static bool list_has(const struct health_list *l, uint32_t xid)
{
    for (uint32_t i = 0; i < l->numbers_n; i++) {
        if (l->numbers[i] == xid)
            return true;
    }
    return false;
}

void health_filter_parse(struct health_filter *f, const char *disable, const char *enable, struct buf *problems)
{
    memset(f, 0, sizeof *f);
    list_parse(&f->disable, disable, "DP_DISABLE_HEALTHCHECKS", problems);
    list_parse(&f->enable, enable, "DP_ENABLE_HEALTHCHECKS", problems);
}

bool health_filter_off(const struct health_filter *f)
{
    return f->disable.all && !f->enable.all && !f->enable.xids && !f->enable.numbers_n;
}

bool health_filter_disables(const struct health_filter *f, uint32_t xid)
{
    return f->disable.all || f->disable.xids || list_has(&f->disable, xid);
}

enum xid_action health_filter_action(const struct health_filter *f, uint32_t xid, bool again, bool nonfatal)
{
    const struct xid_entry *entry = xid_find(xid);
    enum xid_action action = !entry ? XID_DRAIN_RESET : again ? entry->again : entry->action;
    if (nonfatal && entry && entry->by_severity)
        action = XID_IGNORE;
    bool everything = f->enable.all || f->enable.xids;
    if (list_has(&f->enable, xid) || (everything && !list_has(&f->disable, xid)))
        return action < XID_DRAIN_RESET ? XID_DRAIN_RESET : action;
    return health_filter_disables(f, xid) ? XID_IGNORE : action;
}
