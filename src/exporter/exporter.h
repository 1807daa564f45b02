/* exporter.h - one agent's monitoring, wired
 *
 *     collect ─▶ { serve, textfile, InfluxDB, remote-write, feedback }     account ─▶ usage store
 *
 * It borrows the agent's driver, inventory and API client and hands nothing back but the node annotation of exporter/push/feedback.h. What
 * is wrong outside (a textfile folder that is missing, a database that is down) is logged when it changes; collecting goes on.
 *
 * FILES  <state_dir>/account    counters that survive a restart (exporter/account/account.h), every minute
 *        <state_dir>/usage.db   GPU-hours by pod and hour (exporter/account/usage.h), every minute; `capstan report` reads it
 */
#ifndef EXPORTER_EXPORTER_H
#define EXPORTER_EXPORTER_H
#include "exporter/pages/serve.h"
#include "exporter/push/influx.h"
#include "exporter/push/remote_write.h"

struct exporter_options {         /* texts are the caller's and stay until exporter_free; NULL = that part is off, unless said */
    const char *node_name;        /* label Hostname, and the node that is annotated */
    const char *root;             /* prefix of /proc and /var/log; NULL: "" */
    const char *state_dir;
    const char *listen;           /* serve_config.listen */
    const char *web_config;
    const char *counters_file;    /* NULL: the built-in list. Missing or wrong: the list before (at first the built-in one) stays */
    bool counters_strict;         /* unknown names make the file wrong */
    int64_t period_ms;
    struct page_config page;      /* without counters: they come from the file */
    const char *textfile;
    bool textfile_keep;
    uint32_t processes_max;
    int64_t xid_window_ms, clock_window_ms; /* 0: five minutes */
    bool session_label_index;
    const char *pod_label_allow;  /* pods_config.label_allow */
    struct influx_config influx;  /* url NULL: off */
    struct remote_write_config remote_write; /* url NULL: off */
    bool feedback;                /* needs an API server */
};
#define EXPORTER_PERIOD_MS 15000
#define EXPORTER_PERIOD_MIN_MS 100
#define EXPORTER_PROCESSES_MAX 2000

struct exporter;
/* Nothing here waits for the driver. `k` may be NULL: no API server. Errors are what no waiting will heal: -E_INVALID addresses, URLs, the
 * web config; -E_NOTFOUND, -E_DENIED, -E_LIMIT, -E_IO of the web config's files. */
int exporter_new(struct loop *l, struct driver *d, struct inventory *i, struct kube_client *k, const struct exporter_options *o,
                 struct exporter **ret_x, struct err *e);
/* Pushed series are marked stale, as those of a scrape would be. What waits is sent within a second or not at all. Outside of the loop's
 * turns. */
void exporter_stop(struct exporter *x);
void exporter_free(struct exporter *x); /* NULL-safe; saves the books; before the driver and the inventory */
/* The shares that slots stand for; `t` is kept until the next call or exporter_free. */
void exporter_resources(struct exporter *x, const struct resource_table *t);
void exporter_event(struct exporter *x, const struct driver_event *event);
void exporter_reload(struct exporter *x); /* SIGHUP: counters and web config are read again; series do not pause */

#endif
