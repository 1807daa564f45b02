/* influx.h - samples as InfluxDB line protocol, v1 and v2 API, and the KETI schema
 *
 * Bounded queue of batches (<= 5000 lines each); 5xx, 429 and silence are retried with back-off, 400 is dropped and counted; the oldest goes
 * when the queue is full. Field types never change (integers with i). SOURCE monitoring.md 5.1, 5.3, 7.5
 */
#ifndef EXPORTER_INFLUX_H
#define EXPORTER_INFLUX_H
#include "exporter/sample.h"
#include "net/http_client.h"

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
struct push_counts { uint64_t sent_n, retried_n, dropped_n, failed_n; uint32_t queued_n; };
struct push_counts influx_counts(const struct influx *i);
/* The lines of one sample (for tests and `capstan sessions --output influx`). */
void influx_lines(const struct influx_config *config, const struct sample *s, struct buf *out);
/* Escaping of names (spaces, commas, =) and string fields (quotes, backslashes). */
void influx_name(struct buf *out, const char *text);

#endif
