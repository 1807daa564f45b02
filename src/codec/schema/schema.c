/* schema.c - finding types and fields */
#include "codec/schema/schema.h"
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

const struct schema_field *schema_field_find(const struct schema *object, struct bytes name)
{
    if (!object || object->form != SCHEMA_OBJECT || name.n == 0)
        return NULL;
    const struct schema_field *fields = object->fields;
    uint32_t low = 0, high = object->fields_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct schema_field *f = &fields[middle];
        size_t n = f->name_n < name.n ? f->name_n : name.n;
        int r = (unsigned char)*f->name - (unsigned char)*name.data;
        if (r == 0)
            r = memcmp(f->name, name.data, n);
        if (r == 0 && f->name_n == name.n)
            return f;
        if (r < 0 || (r == 0 && f->name_n < name.n))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
