/* container_answer.h - what a device plugin's Allocate gives a container, as lines that people read
 *
 * A v1beta1 ContainerAllocateResponse becomes "env A=b", "mount HOST CONTAINER ro", "device HOST CONTAINER rw", "annotation A=b", "cdi
 * NAME", one a line, in the order of the message.
 * SOURCE Kubernetes, deviceplugin/v1beta1
 */
#ifndef SIM_CONTAINER_ANSWER_H
#define SIM_CONTAINER_ANSWER_H
#include "base/bytes.h"

void container_answer_text(struct bytes container_response, struct buf *out);

#endif
