/* xid_line.c - a cursor over the record; every part is taken or the record is refused */
#include "agent/health/xid_line.h"

#define PREFIX_COMMAS_MAX 8 /* fields before the text; three are usual, newer kernels add the caller */

struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* At most 8 digits. */
static bool take_number(struct cursor *c, uint32_t base, uint32_t *ret_value)
{
    uint64_t value = 0;
    const char *start = c->at;
    while (c->at < c->end && c->at - start < 9) {
        int digit = digit_value(*c->at);
        if (digit < 0 || (uint32_t)digit >= base)
            break;
        value = value * base + (uint32_t)digit;
        c->at++;
    }
    if (c->at == start || c->at - start > 8 || value >= XID_LINE_NONE)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

/* "6,1234,5678901,-;": of the kernel itself when the priority is below 8. */
static bool take_prefix(struct cursor *c)
{
    uint32_t priority;
    if (!take_number(c, 10, &priority) || priority > 7)
        return false;
    for (uint32_t commas = 0; c->at < c->end; c->at++) {
        if (*c->at == ';') {
            c->at++;
            return commas >= 3;
        }
        if (*c->at == ',' && ++commas > PREFIX_COMMAS_MAX)
            return false;
    }
    return false;
}

static bool take_uuid(struct cursor *c, struct xid_line *l)
{
    static const char shape[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t n = sizeof shape - 1;
    if ((size_t)(c->end - c->at) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (shape[i] == 'x' ? digit_value(c->at[i]) < 0 : c->at[i] != shape[i])
            return false;
    }
    memcpy(l->uuid, c->at, n);
    c->at += n;
    return true;
}

/* "0000:3b:00", "3b:00", "0000:3b:00.0" */
static bool take_address(struct cursor *c, struct xid_line *l)
{
    uint32_t parts[3], n = 0, function;
    do {
        if (n == 3 || !take_number(c, 16, &parts[n++]))
            return false;
    } while (take(c, ":"));
    if (n < 2 || (take(c, ".") && !take_number(c, 16, &function)))
        return false;
    l->domain = n == 3 ? parts[0] : 0;
    l->bus = parts[n - 2];
    l->device = parts[n - 1];
    return true;
}

static bool take_where(struct cursor *c, struct xid_line *l)
{
    if (!take_uuid(c, l)) {
        (void)take(c, "PCI:"); /* drivers before 2013 have none */
        if (!take_address(c, l))
            return false;
    }
    if (take(c, " GPU-I:") && !take_number(c, 10, &l->gi))
        return false;
    if (take(c, " GPU-CI:") && (l->gi == XID_LINE_NONE || !take_number(c, 10, &l->ci)))
        return false;
    return true;
}

static void take_blanks(struct cursor *c)
{
    while (take(c, " "))
        ;
}

/* ", NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 ...)" */
static enum driver_severity take_severity(struct cursor *c)
{
    if (!take(c, ", "))
        return DRIVER_SEVERITY_UNSAID;
    while (c->at < c->end && ((*c->at >= 'A' && *c->at <= 'Z') || (*c->at >= '0' && *c->at <= '9') || *c->at == '_' || *c->at == '/'))
        c->at++;
    take_blanks(c);
    if (take(c, "Nonfatal "))
        return DRIVER_SEVERITY_NONFATAL;
    return take(c, "Fatal ") ? DRIVER_SEVERITY_FATAL : DRIVER_SEVERITY_UNSAID;
}

bool xid_line_parse(struct bytes record, struct xid_line *ret_line)
{
    struct cursor c = {record.data, record.data + record.n};
    struct xid_line l = {.domain = XID_LINE_NONE, .bus = XID_LINE_NONE, .device = XID_LINE_NONE, .gi = XID_LINE_NONE, .ci = XID_LINE_NONE};
    if (record.n == 0 || !take_prefix(&c) || !take(&c, "NVRM: Xid (") || !take_where(&c, &l) || !take(&c, "): ") ||
        !take_number(&c, 10, &l.xid))
        return false;
    if (c.at < c.end && *c.at != ',' && *c.at != ' ')
        return false;
    if (take(&c, ", pid=")) {
        (void)take(&c, "'");
        if (!take_number(&c, 10, &l.pid))
            l.pid = 0;
    } else {
        l.severity = take_severity(&c);
    }
    *ret_line = l;
    return true;
}

bool xid_line_is_of(const struct xid_line *line, const char *uuid, const char *bus_id)
{
    if (*line->uuid)
        return text_equal(line->uuid, uuid);
    struct cursor c = {bus_id, bus_id + strlen(bus_id)};
    struct xid_line at = {0};
    return take_address(&c, &at) && at.domain == line->domain && at.bus == line->bus && at.device == line->device;
}
