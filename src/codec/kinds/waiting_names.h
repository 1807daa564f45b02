/* waiting_names.h - what the scheduler's condition of a Workload that waits is called, and its reasons while that has quota; what is
 * written of one that its owner keeps out of the queue
 *
 * Written by status reports (kube/object.h) and controllers, and read when records are made of objects.
 */
#ifndef CODEC_WAITING_NAMES_H
#define CODEC_WAITING_NAMES_H
#include <stdbool.h>
#include <string.h>

#define OBJECT_WAITING "capstan.dev/Waiting"
/* Of one that waits: the start that it is promised, for whoever schedules next (codec/decode/decode_checks.c). */
#define OBJECT_PROMISED "capstan.dev/Promised"
/* Of one for which machines of some flavors did not come: which it leaves out until when (sched/checks/passed_over.h). */
#define OBJECT_PASSED_OVER "capstan.dev/PassedOver"
/* Of a ClusterQueue whose annotation capstan.dev/backfill has no effect: false, and why. */
#define QUEUE_BACKFILL "capstan.dev/Backfill"
/* Of a ClusterQueue with the annotation capstan.dev/placement: by which policy nodes are chosen for it, the message's last word; false: the
 * annotation names none, and it is the last good one, or that of all. WHY  whoever schedules next keeps to it, too. */
#define QUEUE_PLACEMENT "capstan.dev/Placement"
/* Reasons of the condition OBJECT_WAITING, and of Admitted, while a Workload has quota and is not admitted: its checks are not ready; they
 * are, and it has no places yet. Kueue's words. */
#define OBJECT_AWAITS_CHECKS "UnsatisfiedAdmissionChecks"
#define OBJECT_AWAITS_PLACES "PendingDelayedTopologyRequests"
/* The message of QuotaReserved, false with Kueue's reason OnHold, of a set that has no pods. WHY  the scheduler says OnHold of others. */
#define WORKLOAD_HELD_MESSAGE "The set is scaled to zero: its Workload is on hold"
/* The same of a job that its operator finds invalid. */
#define WORKLOAD_INVALID_MESSAGE "The job is invalid, as its operator says in its status: its Workload is on hold"
/* One of these two: its owner keeps the Workload out of the queue, until it writes something else. */
static inline bool workload_held_message(const char *text)
{
    return strcmp(text, WORKLOAD_HELD_MESSAGE) == 0 || strcmp(text, WORKLOAD_INVALID_MESSAGE) == 0;
}

#endif
