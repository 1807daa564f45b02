/* machine_labels.c - see machine_labels.h */
#include "sched/machines/machine_labels.h"
#include <string.h>
#include "base/bytes.h"

/* Karpenter, or the cloud, may put such labels on machines though their NodePool says nothing of them. */
static bool is_known_to_others(const char *key)
{
    static const char *const domains[] = {"kubernetes.io", "k8s.io", "amazonaws.com",    "azure.com",
                                          "google.com",    "gke.io", "alibabacloud.com", "oraclecloud.com"};
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    if (memmem(key, n, "karpenter", 9))
        return true;
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t k = strlen(domains[i]);
        if (n >= k && memcmp(key + n - k, domains[i], k) == 0 && (n == k || key[n - k - 1] == '.'))
            return true;
    }
    return false;
}

static bool lists(const struct machine_requirement *r, const char *value)
{
    for (uint32_t i = 0; i < r->values_n; i++)
        if (strcmp(r->values[i], value) == 0)
            return true;
    return false;
}

static bool admits(const struct machine_requirement *r, const char *value)
{
    int64_t number;
    switch (r->op) {
    case REQUIRE_IN:
        return lists(r, value);
    case REQUIRE_NOT_IN:
        return !lists(r, value);
    case REQUIRE_EXISTS:
        return true;
    case REQUIRE_NOT_EXISTS:
        return false;
    case REQUIRE_GREATER:
        return bytes_int64(bytes_of(value), &number) && number > r->number;
    case REQUIRE_LESS:
        return bytes_int64(bytes_of(value), &number) && number < r->number;
    }
    return true;
}

/* Does it say anything of the key? ret_listed (may be NULL): a requirement that lists the only values. */
static bool says(const struct machine_pool *p, const char *key, const struct machine_requirement **ret_listed)
{
    bool any = false;
    for (uint32_t i = 0; i < p->requirements_n; i++) {
        const struct machine_requirement *r = &p->requirements[i];
        if (strcmp(r->key, key) != 0)
            continue;
        any = true;
        if (ret_listed && r->op == REQUIRE_IN)
            *ret_listed = r;
    }
    return any;
}

static bool all_admit(const struct machine_pool *p, const char *key, const char *value)
{
    for (uint32_t i = 0; i < p->requirements_n; i++)
        if (strcmp(p->requirements[i].key, key) == 0 && !admits(&p->requirements[i], value))
            return false;
    return true;
}

bool machine_label_may(const struct machine_pool *p, const char *key, const char *value)
{
    if (strcmp(key, MACHINE_POOL_LABEL) == 0)
        return strcmp(value, p->name) == 0;
    if (strcmp(key, "kubernetes.io/hostname") == 0)
        return false; /* that of a node which is there, or nobody's */
    return says(p, key, NULL) ? all_admit(p, key, value) : is_known_to_others(key);
}

/* It has such a label whatever else is chosen. */
static bool surely_has(const struct machine_pool *p, const char *key)
{
    for (uint32_t i = 0; i < p->requirements_n; i++)
        if (strcmp(p->requirements[i].key, key) == 0 && p->requirements[i].op != REQUIRE_NOT_IN &&
            p->requirements[i].op != REQUIRE_NOT_EXISTS)
            return true;
    return strcmp(key, MACHINE_POOL_LABEL) == 0;
}

static bool never_has(const struct machine_pool *p, const char *key)
{
    for (uint32_t i = 0; i < p->requirements_n; i++)
        if (strcmp(p->requirements[i].key, key) == 0 && p->requirements[i].op == REQUIRE_NOT_EXISTS)
            return true;
    return !surely_has(p, key) && !says(p, key, NULL) && !is_known_to_others(key);
}

static bool may_have_one_of(const struct machine_pool *p, const struct intern *names, const struct requirement *r)
{
    for (uint32_t i = 0; i < r->values_n; i++)
        if (machine_label_may(p, intern_name(names, r->key), intern_name(names, r->values[i])))
            return true;
    return false;
}

static bool suits(const struct intern *names, const struct requirement *r, const char *value)
{
    int64_t number;
    if (r->op != REQUIRE_NOT_IN)
        return bytes_int64(bytes_of(value), &number) && (r->op == REQUIRE_GREATER ? number > r->number : number < r->number);
    for (uint32_t i = 0; i < r->values_n; i++)
        if (strcmp(intern_name(names, r->values[i]), value) == 0)
            return false;
    return true;
}

/* NotIn, Gt, Lt: tried with each value that the pool lists; where it lists none something will do. */
static bool may_have_other(const struct machine_pool *p, const struct intern *names, const struct requirement *r)
{
    const char *key = intern_name(names, r->key);
    const struct machine_requirement *listed = NULL;
    if (strcmp(key, MACHINE_POOL_LABEL) == 0)
        return suits(names, r, p->name);
    if (never_has(p, key))
        return r->op == REQUIRE_NOT_IN;
    (void)says(p, key, &listed);
    for (uint32_t i = 0; listed && i < listed->values_n; i++)
        if (suits(names, r, listed->values[i]) && all_admit(p, key, listed->values[i]))
            return true;
    return !listed;
}

static bool may_match(const struct machine_pool *p, const struct intern *names, const struct requirement *r)
{
    const char *key = intern_name(names, r->key);
    if (r->is_field)
        return r->op == REQUIRE_NOT_IN; /* names of nodes that are there */
    switch (r->op) {
    case REQUIRE_IN:
        return may_have_one_of(p, names, r);
    case REQUIRE_EXISTS:
        return !never_has(p, key);
    case REQUIRE_NOT_EXISTS:
        return !surely_has(p, key);
    case REQUIRE_NOT_IN:
    case REQUIRE_GREATER:
    case REQUIRE_LESS:
        break;
    }
    return may_have_other(p, names, r);
}

const char *machine_label_lacking(const struct machine_pool *p, const struct intern *names, const struct shape *shape)
{
    const char *lacking = NULL;
    for (uint32_t i = 0; i < shape->node_labels_n; i++)
        if (!machine_label_may(p, intern_name(names, shape->node_labels[i].key), intern_name(names, shape->node_labels[i].value)))
            return intern_name(names, shape->node_labels[i].key);
    for (uint32_t i = 0; i < shape->node_terms_n; i++) {
        const struct selector *term = &shape->node_terms[i];
        bool may = !term->matches_nothing;
        for (uint32_t k = 0; k < term->all_n && may; k++) {
            may = may_match(p, names, &term->all[k]);
            lacking = may || lacking ? lacking : intern_name(names, term->all[k].key);
        }
        if (may)
            return NULL;
    }
    return shape->node_terms_n && !lacking ? "" : lacking;
}

const char *machine_taint_lacking(const struct machine_pool *p, const struct intern *names, const struct shape *shape)
{
    for (uint32_t i = 0; i < p->taints_n; i++) {
        const struct machine_taint *t = &p->taints[i];
        bool covered = false;
        for (uint32_t k = 0; k < shape->tolerations_n && !covered; k++) {
            const struct toleration *x = &shape->tolerations[k];
            covered = (!x->effects || (x->effects & t->effect)) && (x->key ? strcmp(intern_name(names, x->key), t->key) == 0 : x->exists) &&
                      (x->exists || strcmp(intern_name(names, x->value), t->value) == 0);
        }
        if (!covered)
            return t->key;
    }
    return NULL;
}

int64_t machine_label_most(const struct machine_pool *p, const char *key)
{
    int64_t most = INT64_MAX, number;
    for (uint32_t i = 0; i < p->requirements_n; i++) {
        const struct machine_requirement *r = &p->requirements[i];
        int64_t here = INT64_MAX;
        if (strcmp(r->key, key) != 0)
            continue;
        if (r->op == REQUIRE_NOT_EXISTS)
            here = 0;
        else if (r->op == REQUIRE_LESS)
            here = r->number - 1;
        else if (r->op == REQUIRE_IN) {
            here = r->values_n ? 0 : INT64_MAX;
            for (uint32_t k = 0; k < r->values_n && here < INT64_MAX; k++)
                here = !bytes_int64(bytes_of(r->values[k]), &number) ? INT64_MAX : number > here ? number : here;
        }
        most = here < most ? here : most;
    }
    return most;
}
