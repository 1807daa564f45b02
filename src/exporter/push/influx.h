/* influx.h - samples as InfluxDB line protocol, v1 and v2 API, and the KETI schema
 *
 * One body a sample (exporter/push/push.h); field types never change (integers with i). Timestamps in seconds.
 *
 *     gpu,host=N,UUID=U,gpu=0[,mig=1g.5gb] activity=0.5,memory_used=…i,memory_total=…i,power=…,temperature=…i,sessions=…i T
 *     gpu_process,host=N,UUID=U,pod=P,namespace=S,container=C,command=X,process=PID pid=…i,memory=…i T
 *
 * KETI's schema (keti): database `metric`: gpumetric by UUID, multimetric of the node; database `multimetric`: podmetric by UUID.
 * SOURCE InfluxDB, line protocol; KETI's GPU-Scheduler (its schema)
 */
#ifndef EXPORTER_INFLUX_H
#define EXPORTER_INFLUX_H
#include "exporter/push/push.h"
#include "exporter/sample.h"

struct influx_config {
    const char *url;                                  /* http://host:8086 */
    int version;                                      /* 1 or 2 */
    const char *database, *user, *password;           /* v1 */
    const char *org, *bucket, *token;                 /* v2 */
    const char *node_name;
    bool keti;                                        /* measurements gpumetric, multimetric, podmetric in databases metric, multimetric */
    uint32_t queue_max;                               /* batches; 0 = 64 */
};
struct influx;
int influx_new(struct loop *l, const struct influx_config *config, struct influx **ret_i, struct err *e);
void influx_free(struct influx *i);
void influx_send(struct influx *i, const struct sample *s);
struct push_counts influx_counts(const struct influx *i);
/* The lines of one sample. KETI's schema needs two databases: `pods` chooses the one of podmetric. */
void influx_lines(const struct influx_config *config, const struct sample *s, bool pods, struct buf *out);

#endif
