/* pod_qos.h - a pod's quality of service class, which follows from its requests and limits of CPU and memory
 *
 * SOURCE Kubernetes: Guaranteed when every container limits both and asks for as much; BestEffort when none says anything; else Burstable.
 */
#ifndef CODEC_POD_QOS_H
#define CODEC_POD_QOS_H
#include "wire/json.h"

const char *pod_qos(const struct json *spec);

#endif
