/* prometheus.h - metrics as text: Prometheus 0.0.4 and OpenMetrics 1.0
 *
 *     # HELP name text      escaped: backslash, newline
 *     # TYPE name gauge     once per family, all its samples together
 *     name{a="x",b="y"} 1   label values escaped: backslash, quote, newline; invalid UTF-8 becomes U+FFFD, control characters go
 *
 * OpenMetrics: counters lose `_total` in HELP and TYPE; counters whose sample name does not end so become `unknown`; `# EOF` at the end.
 * Numbers: the shortest text that reads back as the same double.
 * SOURCE prometheus.io, "Exposition formats"; OpenMetrics 1.0
 */
#ifndef WIRE_PROMETHEUS_H
#define WIRE_PROMETHEUS_H
#include "base/bytes.h"

enum prometheus_type { PROMETHEUS_GAUGE, PROMETHEUS_COUNTER, PROMETHEUS_HISTOGRAM, PROMETHEUS_UNTYPED };
struct prometheus_label { const char *name, *value; };
struct prometheus_page {
    struct buf *out;
    bool openmetrics;
    const char *family, *help; /* being written */
    enum prometheus_type type;
    bool is_open;              /* HELP and TYPE are there */
    uint32_t samples_n, families_n;
};
void prometheus_begin(struct prometheus_page *p, struct buf *out, bool openmetrics);
void prometheus_end(struct prometheus_page *p); /* "# EOF" where it belongs */
/* Start a family: `name` as in samples ("gpu_xid_errors_total"). HELP and TYPE are written with the first sample: no empty families. */
void prometheus_family(struct prometheus_page *p, const char *name, enum prometheus_type type, const char *help);
void prometheus_sample(struct prometheus_page *p, const struct prometheus_label *labels, uint32_t labels_n, double value);
/* With a suffix ("_bucket", "_sum", "_count") for histograms. */
void prometheus_sample_suffix(struct prometheus_page *p, const char *suffix, const struct prometheus_label *labels, uint32_t labels_n,
                              double value);
/* Fast path: labels that were rendered before ("{a=\"x\"}"). */
void prometheus_labels_render(struct buf *out, const struct prometheus_label *labels, uint32_t labels_n);
void prometheus_sample_rendered(struct prometheus_page *p, struct bytes rendered_labels, double value);
void prometheus_suffix_rendered(struct prometheus_page *p, const char *suffix, struct bytes rendered_labels, double value);
void prometheus_number(struct buf *out, double value); /* "1", "0.25", "NaN", "+Inf" */
/* Clean text for a label value: U+FFFD for invalid UTF-8, no control characters, at most max_bytes on a character boundary. */
void prometheus_clean(struct buf *out, struct bytes text, size_t max_bytes);
/* Label name from a Kubernetes label: [^A-Za-z0-9_] to '_'. */
void prometheus_label_name(struct buf *out, struct bytes text);
/* Is OpenMetrics asked for, by q-values of an Accept header. */
bool prometheus_accepts_openmetrics(struct bytes accept);

#endif
