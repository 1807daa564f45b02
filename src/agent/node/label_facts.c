/* label_facts.c - the machine's type, and what a hypervisor says of its driver in the PCI configuration of a vGPU
 *
 * SHAPE  capability of the vendor (09): id, next, length, 'V' 'F', then records: id, length of all of it, data.
 *        Record 0: the host's driver, 10 bytes of version and 10 of branch, each filled up with NUL.
 * SOURCE GPU Feature Discovery 0.20 (which labels); PCI 3.0, 6.7 (the list of capabilities).
 */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/node/labels.h"
#include "base/file.h"

enum {
    CONFIG_BYTES = 256, /* of the 4096 of PCI Express; without CAP_SYS_ADMIN the kernel gives 64 */
    STATUS = 0x06,
    STATUS_HAS_LIST = 0x10,
    LIST = 0x34,
    VENDOR_CAPABILITY = 0x09,
    RECORDS = 5, /* where they begin in the capability */
    HOST_DRIVER = 0,
    VERSION_BYTES = 10,
    BRANCH_BYTES = 10,
    PATH_BYTES = 1024,
};

struct pci_config { uint8_t bytes[CONFIG_BYTES]; };

/* The capability of the vendor; n = 0: there is none. Lists that lead in circles or out of the space end. */
static struct bytes vendor_capability(const struct pci_config *c)
{
    uint32_t at = c->bytes[STATUS] & STATUS_HAS_LIST ? c->bytes[LIST] : 0;
    for (int hops = 0; at && at + 3 <= CONFIG_BYTES && hops < CONFIG_BYTES; hops++) {
        uint8_t id = c->bytes[at], length = c->bytes[at + 2];
        if (id == VENDOR_CAPABILITY)
            return at + length <= CONFIG_BYTES ? (struct bytes){(const char *)c->bytes + at, length} : BYTES("");
        if (id == 0xff)
            break;
        at = c->bytes[at + 1];
    }
    return BYTES("");
}

/* Text up to the first NUL; what is no printable ASCII ends it, too. */
static const char *field_text(struct arena *a, struct bytes field)
{
    size_t n = 0;
    while (n < field.n && field.data[n] > ' ' && field.data[n] < 0x7f)
        n++;
    return arena_text_n(a, field.data, n);
}

static void read_host_driver(struct arena *a, struct bytes capability, struct label_facts *f)
{
    for (size_t at = RECORDS; at + 2 <= capability.n;) {
        uint8_t id = (uint8_t)capability.data[at], length = (uint8_t)capability.data[at + 1];
        if (id == HOST_DRIVER) {
            if (at + 2 + VERSION_BYTES + BRANCH_BYTES > capability.n)
                return;
            const char *data = capability.data + at + 2;
            f->vgpu_driver_version = field_text(a, (struct bytes){data, VERSION_BYTES});
            f->vgpu_driver_branch = field_text(a, (struct bytes){data + VERSION_BYTES, BRANCH_BYTES});
            return;
        }
        if (length < 2)
            return;
        at += length;
    }
}

static bool file_under(const char *directory, const char *name, size_t max_bytes, struct buf *out)
{
    char path[PATH_BYTES];
    buf_clear(out);
    return snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path && file_read(path, max_bytes, out, NULL) == 0;
}

static void read_device(struct arena *a, const char *directory, struct label_facts *f)
{
    _cleanup_buf_ struct buf text = {0};
    struct pci_config c;
    if (!file_under(directory, "vendor", 64, &text) || !bytes_starts(buf_view(&text), "0x10de"))
        return;
    if (!file_under(directory, "config", 4096, &text) || text.n < CONFIG_BYTES)
        return;
    memcpy(c.bytes, text.data, sizeof c.bytes);
    struct bytes capability = vendor_capability(&c);
    if (capability.n < RECORDS || capability.data[3] != 'V' || capability.data[4] != 'F')
        return;
    f->is_vgpu = true;
    read_host_driver(a, capability, f);
}

static void read_devices(struct arena *a, const char *root, struct label_facts *f)
{
    char devices[PATH_BYTES / 2], one[PATH_BYTES];
    DIR *d = snprintf(devices, sizeof devices, "%s/sys/bus/pci/devices", root) < (int)sizeof devices ? opendir(devices) : NULL;
    for (const struct dirent *entry; d && (entry = readdir(d));)
        if (entry->d_name[0] != '.' && snprintf(one, sizeof one, "%s/%s", devices, entry->d_name) < (int)sizeof one)
            read_device(a, one, f);
    if (d)
        (void)closedir(d);
}

static const char *read_machine_type(struct arena *a, const char *root, const char *file)
{
    _cleanup_buf_ struct buf text = {0};
    if (!file || file_read(arena_printf(a, "%s%s", root, file), 4096, &text, NULL) < 0)
        return "";
    return arena_text_n(a, text.data, strcspn(text.data, "\n"));
}

struct label_facts label_facts_read(struct arena *a, const char *root, const struct agent_config *c, int64_t now_s)
{
    root = root ? root : "";
    struct label_facts f = {.machine_type = read_machine_type(a, root, c->gfd_machine_type_file), .now_s = now_s};
    read_devices(a, root, &f);
    return f;
}
