/* charge.c - see charge.h; sums are exact to 10^-9, and what is beyond all amounts counts as the largest */
#include "codec/charge/charge.h"
#include <string.h>

#define NANO 1000000000
#define MOST ((__int128)1 << 120) /* sums of many of them are still numbers */

struct part {
    name_id resource;
    __int128 retained, generated; /* nano */
};
struct parts {
    struct part *all;
    uint32_t n;
};

static bool is_cpu(const char *resource)
{
    return strcmp(resource, "cpu") == 0;
}

static __int128 clamp(__int128 v)
{
    return v > MOST ? MOST : v < -MOST ? -MOST : v;
}

static __int128 times(__int128 a, __int128 b)
{
    __int128 product;
    bool whole_a = a % NANO == 0, whole_b = b % NANO == 0;
    __int128 x = whole_a ? a / NANO : a, y = !whole_a && whole_b ? b / NANO : b;
    if (__builtin_mul_overflow(x, y, &product))
        return (a < 0) == (b < 0) ? MOST : -MOST;
    return clamp(whole_a || whole_b ? product : product / NANO);
}

static struct part *part_of(struct parts *p, name_id resource)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->all[i].resource == resource)
            return &p->all[i];
    p->all[p->n] = (struct part){.resource = resource};
    return &p->all[p->n++];
}

static __int128 nano_of(const struct intern *names, const struct amount *request)
{
    return (__int128)request->value * (is_cpu(intern_name(names, request->resource)) ? NANO / 1000 : NANO);
}

static bool is_excluded(const struct charge_policy *p, const char *resource)
{
    for (uint32_t i = 0; i < p->excluded_n; i++)
        if (strncmp(resource, p->excluded[i], strlen(p->excluded[i])) == 0)
            return true;
    return false;
}

static const struct charge_rule *rule_of(const struct charge_policy *p, const char *resource)
{
    for (uint32_t i = 0; i < p->rules_n; i++)
        if (strcmp(p->rules[i].input, resource) == 0)
            return &p->rules[i];
    return NULL;
}

/* What the rule's input is multiplied by: 1 where the pod asks for nothing of it. */
static __int128 factor_of(const struct charge_policy *p, const struct charge_rule *rule, const struct intern *names,
                          const struct amount *requests, uint32_t requests_n)
{
    for (uint32_t i = 0; i < requests_n && rule->times; i++) {
        const char *name = intern_name(names, requests[i].resource);
        if (strcmp(name, rule->times) == 0 && !is_excluded(p, name))
            return nano_of(names, &requests[i]);
    }
    return NANO;
}

static int by_resource(const void *left, const void *right)
{
    const struct amount *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

/* In the unit of amounts, rounded up. */
static int64_t amount_of(const struct part *p, bool milli)
{
    __int128 unit = milli ? NANO / 1000 : NANO, sum = p->retained + (p->generated > 0 ? p->generated : 0), n = (sum + unit - 1) / unit;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

bool charge_apply(const struct charge_policy *p, struct arena *a, struct intern *names, const struct amount *requests, uint32_t requests_n,
                  const struct amount **ret_charged, uint32_t *ret_n)
{
    size_t room = requests_n + 1;
    bool other = false;
    for (uint32_t i = 0; p && i < p->rules_n; i++)
        room += p->rules[i].outputs_n;
    struct parts parts = {.all = arena_alloc(a, room * sizeof *parts.all)};
    for (uint32_t i = 0; p && i < requests_n; i++) {
        const char *name = intern_name(names, requests[i].resource);
        const struct charge_rule *rule = rule_of(p, name);
        bool excluded = is_excluded(p, name);
        other |= rule || excluded;
        if (excluded)
            continue;
        if (!rule || !rule->replaces)
            part_of(&parts, requests[i].resource)->retained += nano_of(names, &requests[i]);
        __int128 input = rule ? times(nano_of(names, &requests[i]), factor_of(p, rule, names, requests, requests_n)) : 0;
        for (uint32_t k = 0; rule && k < rule->outputs_n; k++) {
            struct part *out = part_of(&parts, intern_text_id(names, rule->outputs[k].resource));
            out->generated = clamp(out->generated + times(input, rule->outputs[k].factor.nano));
        }
    }
    if (!other)
        return false;
    struct amount *charged = arena_alloc(a, room * sizeof *charged);
    *ret_n = 0;
    for (uint32_t i = 0; i < parts.n; i++) {
        int64_t value = amount_of(&parts.all[i], is_cpu(intern_name(names, parts.all[i].resource)));
        if (value > 0)
            charged[(*ret_n)++] = (struct amount){parts.all[i].resource, value};
    }
    qsort(charged, *ret_n, sizeof *charged, by_resource);
    *ret_charged = charged;
    return true;
}
