/* pod_cgroup.c - the text of /proc/<pid>/cgroup: ids that are found are well formed, and a second reading of the same says the same */
#include <string.h>
#include "agent/inventory/pod_cgroup.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pod_cgroup c, again;
    struct bytes text = {(const char *)data, size};
    bool found = pod_cgroup_parse(text, &c);
    MUST_HOLD(found == (c.uid[0] || c.container[0]));
    MUST_HOLD(!c.uid[0] || strlen(c.uid) == 36 || strlen(c.uid) == 32);
    MUST_HOLD(strspn(c.uid, "0123456789abcdefABCDEF-") == strlen(c.uid));
    MUST_HOLD(!c.container[0] || strlen(c.container) >= 32);
    MUST_HOLD(strspn(c.container, "0123456789abcdefABCDEF") == strlen(c.container));
    MUST_HOLD(pod_cgroup_parse(text, &again) == found && memcmp(&c, &again, sizeof c) == 0);
    return 0;
}
