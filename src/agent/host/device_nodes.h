/* device_nodes.h - makes the driver's device nodes where the host lacks them, as nvidia-modprobe would
 *
 * WHY    nodes come with whoever opens the driver first, and capability nodes with whoever makes a MIG instance. In a container that is the
 *        agent, and the container has no nvidia-modprobe: without its nodes a CDI device cannot be given to anybody.
 * SOURCE /proc/devices (numbers), /proc/driver/nvidia/params (ModifyDeviceFiles, owner and mode), .../gpus/BUS/information (minors); nodes
 * of
 *        capabilities are 0444 (DeviceFileMode of /proc/driver/nvidia/capabilities).
 */
#ifndef AGENT_DEVICE_NODES_H
#define AGENT_DEVICE_NODES_H
#include "agent/host/roots.h"
#include "base/err.h"

/* nvidiactl, nvidia-modeset, nvidia-uvm, nvidia-uvm-tools and one for each GPU, in the host's /dev. Nothing where no driver is loaded, or
 * where it says that its nodes are not to be touched. A node with other numbers than the driver's is replaced; what is no device node
 * stays. Returns how many were made; -E_DENIED: not root, or the place takes no nodes. */
int device_nodes_make(const struct roots *r, struct err *e);
/* The same for the capabilities with these minors; negative ones are left out. */
int device_nodes_make_capabilities(const struct roots *r, const int *minors, size_t n, struct err *e);

#endif
