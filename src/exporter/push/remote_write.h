/* remote_write.h - samples to a Prometheus remote-write 1.0 receiver: protobuf, snappy block, stale markers
 *
 * Series that were in the last sample and are not in this one get the stale marker (NaN 0x7ff0000000000002). An empty page ends all: to be
 * sent last.
 * SOURCE prometheus.io "Remote-Write 1.0"
 */
#ifndef EXPORTER_REMOTE_WRITE_H
#define EXPORTER_REMOTE_WRITE_H
#include "exporter/push/push.h"
#include "wire/prometheus.h"

struct remote_write_config {
    const char *url;              /* http://host:9090/api/v1/write */
    const char *bearer_token, *user, *password;
    const struct prometheus_label *external_labels; /* job, instance, cluster */
    uint32_t external_labels_n;
    uint32_t queue_max;
};
struct remote_write;
int remote_write_new(struct loop *l, const struct remote_write_config *config, struct remote_write **ret_w, struct err *e);
void remote_write_free(struct remote_write *w);
/* `page`: a rendered text page (0.0.4) of this moment: what is pushed equals what is scraped. */
void remote_write_send(struct remote_write *w, struct bytes page, int64_t wall_ms);
struct push_counts remote_write_counts(const struct remote_write *w);

#endif
