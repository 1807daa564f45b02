/* shares_words.h - clusters with Volcano's queues as lines of text: objects in, what queues deserve and what is decided out
 *
 *   node NAME [gpu=N] [cpu=N] [notready]       no GPUs, 1,000 CPUs where nothing is said
 *   queue NAME [in=PARENT] [weight=N] [keeps] [prio=N] [deserved.gpu=N] [guarantee.gpu=N] [capability.gpu=N] (or .cpu)
 *         [turns]                            its groups grow above their minimum by turns
 *         [preempts]                         of its groups those of higher priority may end those of lower
 *         [kept.gpu=N] [counts]              of its groups those that keep their places, of all queues below it, have no more than that;
 *                                            it is counted of those in a queue that says one of the two
 *         [preempt.after=N] [reclaim.after=N] its groups go not before they have run so many seconds
 *   runs NAME queue=Q [x=N] [min=N] [gpu=N] [cpu=N] [on=NODE] [keeps] [prio=N] [never] [of=N [size=N] [least=N]] [ran=N]
 *                                              a group of N pods that run, 1 GPU each where nothing is said; of=N: every N are a subgroup,
 *                                              of which `size` (else all) start together, at least `least` of them; pairs=N: every two of
 *                                              these are below one policy, which needs both, and N of such pairs are needed
 *                                              ran=N: it began N seconds ago
 *   wants NAME queue=Q ... [patience=N]        as above, and they wait; nobody goes for them before they have for N seconds
 *         queue=none: of no queue; [whole]: it goes whole or not at all; [nobody]: goes for it; [deleting]: its pods are, [deleting=N]:
 *         the first N
 *   pod NAME ...                               a lone pod, as in stories.h
 *   gone POD
 *
 * Amounts of CPU are whole ones. What a cycle decides is told as "evict b; start a"; of a group that stays its members: "evict b-3".
 */
#ifndef TEST_SHARES_WORDS_H
#define TEST_SHARES_WORDS_H
#include "stories.h"

static inline const char *volcano_name(struct world *w, const char *name)
{
    return arena_printf(w->records, "volcano:%s", name);
}

static inline const struct amount *amounts_named(struct world *w, const struct word *words, int n, const char *kind, uint32_t *ret_n)
{
    struct amount *all = arena_zero(w->records, (size_t)n + 1, sizeof *all);
    size_t length = strlen(kind);
    *ret_n = 0;
    for (int i = 0; i < n; i++) {
        if (strncmp(words[i].key, kind, length) != 0 || words[i].key[length] != '.')
            continue;
        bool gpu = strcmp(words[i].key + length + 1, "gpu") == 0;
        all[(*ret_n)++] = (struct amount){id(w, gpu ? GPU : words[i].key + length + 1), atoll(words[i].value) * (gpu ? 1 : 1000)};
    }
    return all;
}

#define KEPT "kept:"
/* What is kept, as a capability of a resource of its own, besides those that it has. */
static inline void shares_kept(struct world *w, struct queue_shares *x, const struct word *words, int n)
{
    uint32_t kept_n;
    const struct amount *kept = amounts_named(w, words, n, "kept", &kept_n);
    if (!kept_n && !word_of(words, n, "counts", NULL))
        return;
    struct amount *most = arena_zero(w->records, x->capability_n + kept_n + 1, sizeof *most);
    if (x->capability_n)
        memcpy(most, x->capability, x->capability_n * sizeof *most);
    for (uint32_t i = 0; i < kept_n; i++)
        most[x->capability_n++] = (struct amount){id(w, arena_printf(w->records, KEPT "%s", text_of(w, kept[i].resource))), kept[i].value};
    x->capability = most;
    struct counting *counts = arena_zero(w->records, 2, sizeof *counts);
    const char *const resources[] = {"cpu", GPU};
    for (int i = 0; i < 2; i++)
        counts[i] = (struct counting){.as = id(w, arena_printf(w->records, KEPT "%s", resources[i])), .resource = id(w, resources[i]),
                                      .times = 1, .per = 1, .only_kept = true, .of = id(w, resources[i])};
    x->counts = counts;
    x->counts_n = 2;
}

static inline void shares_queue(struct world *w, const char *name, const struct word *words, int n)
{
    struct queue_shares *x = arena_zero(w->records, 1, sizeof *x);
    x->parent = strcmp(name, "root") ? id(w, volcano_name(w, word_of(words, n, "in", "root"))) : 0;
    x->weight = number_of(words, n, "weight", 1);
    x->keeps = word_of(words, n, "keeps", NULL) != NULL;
    x->by_turns = word_of(words, n, "turns", NULL) != NULL;
    x->deserved = amounts_named(w, words, n, "deserved", &x->deserved_n);
    x->guarantee = amounts_named(w, words, n, "guarantee", &x->guarantee_n);
    x->capability = amounts_named(w, words, n, "capability", &x->capability_n);
    shares_kept(w, x, words, n);
    x->preempt_after_ms = 1000 * number_of(words, n, "preempt.after", 0);
    x->reclaim_after_ms = 1000 * number_of(words, n, "reclaim.after", 0);
    struct queue_record r = {.name = id(w, volcano_name(w, name)), .title = id(w, name), .kind = QUEUE_VOLCANO, .unlimited = true,
                             .shares = x, .borrow_before_next_flavor = true, .priority = (int32_t)number_of(words, n, "prio", 0),
                             .within_queue = word_of(words, n, "preempts", NULL) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
}

/* A policy for each pair of subgroups, and below it one for each of the two. */
static inline void shares_pairs(struct world *w, struct gang_record *r, int64_t count, int64_t of, int64_t least)
{
    uint32_t parts_n = (uint32_t)(count / of), pairs_n = parts_n / 2;
    struct subgroup_policy *all = arena_zero(w->records, pairs_n + parts_n, sizeof *all);
    struct requirement *is = arena_zero(w->records, parts_n, sizeof *is);
    name_id *values = arena_zero(w->records, parts_n, sizeof *values);
    for (uint32_t i = 0; i < pairs_n; i++)
        all[i] = (struct subgroup_policy){.pods = {.matches_nothing = true}, .least_n = 2};
    for (uint32_t i = 0; i < parts_n; i++) {
        values[i] = id(w, arena_printf(w->records, "%u", i));
        is[i] = (struct requirement){.key = id(w, "part"), .op = REQUIRE_IN, .values = &values[i], .values_n = 1};
        all[pairs_n + i] = (struct subgroup_policy){.above = i / 2 + 1, .pods = {.all = &is[i], .all_n = 1}, .size = (int32_t)of,
                                                    .least_n = 1};
    }
    r->subgroups = all;
    r->subgroups_n = pairs_n + parts_n;
    r->subgroups_least = (int32_t)least;
}

static inline void shares_group(struct world *w, const char *name, const struct word *words, int n, bool runs)
{
    char requests[96], key[64];
    int64_t count = number_of(words, n, "x", 1);
    const char *queue = word_of(words, n, "queue", "default");
    bool none = strcmp(queue, "none") == 0;
    struct gang_record r = a_group(w, name, none ? NULL : volcano_name(w, queue), (int32_t)number_of(words, n, "min", count));
    r.queue_title = none ? 0 : id(w, queue);
    r.keeps_places = word_of(words, n, "keeps", NULL) != NULL;
    r.goes_whole = word_of(words, n, "whole", NULL) != NULL;
    r.preempts_nobody = word_of(words, n, "nobody", NULL) != NULL;
    r.priority = (int32_t)number_of(words, n, "prio", 0);
    r.patience_s = (int32_t)number_of(words, n, "patience", 0);
    const int64_t of = number_of(words, n, "of", 0);
    const name_id part = id(w, "part");
    const struct subgroup_policy subgroups = {.name = part, .keys = &part, .keys_n = 1, .size = (int32_t)number_of(words, n, "size", of),
                                              .least_n = (int32_t)number_of(words, n, "least", 0)};
    r.subgroups = &subgroups;
    r.subgroups_n = of > 0;
    if (number_of(words, n, "pairs", 0))
        shares_pairs(w, &r, count, of, number_of(words, n, "pairs", 0));
    gang_record(w, r);
    const char *deleting = word_of(words, n, "deleting", "0");
    const int64_t deleting_n = *deleting ? atoll(deleting) : count;
    snprintf(requests, sizeof requests, GPU "=%lld,cpu=%lld", (long long)number_of(words, n, "gpu", 1),
             (long long)number_of(words, n, "cpu", 0) * 1000);
    for (int64_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "ns/%s-%lld", name, (long long)i);
        struct pod_record p = a_pod(w, key, name, requests);
        if (of)
            p.shape.labels = labels_of(w, arena_printf(w->records, "part=%lld", (long long)(i / of)), &p.shape.labels_n);
        p.node = runs ? id(w, word_of(words, n, "on", "n")) : 0;
        p.phase = runs ? POD_RUNNING : POD_PENDING;
        p.started_ms = runs ? w->now_ms - 1000 * number_of(words, n, "ran", 0) : 0;
        p.preempts_nobody = word_of(words, n, "never", NULL) != NULL;
        p.deleting = i < deleting_n;
        pod_record(w, p);
    }
}

static inline void shares_node(struct world *w, const char *name, const struct word *words, int n)
{
    struct node_record r = a_node(w, name, arena_printf(w->records, GPU "=%lld,cpu=%lld", (long long)number_of(words, n, "gpu", 0),
                                                        1000 * (long long)number_of(words, n, "cpu", 1000)), "");
    r.ready = word_of(words, n, "notready", NULL) == NULL;
    node_record(w, r);
}

/* One object; the first word says which kind. */
static inline void shares_line(struct world *w, char *line)
{
    struct word words[16];
    char *save = NULL, *kind = strtok_r(line, " \n", &save), *name = kind ? strtok_r(NULL, " \n", &save) : NULL;
    int n = 0;
    if (!name)
        return;
    for (char *part; n < 16 && (part = strtok_r(NULL, " \n", &save)); n++) {
        char *equals = strchr(part, '=');
        if (equals)
            *equals = 0;
        words[n] = (struct word){part, equals ? equals + 1 : ""};
    }
    if (strcmp(kind, "node") == 0)
        shares_node(w, name, words, n);
    else if (strcmp(kind, "gone") == 0)
        gone(w, CHANGE_POD_GONE, arena_printf(w->records, "ns/%s", name));
    else if (strcmp(kind, "queue") == 0)
        shares_queue(w, name, words, n);
    else if (strcmp(kind, "pod") == 0)
        story_pod(w, name, words, n);
    else
        shares_group(w, name, words, n, strcmp(kind, "runs") == 0);
}

static inline void shares_objects(struct world *w, const char *objects)
{
    char *copy = arena_text(w->records, objects), *save = NULL;
    for (char *line = strtok_r(copy, ";", &save); line; line = strtok_r(NULL, ";", &save))
        shares_line(w, line);
}

/* What the last cycle decided; in the cycle's arena. */
static inline const char *shares_decided(struct world *w)
{
    const char *text = "";
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        const char *word = e->effect == EFFECT_EVICT ? "evict" : e->effect == EFFECT_ADMIT ? "start" : NULL;
        if (word)
            text = arena_printf(w->cycle, "%s%s%s %s", text, *text ? "; " : "", word,
                                e->effect == EFFECT_EVICT && e->pod ? text_of(w, e->pod) + strlen("ns/") : text_of(w, e->gang));
    }
    return text;
}

/* GPUs that the queue deserves; -1: it has no quota of any. */
static inline int64_t gpus_deserved(struct world *w, const char *queue)
{
    struct queue_usage *rows;
    uint32_t n = state_queue_usage(w->s, id(w, volcano_name(w, queue)), w->cycle, &rows);
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].resource == id(w, GPU))
            return rows[i].nominal;
    return -1;
}

#endif
