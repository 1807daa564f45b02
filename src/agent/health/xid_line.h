/* xid_line.h - what the driver writes of an XID into the kernel's log
 *
 * SHAPE  a record of /dev/kmsg:  <priority>,<sequence>,<microseconds>,<flags>[,...];NVRM: Xid (<where>): <number>[, pid=<n>][, <words>]
 *        words of NVLink 5:      <part of the link> Fatal|Nonfatal XC0 ...
 *        where:                  [PCI:][<domain>:]<bus>:<device>[.<function>][ GPU-I:<n>[ GPU-CI:<n>]], or the UUID of the GPU
 *        The numbers of GPU and compute instance are decimal, the PCI address is hexadecimal. pid is '<unknown>' when nobody is to blame.
 * WHY    The name of a process stands after its pid, and anybody may choose one: no severity is read behind it.
 * WHY    Records of programs (a priority of 8 and above) are refused whatever they say: users can have them written.
 * SOURCE lines of drivers 390 to 595 in public bug reports; prefix and facility: Linux, Documentation/ABI/testing/dev-kmsg.
 */
#ifndef AGENT_XID_LINE_H
#define AGENT_XID_LINE_H
#include "agent/driver/driver.h"
#include "base/bytes.h"

#define XID_LINE_NONE 0xffffffffu

struct xid_line {
    char uuid[48];                /* "": by its PCI address */
    uint32_t domain, bus, device; /* NONE each, with a UUID */
    uint32_t gi, ci;              /* NONE: not said */
    uint32_t xid;
    uint32_t pid; /* 0: not said */
    enum driver_severity severity;
};
/* True: `record` (one line, without its end) tells of an XID. Else false, and *ret_line is as it was. */
bool xid_line_parse(struct bytes record, struct xid_line *ret_line);
/* Is this the GPU with this UUID at this address ("0000:3b:00.0")? */
bool xid_line_is_of(const struct xid_line *line, const char *uuid, const char *bus_id);

#endif
