/* report_parts.h - capstan report in three steps: what is asked for, from where it is read, how it is printed */
#ifndef CLI_REPORT_PARTS_H
#define CLI_REPORT_PARTS_H
#include "cli/output.h"
#include "exporter/report/report_page.h"

struct report_options {
    enum report_by by;
    enum report_sort sort;
    enum report_step trend; /* of the page and of JSON */
    const char *since, *until, *store, *prometheus, *title, *write, *currency;
    const char *ns, *queue, *user; /* only theirs; NULL: of all */
    const char *kubeconfig, *context;
    const struct report_prices *prices; /* NULL: none */
    uint32_t top; /* 0: all */
    int format;            /* enum output_format */
    double since_s, until_s;
    bool is_compared, is_span_before; /* the latter: with what lies just before, as long */
    struct report_period before;
    const struct options *given;
};

/* ---- reading ---- */

/* One of: a usage store, a Prometheus, the one that runs in the cluster. */
struct report_source;
/* By what was asked for; without --store and --prometheus the store of the cluster, and where it has none its Prometheus. What is wrong is
 * said on stderr; returns 0 or the exit code. */
int report_source_open(const struct report_options *o, struct arena *a, struct report_source **ret_s);
void report_source_close(struct report_source *s); /* NULL-safe */
const char *report_source_name(const struct report_source *s);
bool report_source_keeps_hours(const struct report_source *s); /* spans are rounded out to hours */
bool report_source_begin(struct report_source *s, double *ret_s); /* since when something is known; false: not known */
/* Filtered, with models settled. Returns 0 or the exit code, as above. */
int report_source_read(struct report_source *s, const struct report_options *o, double since_s, double until_s, struct arena *a,
                       struct report_input *ret_input);

/* ---- printing ---- */

void report_print(const struct report_options *o, struct arena *a, const struct report_page *page);
/* Print into o->write: into a new file beside it, which takes its place when it is whole. Returns the exit code. */
int report_print_to_file(const struct report_options *o, struct arena *a, const struct report_page *page);

#endif
