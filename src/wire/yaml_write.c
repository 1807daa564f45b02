/* yaml_write.c - JSON trees as block YAML, by libyaml's emitter: the ancestor of kubectl's own, so that both lay out alike
 *
 * WHY  Which quotes a text gets is the emitter's choice, but for what would be read back as something else: YAML 1.1 has many words and
 *      numbers (yes, 0x1f, 1:30), and the emitter does not know them.
 */
#include <assert.h>
#include <yaml.h>
#include "wire/yaml.h"
#include "wire/yaml_scalar.h"

static int write_bytes(void *out, unsigned char *data, size_t n)
{
    buf_add(out, (const char *)data, n);
    return 1;
}

/* The emitter fails only where memory does, or on a text that is no UTF-8 (valid_text). */
static void emit(yaml_emitter_t *to, yaml_event_t *event, int made)
{
    int ok = made && yaml_emitter_emit(to, event);
    assert(ok && "a tree can be written");
    (void)ok;
}

static void emit_scalar(yaml_emitter_t *to, struct bytes text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)(text.n ? text.data : ""), (int)text.n, 1, 1, style);
    emit(to, &event, made);
}

/* U+2028 and U+2029: YAML 1.1 breaks lines at them, and the emitter does too unless they are escaped. */
static bool has_separator(struct bytes text)
{
    for (size_t i = 0; i + 2 < text.n; i++)
        if (memcmp(text.data + i, "\xe2\x80", 2) == 0 && ((unsigned char)text.data[i + 2] & 0xfe) == 0xa8)
            return true;
    return false;
}

/* What is no UTF-8 (a name of a file, say) becomes U+FFFD: the emitter would refuse it. */
static struct bytes valid_text(struct bytes text, struct buf *copy)
{
    const char *at = text.data, *end = text.n ? at + text.n : at;
    for (size_t n; at < end; at += n ? n : 1) {
        n = utf8_length(at, end);
        if (!n && !copy->n)
            buf_add(copy, text.data, (size_t)(at - text.data)); /* all before it */
        if (!n)
            buf_text(copy, "\xef\xbf\xbd");
        else if (copy->n)
            buf_add(copy, at, n);
    }
    return copy->n ? buf_view(copy) : text;
}

static void emit_text(yaml_emitter_t *to, struct bytes text)
{
    _cleanup_buf_ struct buf copy = {0};
    text = valid_text(text, &copy);
    bool lines = text.n && memchr(text.data, '\n', text.n) && !strchr(" \t\n", text.data[0]); /* a block begins with a word */
    bool quotes = text.n == 0 || yaml_scalar_needs_quotes(text) || memchr(text.data, '\t', text.n) || memchr(text.data, '\n', text.n) ||
                  has_separator(text);
    emit_scalar(to, text, lines ? YAML_LITERAL_SCALAR_STYLE : quotes ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
}

static void emit_value(yaml_emitter_t *to, const struct json *v)
{
    yaml_event_t event;
    switch (v->type) {
    case JSON_OBJECT:
        emit(to, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
        for (const struct json *child = v->first; child; child = child->next) {
            emit_text(to, (struct bytes){child->key, child->key_n});
            emit_value(to, child);
        }
        emit(to, &event, yaml_mapping_end_event_initialize(&event));
        break;
    case JSON_ARRAY:
        emit(to, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
        for (const struct json *child = v->first; child; child = child->next)
            emit_value(to, child);
        emit(to, &event, yaml_sequence_end_event_initialize(&event));
        break;
    case JSON_STRING:
        emit_text(to, json_bytes(v));
        break;
    default: {
        _cleanup_buf_ struct buf text = {0};
        json_write(&text, v);
        emit_scalar(to, buf_view(&text), YAML_PLAIN_SCALAR_STYLE);
    }
    }
}

void yaml_write(struct buf *out, const struct json *v)
{
    yaml_emitter_t to;
    yaml_event_t event;
    int ok = yaml_emitter_initialize(&to);
    assert(ok && "memory is there");
    (void)ok;
    yaml_emitter_set_output(&to, write_bytes, out);
    yaml_emitter_set_unicode(&to, 1);
    yaml_emitter_set_width(&to, -1); /* texts are not folded */
    emit(&to, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(&to, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
    emit_value(&to, v);
    emit(&to, &event, yaml_document_end_event_initialize(&event, 1));
    emit(&to, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_delete(&to);
}
