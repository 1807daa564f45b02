/* schema.h - one table of API types, six uses: OpenAPI documents, strict validation, defaults, strategic merge keys, server-side apply
 * list keys, protobuf decoding
 *
 * SHAPE  a type is an object (fields), a map, a list or a scalar. Built-in types are generated from data/schema/ (one line a field);
 *        types of CustomResourceDefinitions are built at run time from their openAPIV3Schema with the same structs.
 * SOURCE Kubernetes API reference (v1.32 shapes), Kueue v1beta1/v1beta2, Volcano, scheduler-plugins and Kubeflow trainer CRDs.
 */
#ifndef CODEC_SCHEMA_H
#define CODEC_SCHEMA_H
#include "wire/json.h"

enum schema_form {
    SCHEMA_OBJECT, SCHEMA_MAP, SCHEMA_LIST,
    SCHEMA_STRING, SCHEMA_INT32, SCHEMA_INT64, SCHEMA_BOOL, SCHEMA_DOUBLE,
    SCHEMA_QUANTITY, SCHEMA_INT_OR_STRING, SCHEMA_TIME, SCHEMA_MICRO_TIME, SCHEMA_DURATION,
    SCHEMA_BYTES,     /* base64 text in JSON */
    SCHEMA_RAW,       /* any JSON value, kept as it is (RawExtension, FieldsV1, x-kubernetes-preserve-unknown-fields) */
};
enum schema_list { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

enum schema_word { SCHEMA_WORD_ANY, SCHEMA_WORD_SUBDOMAIN, SCHEMA_WORD_LABEL, SCHEMA_WORD_QUALIFIED, SCHEMA_WORD_KIND, SCHEMA_WORD_REASON };

struct schema;
struct schema_field {
    const char *name;                 /* JSON name */
    const struct schema *type;
    const char *description;          /* one line, for kubectl explain; may be "" */
    const char *default_json;         /* literal, NULL = none */
    const char *const *values;        /* enum: NULL terminated, NULL = any */
    uint16_t proto_number;            /* 0 = not on the protobuf wire */
    bool pointer;                     /* protobuf: a present zero value is meaningful */
    bool inlined;                     /* protobuf message whose fields stand on this level in JSON */
    bool required;
    bool merge_retain_keys;           /* patchStrategy retainKeys */
    const char *merge_key;            /* strategic merge: lists of objects; "" = primitive list merged as set; NULL = replaced whole */
    uint64_t prefix;                  /* schema_prefix(name) */
    uint8_t name_n;                   /* bytes of name; an inlined member has the name "" and no JSON key: skip it when walking fields */
    bool plain;                       /* schema_default does not go below: types of built-in kinds inside custom ones */
};
struct schema {
    const char *name;                 /* "io.k8s.api.core.v1.PodSpec"; "" for anonymous */
    enum schema_form form;
    const struct schema_field *fields; /* SCHEMA_OBJECT, sorted by name */
    uint32_t fields_n;
    bool keep_unknown;                /* SCHEMA_OBJECT: unknown fields are not pruned */
    const struct schema *item;        /* SCHEMA_LIST, SCHEMA_MAP */
    enum schema_list list;            /* server-side apply: how lists merge */
    const char *const *list_keys;     /* SCHEMA_LIST_MAP: key field names, NULL terminated */
    bool atomic;                      /* SCHEMA_OBJECT, SCHEMA_MAP: server-side apply owns it whole (LabelSelector, nodeSelector, ...) */
    int64_t minimum, maximum;         /* of a number, of a text's length, of how many items; INT64_MIN/MAX = none */
    enum schema_word word;            /* SCHEMA_STRING: what it has to be */
    const char *description;
    bool defaults_below;              /* it or a type under it has defaults */
    uint8_t proto_n;                  /* entries of proto_index */
    const uint8_t *proto_index;       /* SCHEMA_OBJECT: protobuf field number -> index into fields + 1; 0 = none */
    const struct schema_checks *checks; /* custom kinds: what else their schema demands (schema_checks.h); NULL = nothing */
};

/* Type of a built-in kind, NULL when unknown. group "" = core. */
const struct schema *schema_of(const char *group, const char *version, const char *kind);
/* The first eight bytes of a name as a number, which orders names as their bytes do; zeros behind a shorter one. */
uint64_t schema_prefix(struct bytes name);
const struct schema_field *schema_field_find(const struct schema *object, struct bytes name);
/* The same of a member of an object; schema_prune leaves in its hint where the field stands. WHY  each member is looked for by who prunes,
 * defaults, validates and says whose it is. */
static inline const struct schema_field *schema_field_of(const struct schema *object, const struct json *member)
{
    struct bytes name = {member->key, member->key_n};
    if (!object || object->form != SCHEMA_OBJECT || member->hint >= object->fields_n)
        return schema_field_find(object, name);
    const struct schema_field *f = &object->fields[member->hint];
    return name.n && f->name_n == name.n && bytes_same(f->name, name.data, name.n) ? f : schema_field_find(object, name);
}

/* Build from a CRD version's schema.openAPIV3Schema (metadata, apiVersion, kind are added). Lives in the arena. Accepts structural schemas
 * best-effort; -E_INVALID with field path for what cannot be understood. */
int schema_from_openapi(struct arena *a, const struct json *open_api_v3_schema, const char *name, const struct schema **ret_schema,
                        struct err *e);

/* Check types and remove unknown fields, in place. Findings are collected, not fatal:
 * unknown: `unknown field "spec.datta"` / wrong type: message like Kubernetes' decoder. */
struct schema_findings {
    char *unknown[32];    /* paths in the arena, first 32 */
    uint32_t unknown_n;
};
/* Returns 0, or -E_INVALID when a value has a type that cannot be decoded
 * (`Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ...` is the clients' expectation:
 * we say: spec.containers: expected a list, got a string). */
int schema_prune(struct arena *a, const struct schema *s, struct json *object, struct schema_findings *ret_findings, struct err *e);
/* Fill defaults of the table (CRDs and ours), in place. */
void schema_default(struct arena *a, const struct schema *s, struct json *object);

/* Validation that the table knows: required, enum, minimum/maximum, words. Appends to causes (below). */
struct field_errors;
void schema_validate(const struct schema *s, const struct json *object, struct field_errors *errors);

/* Protobuf request bodies: "k8s\0" envelope -> JSON object with apiVersion and kind. -E_INVALID / -E_LIMIT with a sentence. Unknown
 * kinds: -E_NOTFOUND. SOURCE Kubernetes, runtime.Unknown and generated.proto field numbers. */
int schema_decode_protobuf(struct arena *a, struct bytes body, struct json **ret_object, struct err *e);

/* OpenAPI v3 document of one group-version (built-in kinds), as JSON. `kinds` come from codec/kinds/kind.h. Also usable for CRDs: see
 * kind.h. */
/* "name":{...} pairs of root and all it refers to, comma separated */
void schema_openapi_components(struct buf *out, const struct schema *root);

#endif
