#include <arpa/inet.h>
#include "codec/schema/validate_name.h"

#include "base/limits.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
    return is_alpha(c) || is_digit(c);
}

/* Lower case letters and digits, '-' between them. No length rule. */
static bool is_dashed(struct bytes text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool inside = i > 0 && i + 1 < text.n;
        if (!is_lower(text.data[i]) && !is_digit(text.data[i]) && !(inside && text.data[i] == '-'))
            return false;
    }
    return text.n > 0;
}

bool name_is_dns_label(struct bytes text)
{
    return text.n <= LIMIT_LABEL && is_dashed(text);
}

bool name_is_dns1035_label(struct bytes text)
{
    return name_is_dns_label(text) && is_lower(text.data[0]);
}

bool name_is_dns_subdomain(struct bytes text)
{
    if (text.n == 0 || text.n > LIMIT_NAME)
        return false;
    size_t start = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.data[i] != '.')
            continue;
        if (!is_dashed((struct bytes){text.data + start, i - start}))
            return false;
        start = i + 1;
    }
    return true;
}

static bool is_name_part(struct bytes text)
{
    if (text.n == 0 || text.n > LIMIT_LABEL || !is_alnum(text.data[0]) || !is_alnum(text.data[text.n - 1]))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!is_alnum(text.data[i]) && !strchr("-_.", text.data[i]))
            return false;
    return true;
}

bool name_is_qualified(struct bytes text)
{
    const char *slash = text.n ? memchr(text.data, '/', text.n) : NULL;
    if (!slash)
        return is_name_part(text);
    size_t prefix_n = (size_t)(slash - text.data);
    return name_is_dns_subdomain((struct bytes){text.data, prefix_n}) &&
           is_name_part((struct bytes){slash + 1, text.n - prefix_n - 1});
}

bool name_is_label_value(struct bytes text)
{
    return text.n == 0 || is_name_part(text);
}

bool name_is_env(struct bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.data[i] < ' ' || text.data[i] > '~' || text.data[i] == '=')
            return false;
    return text.n > 0;
}

bool name_is_port(struct bytes text)
{
    bool letter = false;
    for (size_t i = 0; i < text.n; i++) {
        letter |= is_lower(text.data[i]);
        if (i && text.data[i] == '-' && text.data[i - 1] == '-')
            return false;
    }
    return letter && text.n <= 15 && is_dashed(text);
}

bool name_is_kind(struct bytes text)
{
    if (!text.n || text.n > LIMIT_LABEL || !is_alpha(text.data[0]))
        return false;
    for (size_t i = 1; i < text.n; i++)
        if (!is_alnum(text.data[i]) && text.data[i] != '-')
            return false;
    return text.data[text.n - 1] != '-';
}

bool name_is_reason(struct bytes text)
{
    if (!text.n || !is_alpha(text.data[0]))
        return false;
    for (size_t i = 1; i < text.n; i++)
        if (!is_alnum(text.data[i]) && text.data[i] != '_' && text.data[i] != ',' && text.data[i] != ':')
            return false;
    return text.data[text.n - 1] != ',' && text.data[text.n - 1] != ':';
}

bool name_is_path_segment(struct bytes text)
{
    if (text.n == 0 || bytes_is(text, ".") || bytes_is(text, ".."))
        return false;
    return !memchr(text.data, '/', text.n) && !memchr(text.data, '%', text.n);
}

bool name_is_config_key(struct bytes text)
{
    if (text.n == 0 || text.n > LIMIT_NAME || bytes_is(text, ".") || bytes_is(text, ".."))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!is_alnum(text.data[i]) && !strchr("-_.", text.data[i]))
            return false;
    return true;
}

bool name_is_sysctl(struct bytes text)
{
    bool inside = false; /* the last character was a letter or digit: a word may end here */
    for (size_t i = 0; i < text.n; i++) {
        char c = text.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'), first = i == 0 || strchr("./", text.data[i - 1]);
        if (c == '.' || c == '/' ? !inside : !plain && (first || (c != '-' && c != '_')))
            return false;
        inside = plain;
    }
    return inside && text.n <= 253;
}

bool name_is_address(struct bytes text)
{
    char plain[INET6_ADDRSTRLEN], printed[INET6_ADDRSTRLEN];
    unsigned char address[16];
    if (text.n >= sizeof plain)
        return false;
    memcpy(plain, text.data, text.n);
    plain[text.n] = 0;
    int family = strchr(plain, ':') ? AF_INET6 : AF_INET;
    return inet_pton(family, plain, address) == 1 && inet_ntop(family, address, printed, sizeof printed) && strcmp(plain, printed) == 0;
}
