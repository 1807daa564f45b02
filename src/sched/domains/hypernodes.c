#include "sched/domains/hypernodes.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "codec/schema/schema_checks.h"
#include "core/state/selector.h"

#define NODES_NAMED 3 /* in a sentence */

struct build {
    const struct decoder *d;
    struct arena *a;
    struct hypernode *all;
    const struct node_look *nodes;
    uint32_t n, nodes_n, levels_n;
    const char **node_names;
    struct map *node_at, *hypernode_at; /* name -> uint32_t */
    bool *has, *matches;     /* scratch, by node */
    uint32_t *claimed, *seen; /* by HyperNode: nodes that count for it; scratch */
    uint32_t *rows;          /* by node, by level from the lowest: index + 1 in `all`; 0: none */
    int64_t tiers[TOPOLOGY_LEVELS]; /* from the lowest */
};

static void wrong(struct hypernode *h, const char *reason, const char *problem)
{
    if (h->problem)
        return;
    h->reason = reason;
    h->problem = problem;
}

static int compare_hypernodes(const void *left, const void *right)
{
    const struct hypernode *a = left, *b = right;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* ---- members ---- */

static void select_exactly(struct build *b, struct hypernode *h, const char *name, struct map *named)
{
    const uint32_t *at = map_find_text(b->node_at, name);
    if (at)
        b->has[*at] = true;
    else
        (void)map_put(named, bytes_of(name), NULL);
    if (!at)
        wrong(h, "NoSuchMember", arena_printf(b->a, "there is no node \"%s\"", name));
}

static void select_by_pattern(struct build *b, struct hypernode *h, const char *pattern)
{
    if (!schema_pattern_finds(pattern, b->node_names, b->nodes_n, b->matches)) {
        wrong(h, "InvalidPattern", arena_printf(b->a, "regexMatch \"%s\" cannot be understood: it selects no node", pattern));
        return;
    }
    for (uint32_t i = 0; i < b->nodes_n; i++)
        b->has[i] |= b->matches[i];
}

/* SOURCE Volcano: a selector that asks for nothing selects none. */
static void select_by_labels(struct build *b, const struct json *labels)
{
    struct selector s;
    decode_label_selector(b->d, labels, &s);
    for (uint32_t i = 0; i < b->nodes_n && s.all_n; i++)
        b->has[i] |= selector_matches(&s, (struct label_list){b->nodes[i].labels, b->nodes[i].labels_n}, 0, b->d->names);
}

/* A HyperNode of a lower tier: so there is no circle. */
static void take_member(struct build *b, struct hypernode *h, const char *name)
{
    const uint32_t *at = map_find_text(b->hypernode_at, name);
    const struct hypernode *member = at ? &b->all[*at] : NULL;
    if (!member)
        wrong(h, "NoSuchMember", arena_printf(b->a, "there is no HyperNode \"%s\"", name));
    else if (member->tier >= h->tier)
        wrong(h, "TierOrder", arena_printf(b->a, "its member HyperNode \"%s\" is of tier %lld, which is not below its own: it does not count",
                                           name, (long long)member->tier));
    for (uint32_t i = 0; member && member->tier < h->tier && i < member->nodes_n; i++)
        b->has[member->nodes[i]] = true;
}

static void find_members(struct build *b, struct hypernode *h)
{
    struct map *named = map_new(1); /* what it names and is no node */
    memset(b->has, 0, b->nodes_n);
    JSON_EACH (member, json_is(h->members, JSON_ARRAY) ? h->members : NULL) {
        const struct json *selector = json_get(member, "selector");
        const char *name = json_text(json_path(selector, "exactMatch", "name", NULL), "");
        const char *pattern = json_text(json_path(selector, "regexMatch", "pattern", NULL), "");
        if (!strcmp(json_get_text(member, "type", ""), "HyperNode")) {
            if (*name)
                (void)map_put(named, bytes_of(name), NULL);
            continue;
        }
        if (*name)
            select_exactly(b, h, name, named);
        if (*pattern)
            select_by_pattern(b, h, pattern);
        if (json_is(json_get(selector, "labelMatch"), JSON_OBJECT))
            select_by_labels(b, json_get(selector, "labelMatch"));
    }
    h->count = (int64_t)map_count(named);
    map_free(named);
    for (uint32_t i = 0; i < b->nodes_n; i++)
        h->count += b->has[i];
    JSON_EACH (member, json_is(h->members, JSON_ARRAY) ? h->members : NULL) {
        const char *name = json_text(json_path(member, "selector", "exactMatch", "name", NULL), "");
        if (strcmp(json_get_text(member, "type", ""), "HyperNode") != 0)
            continue;
        if (*name)
            take_member(b, h, name);
        else
            wrong(h, "NotNamed", "members of type HyperNode are named by exactMatch: another selector selects none");
    }
}

/* ---- tiers ---- */

static int32_t level_of(const struct build *b, int64_t tier)
{
    for (uint32_t i = 0; i < b->levels_n; i++)
        if (b->tiers[i] == tier)
            return (int32_t)i;
    return -1;
}

static void find_tiers(struct build *b)
{
    for (uint32_t i = 0; i < b->n; i++) /* they are sorted */
        if (level_of(b, b->all[i].tier) < 0 && b->levels_n < TOPOLOGY_LEVELS)
            b->tiers[b->levels_n++] = b->all[i].tier;
}

static uint32_t *row_of(const struct build *b, uint32_t node)
{
    return &b->rows[(size_t)node * TOPOLOGY_LEVELS];
}

/* How many nodes of each HyperNode of a lower tier are still to be had for this one. */
static void count_below(struct build *b, uint32_t level)
{
    memset(b->seen, 0, b->n * sizeof *b->seen);
    for (uint32_t i = 0; i < b->nodes_n; i++)
        for (uint32_t l = 0; l < level && b->has[i] && !row_of(b, i)[level]; l++)
            if (row_of(b, i)[l])
                b->seen[row_of(b, i)[l] - 1]++;
}

/* WHY  a HyperNode of a lower tier is one thing: were only some of its nodes in one above, the tree would have it twice. */
static const struct hypernode *split_below(const struct build *b, uint32_t node, uint32_t level)
{
    for (uint32_t l = 0; l < level; l++) {
        uint32_t at = row_of(b, node)[l];
        if (at && b->seen[at - 1] < b->claimed[at - 1])
            return &b->all[at - 1];
    }
    return NULL;
}

/* Its nodes that are in no other HyperNode of its tier yet, with all those that are in one of a lower tier together. */
static void claim(struct build *b, uint32_t at, uint32_t level)
{
    struct hypernode *h = &b->all[at];
    const struct hypernode *split = NULL;
    const char *others = "";
    uint32_t others_n = 0;
    count_below(b, level);
    for (uint32_t k = 0; k < h->nodes_n; k++) {
        uint32_t node = h->nodes[k], *row = &row_of(b, node)[level];
        if (*row) {
            if (others_n++ < NODES_NAMED)
                others = arena_printf(b->a, "%s%s\"%s\" (%s)", others, *others ? ", " : "", b->node_names[node], b->all[*row - 1].name);
            continue;
        }
        const struct hypernode *part = split_below(b, node, level);
        split = split ? split : part;
        if (part)
            continue;
        *row = at + 1;
        b->claimed[at]++;
    }
    if (others_n)
        wrong(h, "Overlap", arena_printf(b->a, "of its nodes %s%s count for another HyperNode of its tier already", others,
                                         others_n > NODES_NAMED ? arena_printf(b->a, " and %u more", others_n - NODES_NAMED) : ""));
    if (split)
        wrong(h, "Split", arena_printf(b->a, "it has some nodes of HyperNode \"%s\" and not all: those do not count for it", split->name));
}

static void take_nodes(struct build *b, uint32_t at)
{
    struct hypernode *h = &b->all[at];
    int32_t level = level_of(b, h->tier);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->nodes_n; i++)
        n += b->has[i];
    h->nodes = arena_alloc(b->a, (n + 1) * sizeof *h->nodes);
    for (uint32_t i = 0; i < b->nodes_n; i++)
        if (b->has[i])
            h->nodes[h->nodes_n++] = i;
    if (level >= 0)
        claim(b, at, (uint32_t)level);
    else
        wrong(h, "TooManyTiers", arena_printf(b->a, "there are more than %d tiers: the highest do not count", TOPOLOGY_LEVELS));
}

static void check_tier_names(struct build *b)
{
    struct map *tier_of = map_new(sizeof(int64_t));
    for (uint32_t i = 0; i < b->n; i++) {
        struct hypernode *h = &b->all[i];
        bool is_new = true;
        int64_t *tier = *h->tier_name ? map_put(tier_of, bytes_of(h->tier_name), &is_new) : NULL;
        if (tier && is_new)
            *tier = h->tier;
        else if (tier && *tier != h->tier)
            wrong(h, "TierName", arena_printf(b->a, "tier %lld is called \"%s\", too: the name stands for that one", (long long)*tier,
                                              h->tier_name));
    }
    map_free(tier_of);
}

/* ---- all ---- */

static void write_record(struct build *b, struct topology_record *r)
{
    name_id *levels = arena_alloc(b->a, TOPOLOGY_LEVELS * sizeof *levels);
    int64_t *tiers = arena_alloc(b->a, TOPOLOGY_LEVELS * sizeof *tiers);
    struct topology_row *rows = arena_alloc(b->a, (b->nodes_n + 1) * sizeof *rows);
    *r = (struct topology_record){.name = intern_text_id(b->d->names, HYPERNODES_TOPOLOGY), .levels = levels, .tiers = tiers, .rows = rows,
                                  .levels_n = b->levels_n};
    for (uint32_t l = 0; l < b->levels_n; l++) {
        tiers[l] = b->tiers[b->levels_n - 1 - l];
        levels[l] = intern_text_id(b->d->names, arena_printf(b->a, "%lld", (long long)tiers[l]));
    }
    for (uint32_t i = 0; i < b->nodes_n; i++) {
        const uint32_t *row = row_of(b, i);
        name_id *domains = arena_zero(b->a, b->levels_n + 1, sizeof *domains);
        bool any = false;
        for (uint32_t l = 0; l < b->levels_n; l++) {
            uint32_t at = row[b->levels_n - 1 - l];
            domains[l] = at ? intern_text_id(b->d->names, b->all[at - 1].name) : 0;
            any |= at != 0;
        }
        if (any)
            rows[r->rows_n++] = (struct topology_row){b->nodes[i].name, domains};
    }
}

void hypernodes_build(const struct decoder *d, struct hypernode *all, uint32_t n, const struct node_look *nodes, uint32_t nodes_n,
                      struct topology_record *ret_topology)
{
    struct build b = {.d = d, .a = d->arena, .all = all, .n = n, .nodes = nodes, .nodes_n = nodes_n};
    b.node_names = arena_alloc(b.a, (nodes_n + 1) * sizeof *b.node_names);
    b.has = arena_zero(b.a, nodes_n + 1, sizeof *b.has);
    b.matches = arena_zero(b.a, nodes_n + 1, sizeof *b.matches);
    b.rows = arena_zero(b.a, (size_t)nodes_n * TOPOLOGY_LEVELS + 1, sizeof *b.rows);
    b.claimed = arena_zero(b.a, n + 1, sizeof *b.claimed);
    b.seen = arena_zero(b.a, n + 1, sizeof *b.seen);
    b.node_at = map_new(sizeof(uint32_t));
    b.hypernode_at = map_new(sizeof(uint32_t));
    for (uint32_t i = 0; i < nodes_n; i++) {
        b.node_names[i] = arena_text(b.a, intern_name(d->names, nodes[i].name));
        *(uint32_t *)map_put(b.node_at, bytes_of(b.node_names[i]), NULL) = i;
    }
    if (n > 1)
        qsort(all, n, sizeof *all, compare_hypernodes);
    for (uint32_t i = 0; i < n; i++)
        *(uint32_t *)map_put(b.hypernode_at, bytes_of(all[i].name), NULL) = i;
    find_tiers(&b);
    for (uint32_t i = 0; i < n; i++) { /* those of lower tiers have their nodes by then */
        find_members(&b, &all[i]);
        take_nodes(&b, i);
    }
    check_tier_names(&b);
    write_record(&b, ret_topology);
    map_free(b.node_at);
    map_free(b.hypernode_at);
}
