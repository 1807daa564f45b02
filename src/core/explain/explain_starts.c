/* explain_starts.c - starts that are promised, and who is kept out by them, in words */
#include "base/clock.h"
#include "core/explain/explain_part.h"
#include "core/time/forecast.h"

enum { NODES_NAMED = 4 };

static void add_nodes(struct buf *out, const struct reason *r, const struct intern *names)
{
    uint32_t n = 0;
    name_id last = 0;
    buf_text(out, r->nodes_n == 1 ? " on node " : " on nodes ");
    for (const struct reason *p = r->child; p && n < NODES_NAMED; p = p->next) {
        if (p->name == last)
            continue;
        buf_printf(out, "%s%s", n++ ? ", " : "", intern_name(names, p->name));
        last = p->name;
    }
    if (r->nodes_n > NODES_NAMED)
        buf_printf(out, " and %u more", r->nodes_n - NODES_NAMED);
}

static void promised_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const from[] = {"", ", by limits of time", ", by earlier runs", ", by limits of time and earlier runs"};
    char time[TIME_TEXT_MAX];
    buf_printf(out, "is promised a start about %s", time_format(time, r->need));
    if (r->nodes_n)
        add_nodes(out, r, names);
    buf_text(out, from[r->have & (END_BY_LIMIT | END_BY_RUNS)]);
}

static void add_limit(struct buf *out, int64_t s)
{
    buf_printf(out, "a limit of time (activeDeadlineSeconds of its job, or maximumExecutionTimeSeconds) of at most %lld s", (long long)s);
}

static void kept_out_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    char time[TIME_TEXT_MAX];
    buf_printf(out, "would pass %s/%s, which is promised a start about %s, and %s", intern_name(names, r->pod_set),
               explain_last_part(intern_name(names, r->name)), time_format(time, r->have),
               r->nodes_n ? "may run for longer than until then" : "nothing is known of how long it runs");
    if (r->need) {
        buf_text(out, ": set ");
        add_limit(out, r->need);
    } else {
        buf_text(out, ", as of all that are in no ClusterQueue");
    }
}

bool explain_starts(struct buf *out, const struct reason *r, const struct intern *names)
{
    switch ((int)r->code) {
    case REASON_START_PROMISED:
        promised_sentence(out, r, names);
        return true;
    case REASON_PROMISED_PLACE:
        buf_printf(out, "%lld pod%s of pod set %s on node %s", (long long)r->need, r->need == 1 ? "" : "s", intern_name(names, r->pod_set),
                   intern_name(names, r->name));
        return true;
    case REASON_KEPT_OUT:
        kept_out_sentence(out, r, names);
        return true;
    case REASON_CHANGE_LIMIT:
        add_limit(out, r->need);
        buf_printf(out, " for %s %s/%s", explain_kind_of(r->have), intern_name(names, r->pod_set),
                   explain_last_part(intern_name(names, r->name)));
        return true;
    default:
        return false;
    }
}

int64_t explain_about_ms(const struct reason *r)
{
    return r->code == REASON_START_PROMISED ? r->need : r->code == REASON_KEPT_OUT ? r->have : 0;
}
