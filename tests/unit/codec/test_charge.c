/* What quota counts of requests: rules and requests in, amounts out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "codec/configuration/configuration.h"

#define CONFIGURATION "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: "

/* requests, want: "cpu=1500 gpu=2", cpu in milli; want NULL: as they are. Read from YAML, so the reading is tested, too. */
static const struct {
    const char *resources, *requests, *want;
} rows[] = {
    {"{}", "cpu=500 gpu=1", NULL},
    {"{excludeResourcePrefixes: [gpu]}", "cpu=500", NULL},
    {"{excludeResourcePrefixes: [gpu, x.y/]}", "cpu=500 gpu=1 gpus=2 x.y/z=3 x.yz=4", "cpu=500 x.yz=4"},
    {"{transformations: [{input: gpu, outputs: {credits: 10}}]}", "cpu=500", NULL},
    {"{transformations: [{input: gpu, outputs: {credits: 10}}]}", "cpu=500 gpu=2", "cpu=500 gpu=2 credits=20"},
    {"{transformations: [{input: gpu, strategy: Retain, outputs: {credits: 10}}]}", "gpu=2", "gpu=2 credits=20"},
    {"{transformations: [{input: gpu, strategy: Replace, outputs: {credits: 10, memory: 1Ki}}]}", "cpu=1 gpu=2", "cpu=1 credits=20 memory=2048"},
    {"{transformations: [{input: gpu, strategy: Replace}]}", "cpu=1 gpu=2", "cpu=1"},
    {"{transformations: [{input: gpu, outputs: {}}]}", "gpu=2", "gpu=2"},
    {"{transformations: [{input: gpu, outputs: {gpu: 2}}]}", "gpu=2", "gpu=6"}, /* SOURCE Kueue: its own output is added */
    {"{transformations: [{input: cpu, strategy: Replace, outputs: {credits: 1}}]}", "cpu=1500", "credits=2"}, /* rounded up, once */
    {"{transformations: [{input: cpu, strategy: Replace, outputs: {credits: 500m}}, {input: gpu, strategy: Replace, outputs: {credits: 250m}}]}",
     "cpu=1500 gpu=1", "credits=1"},
    {"{transformations: [{input: gpu, strategy: Replace, outputs: {cpu: 250m}}]}", "cpu=100 gpu=3", "cpu=850"},
    {"{transformations: [{input: a, strategy: Replace, outputs: {c: 1}}, {input: b, strategy: Replace, outputs: {c: 2}}]}", "a=3 b=5 c=7", "c=20"},
    /* An output of an input that is one itself is not transformed again. */
    {"{transformations: [{input: a, strategy: Replace, outputs: {b: 2}}, {input: b, strategy: Replace, outputs: {c: 1}}]}", "a=3 b=5", "b=6 c=5"},
    {"{transformations: [{input: a, strategy: Replace, multiplyBy: k, outputs: {c: 2}}]}", "a=3 k=5", "k=5 c=30"},
    {"{transformations: [{input: a, strategy: Retain, multiplyBy: k, outputs: {c: 2}}]}", "a=3 k=5", "a=3 k=5 c=30"},
    {"{transformations: [{input: a, strategy: Replace, multiplyBy: k, outputs: {c: 2}}]}", "a=3", "c=6"},
    {"{transformations: [{input: a, strategy: Replace, multiplyBy: cpu, outputs: {c: 2}}]}", "a=3 cpu=500", "cpu=500 c=3"},
    {"{excludeResourcePrefixes: [k], transformations: [{input: a, strategy: Replace, multiplyBy: k, outputs: {c: 2}}]}", "a=3 k=5", "c=6"},
    {"{excludeResourcePrefixes: [a], transformations: [{input: a, outputs: {c: 2}}]}", "a=3 k=5", "k=5"},
    /* Outputs take from each other, but from nothing else, and never below zero. */
    {"{transformations: [{input: a, strategy: Replace, outputs: {c: 5}}, {input: b, strategy: Replace, outputs: {c: -2}}]}", "a=1 b=2", "c=1"},
    {"{transformations: [{input: a, strategy: Replace, outputs: {c: -5}}]}", "a=1 c=3", "c=3"},
    {"{transformations: [{input: memory, strategy: Replace, outputs: {c: 1e3}}]}", "memory=9000000000000000000", "c=9223372036854775807"},
    {"{transformations: [{input: memory, strategy: Replace, multiplyBy: memory, outputs: {c: 9E}}]}", "memory=9000000000000000000",
     "c=9223372036854775807"},
    {"{transformations: [{input: cpu, strategy: Replace, multiplyBy: cpu, outputs: {c: -9000000000.000000001}}]}", "cpu=9223372036854775807", ""},
    {"{transformations: [{input: nvidia.com/mig-4g.20gb, strategy: Replace, outputs: {example.com/memory: 20Gi}}]}", "nvidia.com/mig-4g.20gb=2",
     "example.com/memory=42949672960"},
};

static uint32_t read_amounts(struct arena *a, struct intern *names, const char *text, struct amount *out)
{
    uint32_t n = 0;
    for (char *save = NULL, *one = strtok_r(arena_text(a, text), " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        assert_true(bytes_int64(bytes_of(value), &out[n].value));
        out[n++].resource = intern_text_id(names, one);
    }
    return n;
}

static void rules(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *a = arena_new();
        struct intern *names = intern_new();
        struct configuration c;
        _cleanup_buf_ struct buf warnings = {0}, problems = {0};
        const char *text = arena_printf(a, CONFIGURATION "%s\n", rows[i].resources);
        if (configuration_parse(a, bytes_of(text), &c, &warnings, &problems) < 0 || warnings.n)
            fail_msg("%s: %s%s", rows[i].resources, problems.n ? problems.data : "", warnings.n ? warnings.data : "");
        struct amount requests[8], want[8];
        const struct amount *is = NULL;
        uint32_t n = read_amounts(a, names, rows[i].requests, requests), is_n = 0;
        bool other = charge_apply(&c.charge, a, names, requests, n, &is, &is_n);
        uint32_t want_n = rows[i].want ? read_amounts(a, names, rows[i].want, want) : 0;
        bool right = other == (rows[i].want != NULL) && is_n == want_n;
        for (uint32_t k = 0; k < want_n && right; k++) { /* both by resource: those of requests are the older ids */
            bool found = false;
            for (uint32_t m = 0; m < is_n; m++)
                found |= is[m].resource == want[k].resource && is[m].value == want[k].value;
            right = found && (!k || is[k].resource > is[k - 1].resource);
        }
        for (uint32_t k = 0; k < is_n && !right; k++)
            printf("# %s=%lld\n", intern_name(names, is[k].resource), (long long)is[k].value);
        if (!right)
            fail_msg("%s of %s: wanted %s", rows[i].resources, rows[i].requests, rows[i].want ? rows[i].want : "nothing else");
        intern_free(names);
        arena_free(a);
    }
}

static void without_rules(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    const struct amount *is = NULL;
    uint32_t n = 0;
    assert_false(charge_apply(NULL, a, NULL, NULL, 0, &is, &n));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(without_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
