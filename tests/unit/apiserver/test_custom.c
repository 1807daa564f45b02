/* Custom resources: what their definition's schema fills in, demands and lets be selected by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "../folder.h"
#include "api.h"
#include "apiserver/rules/rules.h"
#include "base/log.h"
#include "base/random.h"
#include "codec/schema/schema_checks.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/test.io/v1/namespaces/default/widgets"

/* spec: the schema of spec; version: other members of the version, ",..." */
static int define(struct api *api, const char *spec, const char *version)
{
    return api_post(api, CRDS, arena_printf(api->arena,
                                            "{\"metadata\":{\"name\":\"widgets.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":\"Namespaced\","
                                            "\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                                            "\"storage\":true%s,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":%s}}}}]}}",
                                            version, spec));
}

static int widget(struct api *api, const char *name, const char *spec)
{
    return api_post(api, WIDGETS, arena_printf(api->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec));
}

#define SPEC_EMPTY "{\"type\":\"object\"}"

/* What is not stored defines no kind, what is stored still does: a disk that takes nothing, and a trial. */
static void kinds_are_what_is_stored(void **state)
{
    char dir[64];
    struct api *api = &(struct api){0};
    struct rlimit before, small = {1, RLIM_INFINITY};
    (void)state;
    folder_make(dir, sizeof dir, "capstan-crd");
    api_open(api, dir);
    assert_int_equal(api_post(api, CRDS "?dryRun=All", "{\"metadata\":{\"name\":\"others.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":"
                                                       "\"Cluster\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{\"name\":"
                                                       "\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
                     422);
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(define(api, SPEC_EMPTY, ""), 500);
    assert_int_equal(api_get(api, WIDGETS), 404);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(widget(api, "w", "{}"), 201);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io?dryRun=All", NULL), 200);
    assert_int_equal(api_get(api, WIDGETS "/w"), 200);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "json", "[{\"op\":\"add\",\"path\":\"/spec/names/categories\",\"value\":[\"all\"]}]"), 500);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 500);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    log_set_level(LOG_INFO);
    assert_int_equal(api_get(api, WIDGETS "/w"), 200);
    assert_int_equal(api_get(api, "/apis/test.io/v1"), 200);
    assert_string_equal(api_text(api, "resources.0.categories.0"), "");
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    assert_int_equal(api_get(api, WIDGETS "/w"), 404);
    api_close(api);
    folder_remove(dir);
}

/* A kind's name that is not that of any would switch its rules off. */
/* Objects that were stored as v1, when v2 is what is stored: each is shown as what is asked for, also to watchers. */
static void bodies_of_an_older_storage_version(void **state)
{
    struct api *api = *state;
    const char *newer = "/apis/test.io/v2/namespaces/default/widgets";
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(widget(api, "old", "{}"), 201);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "json",
                               "[{\"op\":\"replace\",\"path\":\"/spec/versions/0/storage\",\"value\":false},{\"op\":\"add\",\"path\":"
                               "\"/spec/versions/1\",\"value\":{\"name\":\"v2\",\"served\":true,\"storage\":true,\"schema\":"
                               "{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\"}}}}}}]"),
                     200);
    assert_int_equal(api_post(api, newer, "{\"metadata\":{\"name\":\"young\"},\"spec\":{}}"), 201);
    const char *const asked[] = {WIDGETS, newer}, *const versions[] = {"test.io/v1", "test.io/v2"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(api_get(api, arena_printf(api->arena, "%s/old", asked[i])), 200);
        assert_string_equal(api_text(api, "apiVersion"), versions[i]);
        assert_int_equal(api_get(api, asked[i]), 200);
        assert_string_equal(api_text(api, "items.0.apiVersion"), versions[i]);
        assert_string_equal(api_text(api, "items.1.apiVersion"), versions[i]);
        struct api_watch *w = api_watch_open(api, arena_printf(api->arena, "%s?watch=1", asked[i]));
        for (int n = 0; n < 2; n++) {
            assert_int_equal(strncmp(api_watch_next(w), "ADDED ", 6), 0);
            assert_string_equal(json_get_text(api_watch_object(w), "apiVersion", ""), versions[i]);
        }
        assert_int_equal(api_patch(api, arena_printf(api->arena, "%s/old", asked[i]), "merge", i ? "{\"spec\":{\"b\":1}}" : "{\"spec\":{\"a\":1}}"), 200);
        api_watch_close(w);
    }
}

static void rules_are_of_kinds_that_exist(void **state)
{
    struct api *api = *state;
    for (size_t i = 0; i < server_rules.kinds_n; i++) {
        const struct kind_rules *r = &server_rules.kinds[i];
        if (!kind_find(api->server->kinds, r->group, r->plural))
            fail_msg("there is no kind %s of group \"%s\"", r->plural, r->group);
        assert_ptr_equal(kind_rules_find(api->server, kind_find(api->server->kinds, r->group, r->plural)), r); /* one row a kind */
    }
}

static void defaults_come_on_read(void **state)
{
    struct api *api = *state;
    const char *path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/";
    assert_int_equal(define(api, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}", ""),
                     201);
    assert_int_equal(widget(api, "w", "{\"a\":\"1\"}"), 201);
    struct api_watch *w = api_watch_open(api, WIDGETS "?watch=true");
    (void)api_watch_next(w);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "json",
                               arena_printf(api->arena, "[{\"op\":\"add\",\"path\":\"%sb/default\",\"value\":\"B\"}]", path)),
                     200);
    assert_int_equal(api_get(api, WIDGETS "/w"), 200);
    assert_string_equal(api_text(api, "spec.b"), "B");
    assert_int_equal(api_get(api, WIDGETS), 200);
    assert_string_equal(api_text(api, "items.0.spec.b"), "B");
    assert_int_equal(api_get(api, "/apis/test.io/v1/widgets?fieldSelector=metadata.name=w"), 200);
    assert_string_equal(api_text(api, "items.0.spec.b"), "B");
    /* a write that names something else keeps what was shown */
    assert_int_equal(api_patch(api, WIDGETS "/w", "json", "[{\"op\":\"test\",\"path\":\"/spec/b\",\"value\":\"B\"},{\"op\":\"add\",\"path\":\"/spec/a\",\"value\":\"2\"}]"),
                     200);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "json", arena_printf(api->arena, "[{\"op\":\"remove\",\"path\":\"%sb/default\"}]", path)), 200);
    assert_int_equal(api_get(api, WIDGETS "/w"), 200);
    assert_string_equal(api_text(api, "spec.b"), "B");
    api_watch_close(w);
}

static void values_are_checked(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *spec, *message; /* NULL: good */
    } cases[] = {
        {"{\"s\":\"ab-1\"}", NULL},
        {"{\"s\":\"AB\"}", "spec.s: Invalid value: \"AB\": spec.s in body should match '^[a-z]+(?:-\\d+)?$'"},
        {"{\"s\":\"a\"}", "spec.s: Invalid value: \"a\": spec.s in body should be at least 2 chars long"},
        {"{\"s\":\"abcdefghi\"}", "spec.s: Too long: may not be more than 8 bytes"},
        {"{\"s\":\"\303\244\303\244\"}", "should match"},
        {"{\"l\":[1,2,3]}", "spec.l: Too many: 3: must have at most 2 items"},
        {"{\"l\":[]}", "spec.l in body should be at least 1 items"},
        {"{\"m\":{}}", "should be at least 1 properties"},
        {"{\"n\":2.5}", NULL},
        {"{\"n\":0.5}", "spec.n in body should be greater than or equal to 1"},
        {"{\"n\":3}", "spec.n in body should be less than 3"},
        {"{\"i\":7}", "should be a multiple of 5"},
        {"{\"k\":1e300}", NULL}, /* more than any integer */
        {"{\"k\":0.75}", "should be a multiple of 0.5"},
        {"{\"i\":2}", "spec.i: Unsupported value: 2"},
        {"{\"o\":{\"a\":\"x\"}}", NULL},
        {"{\"o\":{\"a\":\"x\",\"b\":\"x\"}}", "spec.o in body must validate one and only one schema (oneOf). Found 2 valid alternatives"},
        {"{\"o\":{\"c\":\"x\"}}", "Found none valid"},
        {"{\"y\":{\"c\":\"x\"}}", "must validate at least one schema (anyOf)"},
        {"{\"y\":{\"a\":\"x\"}}", NULL},
        {"{\"x\":\"no\"}", "spec.x in body must not validate the schema (not)"},
    };
    assert_int_equal(define(api,
                            "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]+(?:-\\\\d+)?$\",\"minLength\":2,"
                            "\"maxLength\":8},\"l\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"integer\"}},"
                            "\"m\":{\"type\":\"object\",\"minProperties\":1,\"additionalProperties\":{\"type\":\"string\"}},"
                            "\"n\":{\"type\":\"number\",\"minimum\":1,\"maximum\":3,\"exclusiveMaximum\":true},"
                            "\"k\":{\"type\":\"number\",\"multipleOf\":0.5},"
                            "\"i\":{\"type\":\"integer\",\"multipleOf\":5,\"enum\":[5,7,10]},"
                            "\"o\":{\"type\":\"object\",\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"properties\":{\"a\":{\"type\":\"string\"},"
                            "\"b\":{\"type\":\"string\"},\"c\":{\"type\":\"string\"}}},"
                            "\"y\":{\"type\":\"object\",\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"properties\":{\"a\":{\"type\":\"string\"},"
                            "\"b\":{\"type\":\"string\"},\"c\":{\"type\":\"string\"}}},"
                            "\"x\":{\"type\":\"string\",\"not\":{\"pattern\":\"^no\"}}}}",
                            ""),
                     201);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = widget(api, arena_printf(api->arena, "w%zu", i), cases[i].spec);
        if (status != (cases[i].message ? 422 : 201) || (cases[i].message && !strstr(api_text(api, "message"), cases[i].message)))
            fail_msg("%s: %d %s", cases[i].spec, status, api_text(api, "message"));
    }
}

static void patterns_of_re2(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"^\\d+$", "123", true},        {"^\\d+$", "12a", false},       {"^[\\w.-]+$", "a_1.-", true}, {"^[\\w.-]+$", "a b", false},
        {"^(?:a|b)*?$", "abab", true},  {"(?i)^abc$", "ABC", true},     {"^\\S+$", "a b", false},      {"^[^\\s]+$", "a b", false},
        {"^a{2,3}$", "aa", true},       {"^a{2,3}$", "aaaa", false},    {"^[]a]+$", "]a", true},       {"^[a\\-z]+$", "-", true},
        {"^[a\\-z]+$", "b", false},     {"\\Aa\\z", "a", true},         {"^\\.$", "x", false},         {"^\\pL$", "1", true},
        {"^(?P<n>a)$", "b", false},     {"^(a{900}){900}$", "b", true}, {"", "x", true},               {"a\\", "b", true},
        {"^[\\]\\[]+$", "[]", true},     {"^a|b$", "xb", true},          {"^(a|)$", "", true},          {"^(a|)$", "b", false},
        {"^(a?){20}a{20}$", "aaaaaaaaaaaaaaaaaaaa", true},              {"in-tree|out-of-tree", "xout-of-treex", true},
        {"^.$", "\303\244", true},      {"^.$", "\n", false},           {"^[\303\240-\303\277]$", "\303\244", true}, {"^[^a]$", "\303\244", true},
        {"\\bfoo\\b", "a foo b", true}, {"\\bfoo\\b", "afoo", false}, {"^[[:alpha:]]+$", "aZ", true}, {"^\\x41$", "A", true},
        {"^x{,2}$", "x{,2}", true},     {"^(((((a*)*)*)*)*)*c$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false},
        {"^((a|b|ab|ba){1,20}){1,20}c$", "abababababababababababababababababababababababab", false},
        {"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$", "a.b-c.example.com", true},
        {"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$", "a.-b", false},
        {"^a**$", "b", true},          {"^a{2}{3}$", "b", true},       {"[\0]", "b", true},           {"[^\0]", "b", true},
        {"a**", "b", true},            {"^*", "b", true},              {"(", "b", true},              {")", "b", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (schema_pattern_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

static const char *repeated(struct buf *out, const char *begin, const char *part, int n, const char *end)
{
    buf_clear(out);
    buf_text(out, begin);
    for (int i = 0; i < n; i++)
        buf_text(out, part);
    buf_text(out, end);
    return out->data;
}

/* What would end the program or keep it for minutes counts as a match. */
static void patterns_beyond_all_means(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf pattern = {0}, text = {0};
    assert_true(schema_pattern_matches(repeated(&pattern, "^a", "+", 1000000, ""), "b"));
    assert_true(schema_pattern_matches(repeated(&pattern, "", "a|", 300000, "c"), "b"));
    assert_true(schema_pattern_matches("^((((){1000}){1000}){1000}){1000}$", "b"));
    /* A program of nothing but places, all of which are looked at for each character. */
    assert_true(schema_pattern_matches("((^?){100}){60}x", repeated(&text, "", "a", 20000, "")));
    assert_false(schema_pattern_matches("((^?){100}){60}x", "a"));
}

/* A random pattern of what RE2 and POSIX write alike. */
static void pattern_make(struct buf *out, struct random *random, int depth)
{
    static const char *const atoms[] = {"a", "b", ".", "[ab]", "[^a]", "[a-c]", "c"}, *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}"};
    for (uint64_t n = random_below(random, 4) + 1; n; n--) {
        uint64_t what = random_below(random, 10);
        if (what < 3 && depth) {
            buf_char(out, '(');
            pattern_make(out, random, depth - 1);
            buf_char(out, ')');
        } else {
            buf_text(out, atoms[random_below(random, sizeof atoms / sizeof *atoms)]);
        }
        buf_text(out, repeats[random_below(random, sizeof repeats / sizeof *repeats)]);
        if (what == 9 && n > 1)
            buf_char(out, '|');
    }
}

static void patterns_as_the_c_library(void **state)
{
    (void)state;
    struct random random = {.state = 11};
    int matched = 0, cases = 3000;
    for (int i = 0; i < cases; i++) {
        _cleanup_buf_ struct buf pattern = {0}, text = {0};
        regex_t compiled;
        buf_text(&pattern, random_below(&random, 2) ? "^(" : "(");
        pattern_make(&pattern, &random, 2);
        buf_text(&pattern, random_below(&random, 2) ? ")$" : ")");
        for (uint64_t n = random_below(&random, 9); n; n--)
            buf_char(&text, "abcd"[random_below(&random, 4)]);
        buf_char(&pattern, 0);
        buf_char(&text, 0);
        assert_int_equal(regcomp(&compiled, pattern.data, REG_EXTENDED | REG_NOSUB), 0);
        bool wanted = regexec(&compiled, text.data, 0, NULL, 0) == 0;
        regfree(&compiled);
        matched += wanted;
        if (schema_pattern_matches(pattern.data, text.data) != wanted)
            fail_msg("%s on %s: wanted %d", pattern.data, text.data, wanted);
    }
    assert_in_range(matched, cases / 10, cases * 9 / 10); /* both answers come up */
}

/* As a program stored it that did not look at it yet. */
static void stored_as(struct api *api, const char *plural, const char *name, const char *is, const char *becomes)
{
    struct store *store = api->server->store;
    uint32_t kind = store_kind(store, "kueue.x-k8s.io", plural);
    const struct store_object *o = store_get(store, kind, "", name);
    struct blob *body = blob_new(o->body->data, o->body->n);
    char *at = memmem(body->data, body->n, is, strlen(is));
    assert_non_null(at);
    assert_int_equal(strlen(is), strlen(becomes));
    memcpy(at, becomes, strlen(becomes));
    assert_int_equal(store_update(store, kind, "", name, 0, store_next_rv(store), body, NULL), 0);
    blob_unref(body);
}

/* Rules come after objects: what does not change is not judged anew, and nobody waits for ever for the end of what is wrong. */
static void what_was_stored_before_its_rules(void **state)
{
    struct api *api = *state;
#define QUEUE "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q"
    assert_int_equal(define(api, "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}", ""),
                     201);
    assert_int_equal(widget(api, "w", "{\"word\":\"A b\",\"n\":1}"), 201);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "json",
                               "[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/word/pattern\","
                               "\"value\":\"^[a-z]+$\"}]"),
                     200);
    assert_int_equal(api_patch(api, WIDGETS "/w", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"n\":2}}"), 200);
    assert_int_equal(api_patch(api, WIDGETS "/w", "merge", "{\"spec\":{\"word\":\"C d\"}}"), 422);
    assert_int_equal(api_patch(api, WIDGETS "/w", "merge", "{\"spec\":{\"word\":\"c\"}}"), 200);
    assert_int_equal(api_patch(api, WIDGETS "/w", "merge", "{\"spec\":{\"word\":\"A b\"}}"), 422);
    assert_int_equal(api_post(api, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", "{\"metadata\":{\"name\":\"q\",\"finalizers\":[\"a.io/b\"]},"
                                                                                "\"spec\":{\"cohortName\":\"good\",\"queueingStrategy\":\"StrictFIFO\"}}"),
                     201);
    stored_as(api, "clusterqueues", "q", "good", "Bad_");
    assert_int_equal(api_patch(api, QUEUE, "merge", "{\"spec\":{\"stopPolicy\":\"Hold\"}}"), 200);
    assert_int_equal(api_patch(api, QUEUE "/status", "merge", "{\"status\":{\"pendingWorkloads\":3}}"), 200);
    assert_int_equal(api_patch(api, QUEUE, "merge", "{\"spec\":{\"stopPolicy\":\"Never\"}}"), 422);
    assert_string_equal(api_text(api, "details.causes.0.field"), "spec.stopPolicy");
    assert_string_equal(api_text(api, "details.causes.1.field"), "");
    assert_int_equal(api_patch(api, QUEUE, "merge", "{\"spec\":{\"cohortName\":\"Bad_2\"}}"), 422);
    assert_int_equal(api_delete(api, QUEUE, NULL), 200);
    assert_int_equal(api_patch(api, QUEUE, "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(api_get(api, QUEUE), 404);
}

/* A definition waits for objects that somebody holds, over a restart too; those that nobody holds go with it at once. */
static void finalizers_hold_the_definition(void **state)
{
    char dir[64];
    struct api *api = &(struct api){0};
    folder_make(dir, sizeof dir, "custom");
    api_open(api, dir);
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(widget(api, "free", "{}"), 201);
    assert_int_equal(widget(api, "held", "{}"), 201);
    assert_int_equal(api_patch(api, WIDGETS "/held", "merge", "{\"metadata\":{\"finalizers\":[\"test.io/wait\"]}}"), 200);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 200);
    assert_string_equal(api_text(api, "metadata.finalizers.0"), "customresourcecleanup.apiextensions.k8s.io");
    assert_string_equal(api_text(api, "status.conditions.2.type"), "Terminating");
    assert_int_equal(api_get(api, WIDGETS "/free"), 404);
    assert_int_equal(api_get(api, WIDGETS "/held"), 200);
    assert_string_not_equal(api_text(api, "metadata.deletionTimestamp"), "");
    assert_int_equal(widget(api, "late", "{}"), 405);
    assert_int_equal(api_patch(api, WIDGETS "/late?fieldManager=me", "apply", "{\"apiVersion\":\"test.io/v1\",\"kind\":\"Widget\"}"), 405);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    api_close(api);

    api_open(api, dir);
    api_run(api, 3000);
    assert_int_equal(widget(api, "late", "{}"), 405);
    assert_int_equal(api_patch(api, WIDGETS "/held", "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 404);
    assert_int_equal(api_get(api, WIDGETS), 404);
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(widget(api, "late", "{}"), 201);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 404);
    api_close(api);
    folder_remove(dir);
}

/* A definition that somebody holds takes its objects along only when it goes, and lets none be made meanwhile. */
static void held_definitions_wait_for_both(void **state)
{
    struct api *api = *state;
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"finalizers\":[\"test.io/wait\"]}}"), 200);
    assert_int_equal(widget(api, "a", "{}"), 201);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 200);
    assert_string_equal(api_text(api, "metadata.finalizers.0"), "test.io/wait");
    assert_int_equal(api_get(api, WIDGETS "/a"), 404);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 404);
}

/* It is judged as any other when it changes: the next start has to read it. */
static void leaving_definitions_stay_what_they_are(void **state)
{
    struct api *api = *state;
    assert_int_equal(define(api, SPEC_EMPTY, ""), 201);
    assert_int_equal(api_post(api, CRDS,
                              "{\"metadata\":{\"name\":\"gadgets.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":"
                              "\"gadgets\",\"kind\":\"Gadget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":"
                              "{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
                     201);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"finalizers\":[\"test.io/wait\"]}}"), 200);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"spec\":{\"names\":{\"plural\":\"others\"}}}"), 422);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"spec\":{\"names\":{\"kind\":\"Gadget\"}}}"), 422);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io", "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io"), 404);
}

/* Of a kind that is there without it: whatever finalizers it came with, the objects are not its own. */
static void copies_of_built_in_kinds_take_nothing_along(void **state)
{
    static const char flavors[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";
    struct api *api = *state;
    assert_int_equal(api_post(api, CRDS,
                              "{\"metadata\":{\"name\":\"resourceflavors.kueue.x-k8s.io\",\"finalizers\":[\"customresourcecleanup.apiextensions.k8s.io\"]},"
                              "\"spec\":{\"group\":\"kueue.x-k8s.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"resourceflavors\",\"kind\":"
                              "\"ResourceFlavor\"},\"versions\":[{\"name\":\"v1beta2\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":"
                              "{\"type\":\"object\"}}}]}}"),
                     201);
    assert_int_equal(api_post(api, flavors, "{\"metadata\":{\"name\":\"stays\"}}"), 201);
    assert_int_equal(api_delete(api, CRDS "/resourceflavors.kueue.x-k8s.io", NULL), 200);
    api_run(api, 2000);
    assert_int_equal(api_get(api, CRDS "/resourceflavors.kueue.x-k8s.io"), 404);
    assert_int_equal(api_get(api, arena_printf(api->arena, "%s/stays", flavors)), 200);
    assert_string_equal(api_text(api, "metadata.deletionTimestamp"), "");
}

static void rules_are_told_of(void **state)
{
    struct api *api = *state;
    assert_int_equal(define(api, "{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"self.a\"}],\"properties\":{\"a\":{\"type\":\"boolean\"}}}", ""), 201);
    assert_non_null(strstr(api->warnings, "x-kubernetes-validations: rules (CEL) are stored but not evaluated"));
    /* Kueue's kinds have theirs in the program, others that are built in have not. */
    static const struct {
        const char *group, *plural, *kind;
        bool warns;
    } kinds[] = {{"kueue.x-k8s.io", "clusterqueues", "ClusterQueue", false}, {"topology.volcano.sh", "hypernodes", "HyperNode", true}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(api_post(api, CRDS, arena_printf(api->arena,
            "{\"metadata\":{\"name\":\"%s.%s\",\"annotations\":{\"api-approved.kubernetes.io\":\"x\"}},\"spec\":{\"group\":\"%s\","
            "\"scope\":\"Cluster\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"v1beta2\",\"served\":true,\"storage\":true,"
            "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\"}]}}}]}}",
            kinds[i].plural, kinds[i].group, kinds[i].group, kinds[i].plural, kinds[i].kind)), 201);
        assert_int_equal(strstr(api->warnings, "not evaluated") != NULL, kinds[i].warns);
    }
}

#define POLICY "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"capstan.dev/kinds-of\":\"%s\"}},\"spec\":{\"matchConstraints\":{\"resourceRules\":[" \
               "{\"apiGroups\":[\"%s\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":[\"*\"]}]},\"validations\":[{\"expression\":\"true\"}]}}"

/* Those of deploy/kueue-rules.yaml say what the program knows. */
static void policies_are_told_of(void **state)
{
    static const char policies[] = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    static const struct {
        const char *name, *label, *group;
        bool warns;
    } cases[] = {{"a", "kueue", "kueue.x-k8s.io", false}, {"b", "mine", "kueue.x-k8s.io", true}, {"c", "kueue", "", true}};
    struct api *api = *state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(api_post(api, policies, arena_printf(api->arena, POLICY, cases[i].name, cases[i].label, cases[i].group)), 201);
        assert_int_equal(strstr(api->warnings, "not evaluated") != NULL, cases[i].warns);
    }
}

static void fields_are_selected_by(void **state)
{
    struct api *api = *state;
    assert_int_equal(define(api, "{\"type\":\"object\",\"properties\":{\"color\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}",
                            ",\"selectableFields\":[{\"jsonPath\":\".spec.color\"},{\"jsonPath\":\".spec.n\"}]"),
                     201);
    assert_int_equal(widget(api, "a", "{\"color\":\"red\",\"n\":1}"), 201);
    assert_int_equal(widget(api, "b", "{\"color\":\"blue\",\"n\":1}"), 201);
    assert_int_equal(api_get(api, WIDGETS "?fieldSelector=spec.color=red"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 1);
    assert_string_equal(api_text(api, "items.0.metadata.name"), "a");
    assert_int_equal(api_get(api, WIDGETS "?fieldSelector=spec.n=1,spec.color!=red"), 200);
    assert_string_equal(api_text(api, "items.0.metadata.name"), "b");
    assert_int_equal(api_get(api, WIDGETS "?fieldSelector=spec.size=1"), 400);
    struct api_watch *w = api_watch_open(api, WIDGETS "?watch=true&fieldSelector=spec.color=blue");
    assert_int_equal(strncmp(api_watch_next(w), "ADDED b", 7), 0);
    assert_int_equal(api_patch(api, WIDGETS "/b", "merge", "{\"spec\":{\"color\":\"red\"}}"), 200);
    assert_int_equal(strncmp(api_watch_next(w), "DELETED b", 9), 0);
    api_watch_close(w);
    assert_int_equal(api_delete(api, CRDS "/widgets.test.io", NULL), 200);
    assert_int_equal(define(api, "{\"type\":\"object\"}", ",\"selectableFields\":[{\"jsonPath\":\".spec.a[0]\"}]"), 422);
}

static void definitions_have_a_status(void **state)
{
    struct api *api = *state;
    assert_int_equal(define(api, "{\"type\":\"object\"}", ""), 201);
    assert_int_equal(api_patch(api, CRDS "/widgets.test.io/status", "merge",
                               "{\"status\":{\"conditions\":[{\"type\":\"Mine\",\"status\":\"True\",\"reason\":\"r\",\"message\":\"m\"}]}}"),
                     200);
    assert_int_equal(api_get(api, CRDS "/widgets.test.io/status"), 200);
    assert_string_equal(api_text(api, "status.conditions.0.type"), "Mine");
    assert_int_equal(api_put(api, CRDS "/widgets.test.io/status",
                             "{\"metadata\":{\"name\":\"widgets.test.io\"},\"spec\":{\"group\":\"other\"},\"status\":{\"storedVersions\":[\"v1\"],"
                             "\"conditions\":[{\"type\":\"Put\",\"status\":\"False\"}]}}"),
                     200);
    assert_string_equal(api_text(api, "status.conditions.0.type"), "Put");
    assert_string_equal(api_text(api, "spec.group"), "test.io");
    assert_int_equal(api_get(api, WIDGETS), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_what_is_stored),
        cmocka_unit_test(finalizers_hold_the_definition),
        WITH_API(leaving_definitions_stay_what_they_are),
        WITH_API(copies_of_built_in_kinds_take_nothing_along),
        WITH_API(held_definitions_wait_for_both),
        WITH_API(bodies_of_an_older_storage_version),
        WITH_API(rules_are_of_kinds_that_exist),
        WITH_API(defaults_come_on_read),
        WITH_API(values_are_checked),
        WITH_API(what_was_stored_before_its_rules),
        cmocka_unit_test(patterns_of_re2),
        cmocka_unit_test(patterns_beyond_all_means),
        cmocka_unit_test(patterns_as_the_c_library),
        WITH_API(rules_are_told_of),
        WITH_API(policies_are_told_of),
        WITH_API(fields_are_selected_by),
        WITH_API(definitions_have_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
