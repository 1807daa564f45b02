/* domain_words.h - clusters with a topology, and what pod sets ask of it, as lines of text
 *
 * levels  letters from the widest: B block, R rack, H kubernetes.io/hostname
 * nodes   "b1/r1/x1:4 b1/r2/-:2": values of the levels, and how many CPUs; "-": without the label. Without H the nodes are named by number.
 * ask     "[SET] COUNT [required=L] [preferred=L] [unconstrained] [cpu=N] [slice=L:N,L:N] [group=G]", sets are parted by ";"; L: a letter
 *         "wish=L:VALUE:WEIGHT,...": preferred node affinity
 */
#ifndef TEST_DOMAIN_WORDS_H
#define TEST_DOMAIN_WORDS_H
#include "../jobs.h"
#include "core/queue/lost.h"

struct domain_case {
    const char *what, *levels, *nodes, *ask, *expected;
};

static inline const char *level_label(const char *letter)
{
    return !strcmp(letter, "B") ? "block" : !strcmp(letter, "R") ? "rack" : !strcmp(letter, "H") ? "kubernetes.io/hostname" : letter;
}

static inline int whole(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static inline void domain_node(struct world *w, const char *levels, char *text, int at)
{
    char labels[256] = "tas=yes", name[32], *cpus = strchr(text, ':'), *save = NULL;
    snprintf(name, sizeof name, "n%d", at);
    *cpus++ = 0;
    for (const char *part = strtok_r(text, "/", &save), *l = levels; part; part = strtok_r(NULL, "/", &save), l++) {
        char letter[2] = {*l, 0}, more[64];
        if (!strcmp(part, "-"))
            continue;
        snprintf(more, sizeof more, ",%s=%s", level_label(letter), part);
        strncat(labels, more, sizeof labels - strlen(labels) - 1);
        if (*l == 'H')
            snprintf(name, sizeof name, "%s", part);
    }
    node(w, name, arena_printf(w->records, "cpu=%d000,pods=110", whole(cpus)), labels);
}

/* Topology "t", flavor "f" of nodes with tas=yes, queue "q" with room for all, local queue "ns/lq". */
static inline void domain_cluster(struct world *w, const char *levels, const char *nodes)
{
    struct queue_words q;
    char *copy = arena_text(w->records, nodes), *save = NULL;
    const char *all = "";
    int at = 0;
    for (const char *l = levels; *l; l++) {
        char letter[2] = {*l, 0};
        all = arena_printf(w->records, "%s%s%s", all, l == levels ? "" : ",", level_label(letter));
    }
    topology(w, "t", all);
    topology_flavor(w, "f", "t", "tas=yes");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "f", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
        domain_node(w, levels, one, at++);
}

static inline void domain_slices(struct world *w, struct topology_request *r, char *text)
{
    char *save = NULL;
    for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(one, ':');
        *colon = 0;
        r->slices[r->slices_n++] = (struct topology_slice){id(w, level_label(one)), whole(colon + 1)};
    }
}

static inline void domain_wishes(struct world *w, struct shape *to, char *text)
{
    struct node_preference *all = arena_zero(w->records, 4, sizeof *all);
    char *save = NULL;
    for (char *one = strtok_r(text, ",", &save); one && to->node_wishes_n < 4; one = strtok_r(NULL, ",", &save)) {
        char *value = strchr(one, ':'), *weight;
        *value++ = 0;
        weight = strchr(value, ':');
        *weight++ = 0;
        name_id *values = arena_zero(w->records, 1, sizeof *values);
        struct requirement *r = arena_zero(w->records, 1, sizeof *r);
        *values = id(w, value);
        *r = (struct requirement){.key = id(w, level_label(one)), .op = REQUIRE_IN, .values = values, .values_n = 1};
        all[to->node_wishes_n++] = (struct node_preference){{.all = r, .all_n = 1}, whole(weight)};
    }
    to->node_wishes = all;
}

static inline struct pod_set domain_set(struct world *w, char *text)
{
    char *save = NULL;
    int cpus = 1;
    struct pod_set set = {.name = id(w, "main")};
    struct shape wished = {0};
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (word[0] >= '0' && word[0] <= '9')
            set.count = set.min_count = whole(word);
        else if (!strcmp(word, "required") || !strcmp(word, "preferred"))
            set.topology.mode = word[0] == 'r' ? TOPOLOGY_REQUIRED : TOPOLOGY_PREFERRED;
        else if (!strcmp(word, "unconstrained"))
            set.topology.mode = TOPOLOGY_UNCONSTRAINED;
        else if (!strcmp(word, "slice"))
            domain_slices(w, &set.topology, value);
        else if (!strcmp(word, "group"))
            set.topology.group = id(w, value);
        else if (!strcmp(word, "wish"))
            domain_wishes(w, &wished, value);
        else if (!strcmp(word, "cpu"))
            cpus = whole(value);
        else
            set.name = id(w, word);
        if (!strcmp(word, "required") || !strcmp(word, "preferred"))
            set.topology.level = id(w, level_label(value));
    }
    set.shape = shape_of(w, cpus ? arena_printf(w->records, "cpu=%d000", cpus) : "", "");
    set.shape.node_wishes = wished.node_wishes;
    set.shape.node_wishes_n = wished.node_wishes_n;
    return set;
}

static inline struct gang_record domain_gang(struct world *w, const char *name, const char *ask)
{
    struct pod_set *sets = arena_zero(w->records, 8, sizeof *sets);
    char *copy = arena_text(w->records, ask), *save = NULL;
    uint32_t n = 0;
    for (char *one = strtok_r(copy, ";", &save); one && n < 8; one = strtok_r(NULL, ";", &save))
        sets[n++] = domain_set(w, one);
    return workload_of(w, name, sets, n);
}

/* The API says that it was admitted. */
static inline struct gang_record domain_admitted(struct world *w, struct gang_record r)
{
    return admitted_in(w, r, "f");
}

static inline void domain_case_begin(struct world *w, const struct domain_case *c)
{
    w->node_wishes = true;
    domain_cluster(w, c->levels, c->nodes);
}

/* Its domains, or why there are none. */
static inline const char *domain_case_run(struct world *w, const struct domain_case *c)
{
    gang_record(w, domain_gang(w, "a", c->ask));
    step(w);
    const char *domains = domains_of(w, "a");
    return *domains ? domains : why(w, "a");
}

/* A node that failed is not replaced before. */
static inline void wait_for_lost(struct world *w)
{
    w->now_ms += LOST_WAIT_MS;
    step(w);
}

/* "x1 x2!": x1 is gone, x2 is not ready; "~": cordoned, "#": tainted. */
static inline void domain_nodes_fail(struct world *w, const char *text)
{
    char *copy = arena_text(w->records, text), *save = NULL;
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        char how = one[strlen(one) - 1];
        if (!strchr("!~#", how)) {
            gone(w, CHANGE_NODE_GONE, one);
            continue;
        }
        one[strlen(one) - 1] = 0;
        struct node_record r = a_node(w, one, "cpu=9000,pods=110", arena_printf(w->records, "kubernetes.io/hostname=%s,tas=yes", one));
        struct taint taint = {id(w, "broken"), 0, TAINT_NO_EXECUTE};
        r.ready = how != '!';
        r.unschedulable = how == '~';
        r.taints = &taint;
        r.taints_n = how == '#';
        node_record(w, r);
    }
}

#endif
