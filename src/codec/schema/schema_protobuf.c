/* schema_protobuf.c - request bodies that kubectl sends as protobuf, decoded by the table of types
 *
 * SHAPE  "k8s\0", then message Unknown {1: TypeMeta {1: apiVersion, 2: kind}, 2: raw, 3: contentEncoding, 4: contentType}; raw is the
 *        object, proto2 wire format, fields in any order, unknown numbers skipped.
 * WHY    Go writes every scalar that is no pointer, zero or not: a zero means absent unless the field is a pointer in Go.
 * LIMIT  DEPTH_MAX messages inside each other, LIMIT_JSON_NODES values. Linear in the body: a repeated map key is found by a hash.
 * SOURCE Kubernetes, runtime.Unknown and generated.proto of each group; protobuf.dev, "Encoding".
 */
#include <stdio.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "codec/schema/schema.h"
#include "codec/schema/schema_protobuf_crd.h"
#include "wire/protobuf.h"

#define DEPTH_MAX 64
#define NUMBERS_MAX 64      /* field numbers of one message; PodSpec has 43 */
#define PARTS_MAX 1000      /* messages that come in several parts: legal, but no client does so */
#define MAP_PAIRS_MAX 8     /* smaller maps are compared pair by pair for repeated keys */
#define YEAR_1_S (-62135596800ll) /* Go's zero time, and the first second that is printed */
#define YEAR_9999_S 253402300799ll

struct decode {
    struct arena *arena;
    struct err *e;
    struct buf scratch;
    uint32_t nodes;
    uint32_t depth;
    uint32_t parts;
};

static int malformed(struct decode *d, const char *what)
{
    return err_set(d->e, E_INVALID, "malformed protobuf body: %s", what);
}

/* The next field: 1, or 0 at the end. */
static int read_piece(struct decode *d, struct protobuf_reader *in, struct protobuf_field *p)
{
    int r = protobuf_next(in, p);
    return r < 0 ? malformed(d, "a field is cut, or its number or type is none that Kubernetes uses") : r;
}

static int new_node(struct decode *d, enum json_type type, struct json **ret)
{
    if (++d->nodes > LIMIT_JSON_NODES)
        return err_set(d->e, E_LIMIT, "the protobuf body has more than %u values", LIMIT_JSON_NODES);
    *ret = json_new(d->arena, type);
    return 0;
}

static int new_text(struct decode *d, struct bytes text, struct json **ret)
{
    if (!schema_protobuf_is_text(text))
        return malformed(d, "a string is not UTF-8 or has a NUL");
    int r = new_node(d, JSON_STRING, ret);
    if (r < 0)
        return r;
    (*ret)->text = arena_text_n(d->arena, text.n ? text.data : "", text.n);
    (*ret)->n = (uint32_t)text.n;
    return 0;
}

static int new_number(struct decode *d, int64_t value, struct json **ret)
{
    if (++d->nodes > LIMIT_JSON_NODES)
        return err_set(d->e, E_LIMIT, "the protobuf body has more than %u values", LIMIT_JSON_NODES);
    *ret = json_new_int64(d->arena, value);
    return 0;
}

/* Small messages of well-known types: the numbers 1..3 of them. */
struct known {
    uint64_t number[4];
    struct bytes bytes[4];
};

static int read_known(struct decode *d, struct bytes in, struct known *k)
{
    struct protobuf_field p;
    struct protobuf_reader reader = protobuf_reader(in);
    int r;
    *k = (struct known){0};
    while ((r = read_piece(d, &reader, &p)) > 0)
        if (p.number < 4) {
            k->number[p.number] = p.value;
            k->bytes[p.number] = p.type == PROTOBUF_BYTES ? p.bytes : (struct bytes){0};
        }
    return r;
}

/* Each decodes one value; *ret stays NULL where the value means "absent". */
static int decode_time(struct decode *d, struct bytes in, bool micro, struct json **ret)
{
    struct known k;
    int r = read_known(d, in, &k);
    int64_t seconds = (int64_t)k.number[1];
    if (r < 0 || in.n == 0 || seconds == YEAR_1_S)
        return r;
    if (seconds < YEAR_1_S || seconds > YEAR_9999_S || k.number[2] > 999999999)
        return malformed(d, "a time is outside the years 1 to 9999");
    char text[TIME_TEXT_MAX];
    if (micro)
        time_format_micro(text, seconds * 1000000 + (int64_t)(k.number[2] / 1000));
    else
        time_format(text, seconds * 1000);
    return new_text(d, bytes_of(text), ret);
}

static int decode_int_or_string(struct decode *d, struct bytes in, bool keep_zero, struct json **ret)
{
    struct known k;
    int r = read_known(d, in, &k);
    if (r < 0)
        return r;
    if (k.number[1] == 1)
        return new_text(d, k.bytes[3], ret);
    if ((int32_t)k.number[2] == 0 && !keep_zero)
        return 0;
    return new_number(d, (int32_t)k.number[2], ret);
}

static int decode_raw(struct decode *d, struct bytes in, struct json **ret)
{
    struct known k;
    int r = read_known(d, in, &k);
    if (r < 0 || k.bytes[1].n == 0)
        return r;
    struct err why = {0};
    *ret = json_parse(d->arena, k.bytes[1], NULL, &why);
    if (!*ret)
        return err_set(d->e, E_INVALID, "a part of the protobuf body that must be JSON is not (%s); send the object as JSON instead",
                       why.text);
    d->nodes += (uint32_t)(k.bytes[1].n / 8);
    return 0;
}

static int decode_bytes(struct decode *d, struct bytes in, struct json **ret)
{
    d->scratch.n = 0;
    base64_encode(&d->scratch, in);
    return new_text(d, buf_view(&d->scratch), ret);
}

static int decode_message(struct decode *d, const struct schema *s, struct bytes in, struct json *object);
static int decode_value(struct decode *d, const struct schema *s, const struct protobuf_field *p, bool keep_zero, struct json **ret);

/* A list inside a map cannot be written as such: it is a message with the items as field 1. */
static int decode_wrapped_list(struct decode *d, const struct schema *s, struct bytes in, struct json **ret)
{
    struct protobuf_field p;
    struct protobuf_reader reader = protobuf_reader(in);
    int r = new_node(d, JSON_ARRAY, ret);
    while (r >= 0 && (r = read_piece(d, &reader, &p)) > 0) {
        struct json *item = NULL;
        if (p.number == 1)
            r = decode_value(d, s->item, &p, true, &item);
        if (item)
            json_append(*ret, item);
    }
    return r;
}

static int decode_double(struct decode *d, uint64_t bits, bool keep_zero, struct json **ret)
{
    double value;
    char text[40];
    memcpy(&value, &bits, sizeof value);
    if (value != value || value - value != 0)
        return malformed(d, "a number is not finite");
    if (value == 0 && !keep_zero)
        return 0;
    int n = snprintf(text, sizeof text, "%.17g", value);
    int r = new_node(d, JSON_NUMBER, ret);
    if (r < 0)
        return r;
    (*ret)->text = arena_text_n(d->arena, text, (size_t)n);
    (*ret)->n = (uint32_t)n;
    return 0;
}

static int decode_number(struct decode *d, const struct schema *s, uint64_t value, bool keep_zero, struct json **ret)
{
    if (value == 0 && !keep_zero)
        return 0;
    if (s->form == SCHEMA_BOOL) {
        int r = new_node(d, JSON_BOOL, ret);
        if (r == 0)
            (*ret)->truth = value != 0;
        return r;
    }
    return new_number(d, s->form == SCHEMA_INT32 ? (int32_t)value : (int64_t)value, ret);
}

static int decode_object(struct decode *d, const struct schema *s, struct bytes in, struct json **ret)
{
    int r = *ret ? 0 : new_node(d, JSON_OBJECT, ret);
    return r < 0 ? r : decode_message(d, s, in, *ret);
}

static int decode_quantity(struct decode *d, struct bytes in, struct json **ret)
{
    struct known k;
    int r = read_known(d, in, &k);
    return r < 0 ? r : new_text(d, k.bytes[1].n ? k.bytes[1] : BYTES("0"), ret);
}

static int decode_value(struct decode *d, const struct schema *s, const struct protobuf_field *p, bool keep_zero, struct json **ret)
{
    bool number = s->form == SCHEMA_INT32 || s->form == SCHEMA_INT64 || s->form == SCHEMA_BOOL;
    if (p->type != (number ? PROTOBUF_VARINT : s->form == SCHEMA_DOUBLE ? PROTOBUF_FIXED64 : PROTOBUF_BYTES))
        return malformed(d, "a field has the wire type of another kind of value");
    switch (s->form) {
    case SCHEMA_OBJECT:
        return decode_object(d, s, p->bytes, ret);
    case SCHEMA_LIST:
        return decode_wrapped_list(d, s, p->bytes, ret);
    case SCHEMA_STRING:
        return p->bytes.n == 0 && !keep_zero ? 0 : new_text(d, p->bytes, ret);
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_BOOL:
        return decode_number(d, s, p->value, keep_zero, ret);
    case SCHEMA_DOUBLE:
        return decode_double(d, p->value, keep_zero, ret);
    case SCHEMA_QUANTITY:
        return decode_quantity(d, p->bytes, ret);
    case SCHEMA_INT_OR_STRING:
        return decode_int_or_string(d, p->bytes, keep_zero, ret);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return decode_time(d, p->bytes, s->form == SCHEMA_MICRO_TIME, ret);
    case SCHEMA_BYTES:
        return p->bytes.n == 0 && !keep_zero ? 0 : decode_bytes(d, p->bytes, ret);
    case SCHEMA_RAW:
        return decode_raw(d, p->bytes, ret);
    case SCHEMA_MAP:
    case SCHEMA_DURATION:
        break;
    }
    return err_set(d->e, E_INVALID, "the protobuf body has a field that is only known as JSON; send the object as JSON");
}

static int decode_list_item(struct decode *d, const struct schema *item, const struct protobuf_field *p, struct json *list)
{
    bool number = item->form == SCHEMA_INT32 || item->form == SCHEMA_INT64 || item->form == SCHEMA_BOOL;
    struct json *v = NULL;
    if (number && p->type == PROTOBUF_BYTES) { /* packed */
        struct protobuf_field one = {.type = PROTOBUF_VARINT};
        for (struct protobuf_reader in = protobuf_reader(p->bytes); in.at < in.end;) {
            if (!protobuf_varint(&in, &one.value))
                return malformed(d, "a packed list is cut");
            int r = decode_value(d, item, &one, true, &v);
            if (r < 0)
                return r;
            json_append(list, v);
            v = NULL;
        }
        return 0;
    }
    int r = decode_value(d, item, p, true, &v);
    if (r >= 0 && v)
        json_append(list, v);
    return r;
}

/* Entry {1: key, 2: value}; both may be left out when they are empty. */
static int decode_map_entry(struct decode *d, const struct schema *item, struct bytes in, struct json *map)
{
    struct bytes key = {"", 0};
    struct protobuf_field p, value = {.type = PROTOBUF_BYTES};
    struct protobuf_reader reader = protobuf_reader(in);
    int r;
    while ((r = read_piece(d, &reader, &p)) > 0) {
        if (p.number == 1 && p.type == PROTOBUF_BYTES)
            key = p.bytes;
        else if (p.number == 2)
            value = p;
    }
    if (r < 0)
        return r;
    if (!schema_protobuf_is_text(key))
        return malformed(d, "the key of a map is not UTF-8 or has a NUL");
    struct json *v = NULL;
    r = decode_value(d, item, &value, true, &v);
    if (r < 0 || !v)
        return r;
    json_append_member(d->arena, map, key, v);
    return 0;
}

/* Any JSON to us, and a message of its own on the wire. */
static bool is_json_schema(const struct schema_field *f)
{
    return f->type->form == SCHEMA_RAW && strcmp(f->name, "openAPIV3Schema") == 0;
}

static int decode_field(struct decode *d, const struct schema_field *f, const struct protobuf_field *p, struct json *object,
                        struct json **slot)
{
    const struct schema *s = f->type;
    int r;
    if (f->inlined)
        return p->type == PROTOBUF_BYTES ? decode_message(d, s, p->bytes, object) : malformed(d, "a message is written as a number");
    if (s->form == SCHEMA_LIST || s->form == SCHEMA_MAP) {
        if (!*slot && (r = new_node(d, s->form == SCHEMA_LIST ? JSON_ARRAY : JSON_OBJECT, slot)) < 0)
            return r;
        if (s->form == SCHEMA_LIST)
            return decode_list_item(d, s->item, p, *slot);
        return p->type == PROTOBUF_BYTES ? decode_map_entry(d, s->item, p->bytes, *slot) : malformed(d, "a map is written as a number");
    }
    if (s->form != SCHEMA_OBJECT)
        *slot = NULL; /* the last one counts; objects are merged */
    if (is_json_schema(f) && p->type == PROTOBUF_BYTES)
        return schema_decode_json_schema(d->arena, p->bytes, &d->nodes, DEPTH_MAX - d->depth, slot, d->e);
    return decode_value(d, s, p, f->pointer, slot);
}

/* Of entries with the same key the last one counts. */
static void remove_repeated_keys(struct json *map)
{
    bool repeated = false;
    struct map *seen = NULL;
    if (map->n <= MAP_PAIRS_MAX) {
        JSON_EACH(a, map)
            for (const struct json *b = a->next; b; b = b->next)
                repeated = repeated || (a->key_n == b->key_n && memcmp(a->key, b->key, a->key_n) == 0);
        if (!repeated)
            return;
    }
    seen = map_new(sizeof(struct json *));
    JSON_EACH(member, map)
        *(struct json **)map_put(seen, (struct bytes){member->key, member->key_n}, NULL) = member;
    struct json *kept = NULL;
    map->n = 0;
    for (struct json *member = map->first, *next; member; member = next) {
        next = member->next;
        if (*(struct json **)map_find(seen, (struct bytes){member->key, member->key_n}) != member)
            continue;
        *(kept ? &kept->next : &map->first) = member;
        kept = member;
        map->n++;
    }
    kept->next = NULL;
    map->last = kept;
    map_free(seen);
}

static void finish_message(struct decode *d, const struct schema *s, struct json *object, struct json *const *slots, bool again)
{
    for (uint32_t number = 1; number < s->proto_n; number++) {
        struct json *v = slots[number];
        if (!v)
            continue;
        const struct schema_field *f = &s->fields[s->proto_index[number] - 1];
        if (f->type->form == SCHEMA_OBJECT && v->n == 0 && !f->pointer && !f->required)
            continue;
        if (f->type->form == SCHEMA_MAP)
            remove_repeated_keys(v);
        if (again)
            json_set(d->arena, object, f->name, v);
        else
            json_append_member(d->arena, object, (struct bytes){f->name, f->name_n}, v);
    }
}

static int decode_message(struct decode *d, const struct schema *s, struct bytes in, struct json *object)
{
    struct json *slots[NUMBERS_MAX];
    struct protobuf_field p;
    struct protobuf_reader reader = protobuf_reader(in);
    int r;
    bool again = object->n > 0;
    if (in.n == 0)
        return 0;
    if (s->proto_n > NUMBERS_MAX)
        return err_set(d->e, E_INVALID, "%s is not decoded from protobuf; send JSON", s->name);
    memset(slots, 0, s->proto_n * sizeof *slots);
    if (++d->depth > DEPTH_MAX)
        return err_set(d->e, E_LIMIT, "the protobuf body has more than %d messages inside each other", DEPTH_MAX);
    if (again && ++d->parts > PARTS_MAX)
        return err_set(d->e, E_LIMIT, "the protobuf body has more than %d messages that come in parts", PARTS_MAX);
    if (again)
        for (uint32_t number = 1; number < s->proto_n; number++)
            if (s->proto_index[number])
                slots[number] = json_get(object, s->fields[s->proto_index[number] - 1].name);
    while ((r = read_piece(d, &reader, &p)) > 0) {
        uint8_t at = p.number < s->proto_n ? s->proto_index[p.number] : 0;
        if (at && (r = decode_field(d, &s->fields[at - 1], &p, object, &slots[p.number])) < 0)
            break;
    }
    if (r >= 0)
        finish_message(d, s, object, slots, again);
    d->depth--;
    return r;
}

static int decode_envelope(struct decode *d, struct bytes body, struct bytes *ret_raw, const char **ret_version, const char **ret_kind)
{
    struct known unknown, type;
    struct json *version = NULL, *kind = NULL;
    if (body.n < 4 || memcmp(body.data, "k8s", 4) != 0)
        return malformed(d, "it does not start with the Kubernetes prefix");
    if (body.n > LIMIT_BODY_BYTES)
        return err_set(d->e, E_LIMIT, "the body is larger than %u bytes", LIMIT_BODY_BYTES);
    int r = read_known(d, (struct bytes){body.data + 4, body.n - 4}, &unknown);
    if (r >= 0 && unknown.bytes[3].n)
        return err_set(d->e, E_INVALID, "the protobuf body has a content encoding, which is not supported; send it without");
    if (r >= 0)
        r = read_known(d, unknown.bytes[1], &type);
    if (r >= 0)
        r = new_text(d, type.bytes[1], &version);
    if (r >= 0)
        r = new_text(d, type.bytes[2], &kind);
    if (r < 0)
        return r;
    *ret_raw = unknown.bytes[2];
    *ret_version = version->text;
    *ret_kind = kind->text;
    return 0;
}

static const struct schema *find_type(struct arena *a, const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');
    const char *group = slash ? arena_text_n(a, api_version, (size_t)(slash - api_version)) : "";
    if (strcmp(kind, "DeleteOptions") == 0) /* written under the group of what is deleted */
        return schema_of("", "v1", kind);
    return schema_of(group, slash ? slash + 1 : api_version, kind);
}

int schema_decode_protobuf(struct arena *a, struct bytes body, struct json **ret_object, struct err *e)
{
    struct decode d = {.arena = a, .e = e};
    struct bytes raw = {0};
    const char *version = "", *kind = "";
    buf_init(&d.scratch);
    int r = decode_envelope(&d, body, &raw, &version, &kind);
    const struct schema *s = r < 0 ? NULL : find_type(a, version, kind);
    if (r >= 0 && (!s || s->proto_n == 0))
        r = err_set(e, E_NOTFOUND, "no kind \"%.100s\" in version \"%.200s\" that can be sent as protobuf; send JSON or YAML", kind,
                    version);
    struct json *object = NULL;
    if (r >= 0) {
        object = json_new(a, JSON_OBJECT);
        json_set_text(a, object, "apiVersion", version);
        json_set_text(a, object, "kind", kind);
        struct json *fields = json_new(a, JSON_OBJECT);
        r = decode_message(&d, s, raw, fields);
        object->last->next = fields->first;
        object->last = fields->last ? fields->last : object->last;
        object->n += fields->n;
    }
    buf_free(&d.scratch);
    if (r < 0)
        return r;
    *ret_object = object;
    return 0;
}
