#include "exporter/collect/network.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, LINE_BYTES = 512, PORTS_MAX = 256, INTERFACES_MAX = 4096, WORD = 4 };

/* A file of one number. */
static bool number_in(const char *path, uint64_t *ret_n)
{
    char text[32] = "", *end = text;
    FILE *f = fopen(path, "re");
    bool read = f && fgets(text, sizeof text, f);
    if (f)
        (void)fclose(f);
    if (read)
        *ret_n = strtoull(text, &end, 10);
    return read && end != text;
}

static bool add_port(const char *port, uint64_t *sum)
{
    static const char *const counters[] = {"port_rcv_data", "port_xmit_data"};
    bool any = false;
    for (int i = 0; i < 2; i++) {
        char path[PATH_BYTES];
        uint64_t words;
        bool fits = snprintf(path, sizeof path, "%s/counters/%s", port, counters[i]) < (int)sizeof path;
        if (!fits || !number_in(path, &words))
            continue;
        *sum += words * WORD;
        any = true;
    }
    return any;
}

/* Each entry of the directory: its path. */
static bool each(const char *directory, bool (*take)(const char *path, uint64_t *sum), uint64_t *sum)
{
    bool any = false;
    DIR *d = opendir(directory);
    const struct dirent *entry;
    for (int n = 0; d && n < PORTS_MAX && (entry = readdir(d)); n++) {
        char path[PATH_BYTES];
        if (entry->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path)
            any |= take(path, sum);
    }
    if (d)
        (void)closedir(d);
    return any;
}

static bool add_device(const char *device, uint64_t *sum)
{
    char ports[PATH_BYTES];
    return snprintf(ports, sizeof ports, "%s/ports", device) < (int)sizeof ports && each(ports, add_port, sum);
}

/* "  eth0: 1 2 3 4 5 6 7 8 9 ...": bytes received are the first number, bytes sent the ninth. */
static bool add_interface(const char *line, uint64_t *sum)
{
    char name[32];
    unsigned long long in, out;
    if (sscanf(line, " %31[^: ]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &in, &out) != 3)
        return false;
    if (name[0] != 'e' && strncmp(name, "ib", 2) != 0)
        return false;
    *sum += in + out;
    return true;
}

static bool add_interfaces(const char *path, uint64_t *sum)
{
    char line[LINE_BYTES];
    bool any = false;
    FILE *f = fopen(path, "re");
    for (int n = 0; f && n < INTERFACES_MAX && fgets(line, sizeof line, f); n++)
        any |= add_interface(line, sum);
    if (f)
        (void)fclose(f);
    return any;
}

bool network_read(const char *root, struct network_count *ret_count)
{
    char ports[PATH_BYTES], interfaces[PATH_BYTES];
    struct network_count c = {0};
    root = root ? root : "";
    if (snprintf(ports, sizeof ports, "%s/sys/class/infiniband", root) >= (int)sizeof ports ||
        snprintf(interfaces, sizeof interfaces, "%s/proc/1/net/dev", root) >= (int)sizeof interfaces)
        return false;
    c.rdma = each(ports, add_device, &c.bytes);
    bool any = add_interfaces(interfaces, &c.bytes);
    if (c.rdma || any)
        *ret_count = c;
    return c.rdma || any;
}
