/* kind_convert_topology.c - a gang's nodes as rows (v1beta1) and as columns (v1beta2)
 *
 * SHAPE  slice: {domainCount, valuesPerLevel: [{universal} | {individual: {prefix, suffix, roots}}], podCounts: {universal | individual}};
 *        the value of domain d on a level is universal, or prefix + roots[d] + suffix. We write one slice.
 */
#include "codec/kinds/kind_convert.h"

#define DOMAINS_MAX 100000        /* roots of one slice, in Kueue's own schema */
#define EXPANDED_MAX (16u << 20)  /* bytes of domain values that one assignment may expand to */

static struct bytes value_at(const struct json *domain, uint32_t level)
{
    return json_bytes(json_item(json_get(domain, "values"), level));
}

/* Bytes that all values of a level share at the start and, after that, at the end. */
static void common_ends(const struct json *domains, uint32_t level, size_t *ret_prefix, size_t *ret_suffix)
{
    struct bytes first = value_at(domains->first, level);
    size_t prefix = first.n, suffix = first.n;
    JSON_EACH(domain, domains) {
        struct bytes v = value_at(domain, level);
        size_t limit = v.n < first.n ? v.n : first.n, i = 0;
        while (i < limit && i < prefix && v.data[i] == first.data[i])
            i++;
        prefix = i;
        for (i = 0; i < limit && i < suffix && v.data[v.n - 1 - i] == first.data[first.n - 1 - i];)
            i++;
        suffix = i;
    }
    /* The shortest value limits both together. */
    size_t shortest = first.n;
    JSON_EACH(domain, domains) {
        struct bytes v = value_at(domain, level);
        shortest = v.n < shortest ? v.n : shortest;
    }
    *ret_prefix = prefix;
    *ret_suffix = prefix + suffix > shortest ? shortest - prefix : suffix;
}

/* Cuts must not fall inside a UTF-8 sequence: names of nodes are ASCII, so anything else is kept whole. */
static bool is_ascii(const struct json *domains, uint32_t level)
{
    JSON_EACH(domain, domains) {
        struct bytes v = value_at(domain, level);
        for (size_t i = 0; i < v.n; i++)
            if ((unsigned char)v.data[i] >= 0x80)
                return false;
    }
    return true;
}

static struct json *level_column(struct arena *a, const struct json *domains, uint32_t level)
{
    struct json *column = json_new(a, JSON_OBJECT);
    struct bytes first = value_at(domains->first, level);
    bool same = true;
    JSON_EACH(domain, domains)
        same = same && bytes_equal(value_at(domain, level), first);
    if (same) {
        json_set(a, column, "universal", json_new_text_n(a, first));
        return column;
    }
    size_t prefix = 0, suffix = 0;
    if (is_ascii(domains, level))
        common_ends(domains, level, &prefix, &suffix);
    struct json *individual = json_ensure_object(a, column, "individual");
    if (prefix)
        json_set(a, individual, "prefix", json_new_text_n(a, (struct bytes){first.data, prefix}));
    if (suffix)
        json_set(a, individual, "suffix", json_new_text_n(a, (struct bytes){first.data + first.n - suffix, suffix}));
    struct json *roots = json_ensure_array(a, individual, "roots");
    JSON_EACH(domain, domains) {
        struct bytes v = value_at(domain, level);
        json_append(roots, json_new_text_n(a, (struct bytes){v.data + prefix, v.n - prefix - suffix}));
    }
    return column;
}

static struct json *count_column(struct arena *a, const struct json *domains)
{
    struct json *column = json_new(a, JSON_OBJECT);
    int64_t first = json_get_int64(domains->first, "count", 0);
    bool same = true;
    JSON_EACH(domain, domains)
        same = same && json_get_int64(domain, "count", 0) == first;
    if (same) {
        json_set_int64(a, column, "universal", first);
        return column;
    }
    struct json *individual = json_ensure_array(a, column, "individual");
    JSON_EACH(domain, domains)
        json_append(individual, json_new_int64(a, json_get_int64(domain, "count", 0)));
    return column;
}

static void to_columns(struct arena *a, struct json *assignment)
{
    struct json *domains = json_get(assignment, "domains");
    if (!json_is(domains, JSON_ARRAY))
        return;
    json_remove(assignment, "domains");
    struct json *slices = json_ensure_array(a, assignment, "slices");
    const struct json *levels = json_get(assignment, "levels");
    if (domains->n == 0 || domains->n > DOMAINS_MAX || !json_is(levels, JSON_ARRAY))
        return;
    struct json *slice = json_new(a, JSON_OBJECT);
    json_set_int64(a, slice, "domainCount", domains->n);
    struct json *columns = json_ensure_array(a, slice, "valuesPerLevel");
    /* An assignment lists either every level or only the lowest. */
    uint32_t levels_n = levels->n < 16 ? levels->n : 16;
    for (uint32_t level = 0; level < levels_n; level++)
        json_append(columns, level_column(a, domains, level));
    json_set(a, slice, "podCounts", count_column(a, domains));
    json_append(slices, slice);
}

/* Columns are walked side by side: lists are linked, an index would be quadratic. */
struct column {
    struct bytes universal, prefix, suffix;
    const struct json *root; /* of the current domain; NULL = universal */
};

static struct json *expand_value(struct arena *a, struct column *c, size_t *budget)
{
    if (!c->root) {
        *budget -= c->universal.n < *budget ? c->universal.n : *budget;
        return json_new_text_n(a, c->universal);
    }
    struct bytes root = json_bytes(c->root);
    size_t n = c->prefix.n + root.n + c->suffix.n;
    if (n > *budget) {
        *budget = 0;
        return json_new_text(a, "");
    }
    *budget -= n;
    char *text = arena_alloc(a, n + 1);
    if (c->prefix.n)
        memcpy(text, c->prefix.data, c->prefix.n);
    if (root.n)
        memcpy(text + c->prefix.n, root.data, root.n);
    if (c->suffix.n)
        memcpy(text + c->prefix.n + root.n, c->suffix.data, c->suffix.n);
    text[n] = 0;
    c->root = c->root->next;
    return json_new_text_n(a, (struct bytes){text, n});
}

#define LEVELS_MAX 16 /* of a Topology, in Kueue's own schema */

static void expand_slice(struct arena *a, const struct json *slice, struct json *domains, size_t *budget)
{
    struct column columns[LEVELS_MAX];
    uint32_t columns_n = 0;
    int64_t count = json_get_int64(slice, "domainCount", 0);
    JSON_EACH(level, json_get(slice, "valuesPerLevel")) {
        if (columns_n == LEVELS_MAX)
            return;
        struct column *c = &columns[columns_n++];
        const struct json *individual = json_get(level, "individual"), *roots = json_get(individual, "roots");
        c->universal = json_bytes(json_get(level, "universal"));
        c->prefix = json_bytes(json_get(individual, "prefix"));
        c->suffix = json_bytes(json_get(individual, "suffix"));
        c->root = json_is(roots, JSON_ARRAY) ? roots->first : NULL;
        if (individual && (!json_is(roots, JSON_ARRAY) || roots->n < count))
            return;
    }
    const struct json *pods = json_get(slice, "podCounts"), *each = json_get(pods, "individual");
    const struct json *pod_count = json_is(each, JSON_ARRAY) ? each->first : NULL;
    for (int64_t d = 0; d < count && domains->n < DOMAINS_MAX && *budget > 0; d++) {
        struct json *domain = json_new(a, JSON_OBJECT);
        struct json *values = json_ensure_array(a, domain, "values");
        for (uint32_t i = 0; i < columns_n; i++)
            json_append(values, expand_value(a, &columns[i], budget));
        json_set_int64(a, domain, "count", pod_count ? json_int64(pod_count, 0) : json_get_int64(pods, "universal", 0));
        pod_count = pod_count ? pod_count->next : NULL;
        json_append(domains, domain);
    }
}

static void to_rows(struct arena *a, struct json *assignment)
{
    struct json *slices = json_get(assignment, "slices");
    if (!json_is(slices, JSON_ARRAY))
        return;
    json_remove(assignment, "slices");
    struct json *domains = json_ensure_array(a, assignment, "domains");
    size_t budget = EXPANDED_MAX;
    JSON_EACH(slice, slices)
        expand_slice(a, slice, domains, &budget);
    if (budget == 0 || domains->n >= DOMAINS_MAX)
        json_set(a, assignment, "domains", json_new(a, JSON_ARRAY));
}

void kind_convert_topology(struct arena *a, struct json *assignment, bool to_slices)
{
    if (to_slices)
        to_columns(a, assignment);
    else
        to_rows(a, assignment);
}
