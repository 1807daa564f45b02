/* usage_read.h - which usage store the commands that look back read, and since when */
#ifndef CLI_HISTORY_USAGE_READ_H
#define CLI_HISTORY_USAGE_READ_H
#include "exporter/account/usage.h"

#define USAGE_SPAN_MAX_S (3660 * 86400.0)
#define USAGE_WHEN_WRONG "write 30m, 12h, 7d, 4w, 2026-01-31 or 2026-01-31T08:00:00Z"

/* "7d" before now, or a time. False: it is neither, or longer ago than anybody keeps. */
bool usage_when(const char *text, double now_s, double *ret_s);

/* What is known of pods in the hours that overlap the span. store: a data directory or a file; NULL: that of the cluster which the other
 * commands ask. *ret_read_from: which file that was, also where it fails. -E_NOTFOUND with a sentence that says what to name. */
int usage_read(const char *store, struct arena *a, double since_s, double until_s, struct usage_record **ret_records, uint32_t *ret_n,
               const char **ret_read_from, struct err *e);

/* Only opened; kubeconfig: the file that was named, NULL $KUBECONFIG. */
int usage_read_open(const char *store, const char *kubeconfig, struct arena *a, struct usage_store **ret_u, const char **ret_read_from,
                    struct err *e);

#endif
