/* fields.c - see fields.h */
#include "apiserver/request/fields.h"
#include <string.h>
#include "wire/json_reader.h"

/* ---- names ---- */

struct parser {
    struct fields *f;
    const char *at, *end;
    struct err *e;
};

static int wrong(struct parser *p, const char *what)
{
    return err_set(p->e, E_INVALID, "fields: %s; write names between commas, and those of their members in brackets, as "
                   "metadata(name,labels),status(phase)", what);
}

static int parse_list(struct parser *p, uint8_t of, int depth)
{
    uint8_t *link = &p->f->all[of].child;
    for (;;) {
        const char *start = p->at;
        while (p->at < p->end && !strchr(",()", *p->at))
            p->at++;
        if (p->at == start)
            return wrong(p, "a name is missing");
        if (p->f->n > FIELDS_MAX || depth > FIELDS_DEPTH_MAX)
            return err_set(p->e, E_LIMIT, "fields: more than %d names, or more than %d brackets in each other", FIELDS_MAX,
                           FIELDS_DEPTH_MAX);
        uint8_t at = p->f->n++;
        p->f->all[at] = (struct field){.name = {(char *)start, (size_t)(p->at - start)}};
        *link = at;
        link = &p->f->all[at].next;
        if (p->at < p->end && *p->at == '(') {
            p->at++;
            if (parse_list(p, at, depth + 1) < 0)
                return -p->e->code;
            if (p->at == p->end || *p->at++ != ')')
                return wrong(p, "a bracket is not closed");
        }
        if (p->at == p->end || *p->at == ')')
            return 0;
        if (*p->at++ != ',')
            return wrong(p, "a comma is missing behind a bracket");
    }
}

int fields_parse(struct bytes text, struct fields *ret_fields, struct err *e)
{
    struct err own = {0};
    struct parser p = {.f = ret_fields, .at = text.data, .end = text.data + text.n, .e = e ? e : &own};
    *ret_fields = (struct fields){.n = 1};
    int r = parse_list(&p, 0, 1);
    return r < 0 || p.at == p.end ? r : wrong(&p, "a bracket too many");
}

/* ---- objects ---- */

static const struct field *member_of(const struct fields *f, const struct field *of, struct bytes key)
{
    for (uint8_t at = of->child; at; at = f->all[at].next)
        if (f->all[at].name.n == key.n && memcmp(f->all[at].name.data, key.data, key.n) == 0)
            return &f->all[at];
    return NULL;
}

static void value_write(struct buf *out, const struct fields *f, const struct field *of, struct json_reader *r);

static void object_write(struct buf *out, const struct fields *f, const struct field *of, struct json_reader *r)
{
    struct bytes key;
    char mark = '{';
    (void)json_reader_object(r);
    while (json_reader_key(r, &key)) {
        const struct field *member = member_of(f, of, key);
        if (!member) {
            json_reader_skip(r);
            continue;
        }
        buf_char(out, mark);
        mark = ',';
        buf_char(out, '"');
        buf_bytes(out, key);
        buf_text(out, "\":");
        value_write(out, f, member, r);
    }
    buf_text(out, mark == '{' ? "{}" : "}");
}

static void list_write(struct buf *out, const struct fields *f, const struct field *of, struct json_reader *r)
{
    char mark = '[';
    (void)json_reader_array(r);
    while (json_reader_item(r)) {
        buf_char(out, mark);
        mark = ',';
        value_write(out, f, of, r);
    }
    buf_text(out, mark == '[' ? "[]" : "]");
}

static void value_write(struct buf *out, const struct fields *f, const struct field *of, struct json_reader *r)
{
    enum json_type type = json_reader_peek(r);
    if (of->child && type == JSON_OBJECT)
        object_write(out, f, of, r);
    else if (of->child && type == JSON_ARRAY)
        list_write(out, f, of, r);
    else
        buf_bytes(out, json_reader_raw(r));
}

bool fields_write(struct buf *out, const struct fields *f, struct bytes object)
{
    struct json_reader r;
    size_t n = out->n;
    json_reader_init(&r, object);
    value_write(out, f, &f->all[0], &r);
    if (r.failed)
        out->n = n;
    return !r.failed;
}
