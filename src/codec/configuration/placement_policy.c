/* placement_policy.c - see placement_policy.h */
#include "codec/configuration/placement_policy.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 64 }; /* of a value that is repeated in a sentence */

/* "0.4:0.6" */
static bool are_weights(const char *value)
{
    char *end;
    double a = strtod(value, &end);
    if (end == value || *end != ':' || !(a >= 0 && a <= 1))
        return false;
    const char *second = end + 1;
    double b = strtod(second, &end);
    return end != second && !*end && b >= 0 && b <= 1 && a + b > 0;
}

static bool is_percentage(const char *value)
{
    int64_t n;
    return bytes_int64(bytes_of(value), &n) && n >= 0 && n <= 100;
}

static bool is_switch(const char *value)
{
    return text_equal(value, "true") || text_equal(value, "false");
}

static bool is_preference(const char *value)
{
    return text_equal(value, "binpack") || text_equal(value, "spread");
}

static bool is_policy(const char *value)
{
    enum placement unused;
    return placement_named(value, &unused);
}

/* harmless: the value that asks for what happens anyway; "": any does. why NULL: the key decides. */
static const struct policy_key {
    const char *name;
    bool (*is_good)(const char *value);
    const char *write, *harmless, *why;
} keys[] = {
    {"placement", is_policy, PLACEMENT_WORDS, "", NULL},
    {"gpu-allocate-prefer", is_preference, "binpack or spread", "", NULL},
    {"node-gpu-score-weight", are_weights, "two numbers from 0 to 1 with a colon between them, as 0.4:0.6", "-",
     "GPUs are compared first, then cpu and memory"},
    {"nvlink-weight-percentage", is_percentage, "a number from 0 to 100", "-", "GPUs that are linked are taken together wherever that is possible"},
    {"avoid-nvlink-one-gpu", is_switch, "true or false", "false", "of single GPUs the fullest link group gives the first"},
    {"node-reservation-permit", is_switch, "true or false", "false", "places are kept for whole gangs and for whom others leave, and for nobody else"},
    {"pod-re-schedule-permit", is_switch, "true or false", "false", "only preemption by the policies of queues, and by priority, ends pods"},
    {"multi-node-allocation-permit", is_switch, "true or false", "true", "a pod is on one node; for more write a pod group"},
    {"non-gpu-node-prefer", is_switch, "true or false", "true", "pods without GPUs stay away from nodes that have some, where they can"},
    {"multi-gpu-node-prefer", is_switch, "true or false", "true", "binpack fills nodes one after the other, whatever they have"},
    {"least-score-node-prefer", is_switch, "true or false", "false", "the best node is taken"},
    {"avoid-high-score-node", is_switch, "true or false", "false", "the best node is taken"},
};

static const struct policy_key *key_named(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_equal(name, keys[i].name))
            return &keys[i];
    return NULL;
}

static void add(struct arena *a, struct json *list, const char *sentence)
{
    json_append(list, json_new_text(a, sentence));
}

static void read_key(struct arena *a, const char *name, const char *value, struct placement_policy *p)
{
    const struct policy_key *k = key_named(name);
    if (!k) {
        add(a, p->wrong, arena_printf(a, "data.%.*s: there is no such key", TEXT_MOST, name));
    } else if (!k->is_good(value)) {
        add(a, p->wrong, arena_printf(a, "data.%s: \"%.*s\": write %s", name, TEXT_MOST, value, k->write));
    } else if (k->why) {
        if (!text_equal(value, k->harmless))
            add(a, p->idle, arena_printf(a, "data.%s: \"%.*s\" changes nothing: %s", name, TEXT_MOST, value, k->why));
    } else {
        p->says = true;
        (void)placement_named(value, &p->placement);
    }
}

struct placement_policy placement_policy_read(struct arena *a, const struct json *config_map)
{
    struct placement_policy p = {.wrong = json_new(a, JSON_ARRAY), .idle = json_new(a, JSON_ARRAY)};
    const struct json *data = json_get(config_map, "data"), *own = json_get(data, "placement");
    JSON_EACH (entry, json_is(data, JSON_OBJECT) ? data : NULL)
        read_key(a, entry->key, json_text(entry, ""), &p);
    if (own && !p.wrong->n) /* whatever the other says */
        (void)placement_named(json_text(own, ""), &p.placement);
    p.says &= !p.wrong->n;
    return p;
}
