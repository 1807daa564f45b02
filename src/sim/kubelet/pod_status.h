/* pod_status.h - the status that a kubelet would report for a pod in this step */
#ifndef SIM_POD_STATUS_H
#define SIM_POD_STATUS_H
#include "sim/kubelet/pod_life.h"

/* Print a strategic merge patch for pods/NAME/status: phase, podIP, startTime, conditions, containerStatuses, initContainerStatuses.
 * Carries the uid, so that a namesake is not hit. health: of the devices that it has; a: for their status.
 * WHY  no tree: it is told of each pod that starts or ends. */
void pod_status_patch(struct buf *out, struct arena *a, const struct pod_life *p, int64_t wall_ms, struct device_health health);

#endif
