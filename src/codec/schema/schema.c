/* schema.c - finding types and fields */
#include "codec/schema/schema.h"

#include <endian.h>

#include "codec/schema/schema_table.h"

static int root_compare(const struct schema_root *root, const char *group, const char *version, const char *kind)
{
    int r = strcmp(root->group, group);
    if (r == 0)
        r = strcmp(root->version, version);
    return r ? r : strcmp(root->kind, kind);
}

const struct schema *schema_of(const char *group, const char *version, const char *kind)
{
    uint32_t low = 0, high = schema_roots_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int r = root_compare(&schema_roots[middle], group, version, kind);
        if (r == 0)
            return schema_roots[middle].schema;
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint64_t schema_prefix(struct bytes name)
{
    char first[8] = {0};
    uint64_t prefix;
    bytes_copy(first, name.data, name.n < sizeof first ? name.n : sizeof first);
    memcpy(&prefix, first, sizeof prefix);
    return be64toh(prefix);
}

const struct schema_field *schema_field_find(const struct schema *object, struct bytes name)
{
    if (!object || object->form != SCHEMA_OBJECT || name.n == 0)
        return NULL;
    const struct schema_field *fields = object->fields;
    uint64_t prefix = schema_prefix(name);
    uint32_t low = 0, high = object->fields_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct schema_field *f = &fields[middle];
        if (f->prefix == prefix && f->name_n == name.n && bytes_same(f->name, name.data, name.n))
            return f;
        if (f->prefix != prefix ? f->prefix < prefix : bytes_compare((struct bytes){f->name, f->name_n}, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
