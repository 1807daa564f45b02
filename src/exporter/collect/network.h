/* network.h - how many bytes the node's network has carried
 *
 *   /sys/class/infiniband/DEVICE/ports/N/counters/port_{rcv,xmit}_data   RDMA, of InfiniBand and RoCE, which no interface counts
 *   /proc/1/net/dev                                                      the node's own interfaces e... and ib...
 *
 * WHY of the node and not of pods: RDMA is counted by port alone, and pods on the host's network have no interface of their own. Interfaces
 *     by which pods are joined (veth, bridges, tunnels) are left out: what leaves the node goes by the others.
 * UNIT port_*_data counts words of four bytes.
 */
#ifndef EXPORTER_NETWORK_H
#define EXPORTER_NETWORK_H
#include <stdbool.h>
#include <stdint.h>

struct network_count {
    uint64_t bytes;            /* in and out, since the counters began */
    bool rdma;                 /* some port counts RDMA */
};
bool network_read(const char *root, struct network_count *ret_count); /* false: nothing of that can be read */

#endif
