/* xid_line.c - a record of the kernel's log: what is taken has a number and a place, and a second reading says the same */
#include <string.h>
#include "agent/health/xid_line.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xid_line l = {.xid = 7}, again = {.xid = 7};
    struct bytes record = {(const char *)data, size};
    bool taken = xid_line_parse(record, &l);
    MUST_HOLD(taken || l.xid == 7);
    MUST_HOLD(xid_line_parse(record, &again) == taken && memcmp(&l, &again, sizeof l) == 0);
    if (!taken)
        return 0;
    char bus[64];
    (void)snprintf(bus, sizeof bus, "%04x:%02x:%02x.0", l.domain, l.bus, l.device);
    MUST_HOLD(memmem(data, size, ";NVRM: Xid (", 12) != NULL);
    MUST_HOLD(l.xid <= 99999999 && l.pid <= 99999999);
    MUST_HOLD(*l.uuid ? strlen(l.uuid) == 40 : xid_line_is_of(&l, "", bus));
    MUST_HOLD(l.ci == XID_LINE_NONE || l.gi != XID_LINE_NONE);
    return 0;
}
