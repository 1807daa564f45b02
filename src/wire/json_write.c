/* json_write.c - tree to text: compact JSON, JSON for people, YAML for people */
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/yaml_scalar.h"

/* The rest of a string from the first character on that must be escaped, closing quote included. */
static void write_escaped(struct buf *out, const char *at, const char *end)
{
    static const char hex[] = "0123456789abcdef", short_from[] = "\"\\\b\f\n\r\t", short_to[] = "\"\\bfnrt";
    while (at < end) {
        const char *stop = json_text_scan_raw(at, end);
        buf_add(out, at, (size_t)(stop - at));
        at = stop;
        if (at == end)
            break;
        unsigned char c = (unsigned char)*at++;
        const char *known = c ? memchr(short_from, c, sizeof short_from - 1) : NULL;
        char escape[6] = {'\\', known ? short_to[known - short_from] : 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        buf_add(out, escape, known ? 2 : 6);
    }
    buf_char(out, '"');
}

/* text, quoted, and one more character behind it when `behind` is not 0. */
static void write_string(struct buf *out, struct bytes text, char behind)
{
    char *to = buf_reserve(out, text.n + 3 + 15); /* 15: json_text_plain_n */
    *to++ = '"';
    if (text.n)
        memcpy(to, text.data, text.n);
    size_t plain_n = json_text_plain_n(to, text.n);
    out->n += plain_n + 1;
    if (plain_n < text.n) {
        write_escaped(out, text.data + plain_n, text.data + text.n);
        if (behind)
            buf_char(out, behind);
        return;
    }
    to += plain_n;
    *to++ = '"';
    out->n++;
    if (behind) {
        *to++ = behind;
        out->n++;
    }
    *to = '\0';
}

void json_write_string(struct buf *out, struct bytes text)
{
    write_string(out, text, 0);
}

static void write_scalar(struct buf *out, const struct json *v)
{
    if (v->type == JSON_STRING)
        write_string(out, (struct bytes){v->text, v->n}, 0);
    else if (v->type == JSON_NUMBER)
        buf_add(out, v->text, v->n);
    else if (v->type == JSON_BOOL)
        buf_text(out, v->truth ? "true" : "false");
    else
        buf_add(out, "null", 4);
}

void json_write(struct buf *out, const struct json *v)
{
    if (v->type < JSON_ARRAY) {
        write_scalar(out, v);
        return;
    }
    bool is_object = v->type == JSON_OBJECT;
    buf_char(out, is_object ? '{' : '[');
    for (const struct json *child = v->first; child; child = child->next) {
        if (is_object)
            write_string(out, (struct bytes){child->key, child->key_n}, ':');
        json_write(out, child);
        if (child->next)
            buf_char(out, ',');
    }
    buf_char(out, is_object ? '}' : ']');
}

static void new_line(struct buf *out, size_t indent)
{
    char *at = buf_reserve(out, indent + 1);
    at[0] = '\n';
    memset(at + 1, ' ', indent);
    at[indent + 1] = '\0';
    out->n += indent + 1;
}

static void write_pretty(struct buf *out, const struct json *v, size_t indent)
{
    bool is_object = v->type == JSON_OBJECT;
    if (v->type < JSON_ARRAY || !v->first) {
        if (v->type < JSON_ARRAY)
            write_scalar(out, v);
        else
            buf_text(out, is_object ? "{}" : "[]");
        return;
    }
    buf_char(out, is_object ? '{' : '[');
    for (const struct json *child = v->first; child; child = child->next) {
        new_line(out, indent + 2);
        if (is_object) {
            json_write_string(out, (struct bytes){child->key, child->key_n});
            buf_text(out, ": ");
        }
        write_pretty(out, child, indent + 2);
        if (child->next)
            buf_char(out, ',');
    }
    new_line(out, indent);
    buf_char(out, is_object ? '}' : ']');
}

void json_write_pretty(struct buf *out, const struct json *v)
{
    write_pretty(out, v, 0);
}

enum yaml_style { YAML_PLAIN, YAML_SINGLE, YAML_DOUBLE, YAML_BLOCK };

/* Characters that YAML 1.1 does not print or takes for line breaks: only double quotes can carry them. '\n' and '\t'
 * apart. */
static bool is_special(const unsigned char *p, size_t left)
{
    if (p[0] < 0x20)
        return p[0] != '\n' && p[0] != '\t';
    if (p[0] == 0x7f)
        return true;
    if (left >= 2 && p[0] == 0xc2 && p[1] < 0xa0) /* C1 controls, NEL among them */
        return true;
    if (left >= 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9)) /* U+2028, U+2029 */
        return true;
    if (left >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) /* byte order mark */
        return true;
    return left >= 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe; /* U+FFFE, U+FFFF */
}

static bool plain_start_ok(struct bytes text)
{
    char c = text.data[0];
    if (strchr(",[]{}#&*!|>'\"%@` ", c))
        return false;
    if (strchr("-?:", c) && (text.n == 1 || text.data[1] == ' '))
        return false;
    return !bytes_starts(text, "---") && !bytes_starts(text, "...");
}

static enum yaml_style style_of(struct bytes text, bool is_key)
{
    bool has_newline = false, plain = text.n > 0 && plain_start_ok(text), has_tab = false;
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char *p = (const unsigned char *)text.data + i;
        if (is_special(p, text.n - i))
            return YAML_DOUBLE;
        has_newline |= *p == '\n';
        has_tab |= *p == '\t';
        if (*p == ':' && (i + 1 == text.n || p[1] == ' ' || p[1] == '\t'))
            plain = false;
        if (*p == '#' && i > 0 && p[-1] == ' ')
            plain = false;
    }
    if (has_newline) {
        char first = text.data[0];
        return is_key || first == '\n' || first == ' ' || first == '\t' ? YAML_DOUBLE : YAML_BLOCK;
    }
    if (has_tab || text.n == 0 || yaml_scalar_needs_quotes(text))
        return YAML_DOUBLE;
    return plain && text.data[text.n - 1] != ' ' ? YAML_PLAIN : YAML_SINGLE;
}

static void write_single_quoted(struct buf *out, struct bytes text)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.data[i] == '\'')
            buf_char(out, '\'');
        buf_char(out, text.data[i]);
    }
    buf_char(out, '\'');
}

/* JSON's escapes are YAML's too; what YAML takes for a line break or does not print is escaped on top. */
static void write_double_quoted(struct buf *out, struct bytes text)
{
    size_t from = out->n;
    json_write_string(out, text);
    _cleanup_buf_ struct buf quoted = {0};
    buf_add(&quoted, out->data + from, out->n - from);
    out->n = from;
    for (size_t i = 0; i < quoted.n; i++) {
        const unsigned char *p = (const unsigned char *)quoted.data + i;
        if (!is_special(p, quoted.n - i)) {
            buf_char(out, (char)*p);
            continue;
        }
        uint32_t c = p[0] < 0x80   ? p[0]
                     : p[0] < 0xe0 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                                   : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        buf_printf(out, "\\u%04x", c);
        i += p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : 2;
    }
}

static void write_block(struct buf *out, struct bytes text, size_t indent)
{
    bool ends = text.data[text.n - 1] == '\n', keep = ends && text.data[text.n - 2] == '\n';
    buf_text(out, keep ? "|+" : ends ? "|" : "|-");
    size_t n = ends ? text.n - 1 : text.n;
    for (size_t at = 0; at <= n;) {
        const char *stop = at < n ? memchr(text.data + at, '\n', n - at) : NULL;
        size_t line_n = stop ? (size_t)(stop - text.data) - at : n - at;
        new_line(out, line_n ? indent : 0);
        buf_add(out, text.data + at, line_n);
        at += line_n + 1;
    }
}

static void write_yaml_text(struct buf *out, struct bytes text, bool is_key, size_t indent)
{
    switch (style_of(text, is_key)) {
    case YAML_PLAIN:
        buf_bytes(out, text);
        break;
    case YAML_SINGLE:
        write_single_quoted(out, text);
        break;
    case YAML_DOUBLE:
        write_double_quoted(out, text);
        break;
    case YAML_BLOCK:
        write_block(out, text, indent);
        break;
    }
}

static void write_yaml(struct buf *out, const struct json *v, size_t indent);

/* A value behind "key:" or "-": on the same line when it is a scalar or empty. */
static void write_yaml_value(struct buf *out, const struct json *v, size_t indent, bool behind_dash)
{
    bool nested = v->type >= JSON_ARRAY && v->first;
    if (nested && !behind_dash) {
        size_t inner = v->type == JSON_ARRAY ? indent : indent + 2; /* sequences stand under their key, not indented */
        new_line(out, inner);
        write_yaml(out, v, inner);
        return;
    }
    buf_char(out, ' ');
    if (nested)
        write_yaml(out, v, indent + 2);
    else if (v->type == JSON_STRING)
        write_yaml_text(out, json_bytes(v), false, indent + 2);
    else
        write_pretty(out, v, 0);
}

static void write_yaml(struct buf *out, const struct json *v, size_t indent)
{
    bool is_object = v->type == JSON_OBJECT;
    for (const struct json *child = v->first; child; child = child->next) {
        if (is_object)
            write_yaml_text(out, (struct bytes){child->key, child->key_n}, true, indent);
        buf_char(out, is_object ? ':' : '-');
        write_yaml_value(out, child, indent, !is_object);
        if (child->next)
            new_line(out, indent);
    }
}

void json_write_yaml(struct buf *out, const struct json *v)
{
    if (v->type >= JSON_ARRAY && v->first)
        write_yaml(out, v, 0);
    else if (v->type == JSON_STRING)
        write_yaml_text(out, json_bytes(v), false, 2);
    else
        write_pretty(out, v, 0);
    buf_char(out, '\n');
}
