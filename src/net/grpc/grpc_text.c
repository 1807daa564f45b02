/* grpc_text.c - values of gRPC's own headers. SOURCE gRPC, "gRPC over HTTP2", "Requests", "Responses" */
#include <stdio.h>
#include "net/grpc/grpc_carrier.h"

void grpc_text_encode(struct buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            buf_char(out, (char)c);
            continue;
        }
        buf_char(out, '%');
        buf_char(out, digits[c >> 4]);
        buf_char(out, digits[c & 15]);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void grpc_text_decode(struct buf *out, struct bytes text)
{
    for (size_t i = 0; i < text.n; i++) {
        int high = text.data[i] == '%' && i + 2 < text.n ? hex_value(text.data[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text.data[i + 2]) : -1;
        if (low < 0) {
            buf_char(out, text.data[i]);
            continue;
        }
        buf_char(out, (char)(high << 4 | low));
        i += 2;
    }
}

/* Nanoseconds of one unit; 0 = no unit. */
static int64_t unit_ns(char unit)
{
    switch (unit) {
    case 'H':
        return 3600 * INT64_C(1000000000);
    case 'M':
        return 60 * INT64_C(1000000000);
    case 'S':
        return INT64_C(1000000000);
    case 'm':
        return 1000000;
    case 'u':
        return 1000;
    case 'n':
        return 1;
    default:
        return 0;
    }
}

int64_t grpc_timeout_parse(struct bytes text)
{
    if (text.n < 2 || text.n > 9)
        return -1;
    int64_t value = 0, ns = unit_ns(text.data[text.n - 1]);
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        value = value * 10 + (text.data[i] - '0');
    }
    if (!ns)
        return -1;
    if (ns >= 1000000)
        return value * (ns / 1000000);
    return (value * ns + 999999) / 1000000;
}

void grpc_timeout_print(int64_t timeout_ms, char *out, size_t n)
{
    if (timeout_ms <= 99999999)
        snprintf(out, n, "%ldm", (long)timeout_ms);
    else
        snprintf(out, n, "%ldS", (long)(timeout_ms / 1000 > 99999999 ? 99999999 : timeout_ms / 1000));
}
