/* List and watch against a scripted server. */
#include "kube/watch.h"
#include "script.h"

struct teller {
    struct buf told;
    struct kube_watch *free_me;
};

static void on_event(void *arg, enum kube_event event, struct bytes object)
{
    struct teller *t = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *o = json_parse(a, object, NULL, NULL);
    const struct json *meta = json_get(o, "metadata");
    assert_non_null(meta);
    buf_printf(&t->told, "%c%s ", "AMD"[event], json_get_text(meta, "name", "?"));
    if (t->free_me) {
        kube_watch_free(t->free_me);
        t->free_me = NULL;
    }
}

static void on_synced(void *arg)
{
    struct teller *t = arg;
    buf_text(&t->told, "S ");
}

static void on_full(void *arg)
{
    struct teller *t = arg;
    buf_text(&t->told, "F ");
}

static void on_denied(void *arg)
{
    struct teller *t = arg;
    buf_text(&t->told, "! ");
}

static struct kube_watch *start(struct script *s, struct teller *t, bool optional)
{
    struct kube_watch_config config = {.path = "/api/v1/pods",
                                       .label_selector = "a=b",
                                       .objects_max = 4,
                                       .optional = optional,
                                       .on_event = on_event,
                                       .on_synced = on_synced,
                                       .on_full = on_full,
                                       .arg = t};
    return kube_watch_new(s->c, &config);
}

#define OBJECT(name, uid, rv)                                                                                          \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}}"
#define LIST(rv, cont, items)                                                                                          \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" cont "\"},\"items\":[" items  \
    "]}"
#define LINE(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

static void check(struct teller *t, const char *want)
{
    assert_string_equal(t->told.data ? t->told.data : "", want);
    buf_clear(&t->told);
    buf_text(&t->told, "");
}

static void test_pages_then_events(void **state)
{
    static const struct step steps[] = {
        {"GET /api/v1/pods?limit=500&labelSelector=a=b& ", 200,
         LIST("5", "next", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "2"))},
        {"continue=next&", 200, LIST("5", "", OBJECT("z", "u3", "3"))},
        {"watch=true&allowWatchBookmarks=true&timeoutSeconds=", 0, LINE("ADDED", OBJECT("w", "u4", "6"))},
        {"resourceVersion=30&", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    assert_false(kube_watch_synced(w));
    loop_run_for(s.l, 100, NULL);
    check(&t, "Ax Ay Az S Aw ");
    assert_true(kube_watch_synced(w));
    assert_non_null(strstr(s.last, "resourceVersion=5&"));
    script_feed(&s, LINE("MODIFIED", OBJECT("x", "u1", "7")) LINE("MODIFIED", OBJECT("x", "u1", "7")));
    loop_run_for(s.l, 10, NULL);
    check(&t, "Mx "); /* the repeat is dropped */
    script_feed(&s, LINE("DELETED", OBJECT("y", "u2", "8")) LINE("DELETED", OBJECT("y", "u2", "8")));
    script_feed(&s, LINE("MODIFIED", OBJECT("new", "u9", "9"))); /* never seen: it is added */
    script_feed(&s, LINE("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"30\"}}"));
    loop_run_for(s.l, 10, NULL);
    check(&t, "Dy Anew ");
    loop_run_for(s.l, 1000, NULL);
    script_end_stream(&s);
    loop_run_for(s.l, 10, NULL);
    assert_int_equal(s.at, 4); /* again from the bookmark, at once */
    kube_watch_free(w);
    assert_int_equal(s.closed_n, 2);
    script_fini(&s);
    buf_free(&t.told);
}

/* A kube-apiserver takes annotations with a NUL: an object with one is told as others are, and can be read (on_event). */
static void test_nul_in_an_annotation(void **state)
{
#define NOTED(name, rv) \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u" name "\",\"resourceVersion\":\"" rv "\",\"annotations\":{\"a\":\"x\\u0000\"}}}"
    static const struct step steps[] = {{"limit=500&", 200, LIST("5", "", NOTED("x", "1") "," OBJECT("y", "u2", "2"))},
                                        {"watch=true&", 0, LINE("ADDED", NOTED("z", "6"))},
                                        {0}};
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Ax Ay S Az ");
    script_feed(&s, LINE("MODIFIED", NOTED("x", "7")));
    loop_run_for(s.l, 10, NULL);
    check(&t, "Mx ");
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_gone_lists_again_and_tells_what_vanished(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "2") "," OBJECT("z", "u3", "3"))},
        {"watch=true", 0, LINE("ERROR", "{\"kind\":\"Status\",\"code\":410}")},
        {"limit=500", 200,
         LIST("50", "", OBJECT("x", "u1", "1") "," OBJECT("y", "u2b", "40"))}, /* z deleted, y made again */
        {"resourceVersion=50", 410, "{}"},
        {"limit=500", 200, LIST("60", "", OBJECT("x", "u1", "55"))},
        {"resourceVersion=60", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Ax Ay Az S Dy Ay Dz S Mx Dy S ");
    assert_int_equal(s.at, 6);
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_expired_page_starts_over(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200, LIST("5", "next", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "2"))},
        {"continue=next", 410, "{}"},
        {"limit=500&labelSelector=a=b& ", 200, LIST("9", "", OBJECT("x", "u1", "1"))},
        {"resourceVersion=9", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Ax Ay Dy S ");
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_errors_back_off_and_recover(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 500, "{}"},
        {"limit=500", 200, "this is not JSON"},
        {"limit=500", 200, "{\"items\":[" OBJECT("x", "u1", "1")}, /* cut */
        {"limit=500", 200, LIST("", "", "")},                      /* no resourceVersion */
        {"limit=500", 429, "{}", "7"},
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1"))},
        {"watch=true", 0, "{\"type\":\"ADDED\"}"},
        {"resourceVersion=5", 0, "][ "},
        {"resourceVersion=5", 0, LINE("ADDED", OBJECT("x", "u1", "1"))},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 50, NULL);
    assert_int_equal(s.at, 1); /* waits before it tries again */
    loop_run_for(s.l, 6000, NULL);
    assert_int_equal(s.at, 5);
    loop_run_for(s.l, 30000, NULL);
    assert_int_equal(s.at, 9);
    assert_int_equal(s.unexpected_n, 0);
    check(&t, "Ax S ");
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_optional_kind_appears_later(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 404, "{}"},
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1"))},
        {"watch=true", 0, NULL},
        {"resourceVersion=5", 404, "{}"}, /* the kind was removed */
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, true);
    loop_run_for(s.l, 100, NULL);
    check(&t, "S ");
    assert_true(kube_watch_synced(w));
    loop_run_for(s.l, 31000, NULL);
    check(&t, "Ax S ");
    script_end_stream(&s);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Dx S ");
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

/* The kind is served in other versions: the first of them that is there, and again the first when that one is gone. */
static void test_older_paths_are_tried_in_turn(void **state)
{
    static const char *const older[] = {"/older", "/oldest", NULL};
    static const struct step steps[] = {
        {"GET /newest?limit=500", 404, "{}"},
        {"GET /older?limit=500", 404, "{}"},
        {"GET /oldest?limit=500", 404, "{}"},
        /* 30 s: none of them; then one is */
        {"GET /newest?limit=500", 404, "{}"},
        {"GET /older?limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "2"))},
        {"GET /older?watch=true", 404, "{}"}, /* the server is a newer one now */
        {"GET /newest?limit=500", 200, LIST("6", "", OBJECT("x", "u1", "1"))},
        {"GET /newest?watch=true", 404, "{}"}, /* and an older one: this path is asked once more, and all after it */
        {"GET /newest?limit=500", 404, "{}"},
        {"GET /older?limit=500", 404, "{}"},
        {"GET /oldest?limit=500", 200, LIST("7", "", "")},
        {"GET /oldest?watch=true", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = kube_watch_new(s.c, &(struct kube_watch_config){.path = "/newest",
                                                                          .older_paths = older,
                                                                          .optional = true,
                                                                          .on_event = on_event,
                                                                          .on_synced = on_synced,
                                                                          .arg = &t});
    assert_string_equal(kube_watch_path(w), "/newest");
    loop_run_for(s.l, 1000, NULL);
    assert_int_equal(s.at, 3);
    check(&t, "S "); /* none is there: that is known, and once */
    loop_run_for(s.l, 30000, NULL);
    check(&t, "Ax Ay S Mx Dy S Dx S "); /* what has another form now is told again, though its resourceVersion is the same */
    assert_string_equal(kube_watch_path(w), "/oldest");
    assert_int_equal(s.at, 12);
    kube_watch_free(w);
    buf_free(&t.told);
    script_fini(&s);
}

/* A role with list and without watch: it lists now and then, and complains once. */
static void test_what_may_be_listed_and_not_watched_is_told_once(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1"))},
        {"watch=true", 403, "{}"},
        {"limit=500", 200, LIST("6", "", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "6"))},
        {"watch=true", 403, "{}"},
        {"limit=500", 200, LIST("7", "", OBJECT("y", "u2", "6"))},
        {"watch=true", 0, NULL}, /* the role is mended */
        {"watch=true", 403, "{}"},
        {"limit=500", 403, "{}"},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch_config config = {.path = "/api/v1/pods", .on_event = on_event, .on_synced = on_synced, .on_denied = on_denied,
                                       .arg = &t};
    struct kube_watch *w = kube_watch_new(s.c, &config);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Ax S ! ");
    loop_run_for(s.l, 31000, NULL);
    check(&t, "Ay S ");
    loop_run_for(s.l, 31000, NULL);
    check(&t, "Dx S ");
    loop_run_for(s.l, 10000, NULL);
    script_end_stream(&s);
    loop_run_for(s.l, 61000, NULL);
    check(&t, "! "); /* and is taken away again: that is news */
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void on_forbidden(void *arg, const char *path, const char *why)
{
    struct teller *t = arg;
    buf_printf(&t->told, "%s %s ", path, why);
}

/* Nothing goes on without it: whoever runs this is told why, once for each time. */
static void test_what_is_needed_and_may_not_be_read_is_told_of(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 403, "{\"kind\":\"Status\",\"message\":\"no role\"}"},
        {"limit=500", 403, "{\"kind\":\"Status\",\"message\":\"no role\"}"},
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1"))},
        {"watch=true", 0, NULL},
        {"watch=true", 403, "no JSON"},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    kube_client_on_forbidden(s.c, on_forbidden, &t);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 60000, NULL);
    check(&t, "/api/v1/pods no role Ax S ");
    script_end_stream(&s);
    loop_run_for(s.l, 10000, NULL);
    check(&t, "/api/v1/pods 403 Forbidden ");
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_freed_in_callback(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200, LIST("5", "", OBJECT("x", "u1", "1") "," OBJECT("y", "u2", "2"))},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    t.free_me = start(&s, &t, false);
    loop_run_for(s.l, 1000, NULL);
    check(&t, "Ax ");
    assert_int_equal(http_client_in_flight(kube_client_http(s.c)), 0);
    kube_watch_free(NULL);
    struct kube_watch *unstarted = start(&s, &t, false);
    kube_watch_free(unstarted);
    script_fini(&s);
    buf_free(&t.told);
}

static void test_silent_stream_is_left(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200, LIST("5", "", "")},
        {"watch=true", 0, NULL},
        {"resourceVersion=5", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 700 * 1000, NULL); /* longer than any timeoutSeconds with its grace */
    assert_true(s.at == 3);
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

/* Drops, refusals and slow answers from one seed: the story stays consistent and complete. */
static void test_faults_do_not_break_the_story(void **state)
{
    enum { N = 200 };
    struct step *steps = mem_zero(N + 1, sizeof *steps);
    for (int i = 0; i < N; i++)
        steps[i] = (struct step){"GET", 200, LIST("5", "", OBJECT("x", "u1", "1"))};
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    s.faults = (struct http_faults){.latency_ms_max = 20,
                                    .refuse_permille = 300,
                                    .lose_answer_permille = 300,
                                    .status_429_permille = 100,
                                    .status_500_permille = 200,
                                    .slow_permille = 50};
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 60 * 1000, NULL);
    assert_true(kube_watch_synced(w));
    assert_true(text_starts(t.told.data, "Ax S "));
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
    free(steps);
}

/* Pages without end, and events of what was left out. */
static void test_keeps_no_more_than_its_limit(void **state)
{
    static const struct step steps[] = {
        {"GET", 200, LIST("5", "next", OBJECT("a", "u1", "1") "," OBJECT("b", "u2", "2") "," OBJECT("c", "u3", "3"))},
        {"continue=next&", 200, LIST("5", "more", OBJECT("d", "u4", "4") "," OBJECT("e", "u5", "4") "," OBJECT("a", "u1", "1"))},
        {"continue=more&", 200, LIST("5", "", OBJECT("f", "u6", "5"))},
        {"watch=true", 0, LINE("MODIFIED", OBJECT("f", "u6", "6")) LINE("MODIFIED", OBJECT("b", "u2", "7"))},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Aa Ab Ac Ad F S Mb ");
    assert_true(kube_watch_synced(w));
    script_feed(&s, LINE("DELETED", OBJECT("e", "u5", "8")) LINE("DELETED", OBJECT("a", "u1", "9")));
    script_feed(&s, LINE("MODIFIED", OBJECT("f", "u6", "10")) LINE("ADDED", OBJECT("g", "u7", "11")));
    loop_run_for(s.l, 10, NULL);
    check(&t, "Da Af "); /* there was room for one; said once that there is none */
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

/* What is gone has no place in the limit, though the list tells of that only at its end. */
static void test_lists_again_when_the_vanished_have_made_room(void **state)
{
    static const struct step steps[] = {
        {"GET", 200, LIST("5", "", OBJECT("a", "u1", "1") "," OBJECT("b", "u2", "2") "," OBJECT("c", "u3", "3"))},
        {"watch=true", 0, LINE("ERROR", "{\"kind\":\"Status\",\"code\":410}")},
        {"limit=500", 200, LIST("50", "next", OBJECT("d", "u4", "40") "," OBJECT("e", "u5", "41"))},
        {"continue=next&", 200, LIST("50", "", OBJECT("c", "u3", "3"))},
        {"limit=500&labelSelector=a=b& ", 200,
         LIST("51", "", OBJECT("d", "u4", "40") "," OBJECT("e", "u5", "41") "," OBJECT("c", "u3", "3"))},
        {"resourceVersion=51", 410, "{}"},
        /* others each time: not for ever */
        {"limit=500", 200, LIST("60", "", OBJECT("f", "u6", "52") "," OBJECT("g", "u7", "53"))},
        {"limit=500", 200,
         LIST("61", "", OBJECT("h", "u8", "54") "," OBJECT("i", "u9", "55") "," OBJECT("j", "u10", "56") "," OBJECT("k", "u11", "57"))},
        {"resourceVersion=61", 410, "{}"},
        {"limit=500", 200, LIST("70", "", OBJECT("l", "u12", "62") "," OBJECT("m", "u13", "63"))},
        {"limit=500", 200, LIST("71", "", OBJECT("l", "u12", "62") "," OBJECT("m", "u13", "63"))},
        {"resourceVersion=71", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_watch *w = start(&s, &t, false);
    loop_run_for(s.l, 100, NULL);
    check(&t, "Aa Ab Ac S Ad F Da Db Ae S Af Dc Dd De Ah Ai Aj Df S Al Dh Di Dj Am S ");
    assert_int_equal(s.at, 12);
    kube_watch_free(w);
    script_fini(&s);
    buf_free(&t.told);
}

/* ---- the server is in this process ---- */

struct inside {
    struct http_event events[8];
    int at, n;
    struct http_exchange *x;
};

static int inside_pull(void *arg, struct http_event *ret_event)
{
    struct inside *v = arg;
    if (v->at == v->n)
        return 0;
    *ret_event = v->events[v->at++];
    return 1;
}

static void inside_closed(void *arg)
{
    ((struct inside *)arg)->x = NULL;
}

static void inside_handler(void *ctx, struct http_exchange *x)
{
    struct inside *v = ctx;
    assert_true(x->request.is_inside);
    if (!http_query(&x->request, "watch")) {
        http_reply_text(x, 200, "application/json", LIST("5", "", OBJECT("x", "u1", "1")));
        return;
    }
    v->x = x;
    http_stream_events(x, 200, "application/json", inside_pull, inside_closed, v);
}

/* Key and version are the event's; a uid is read with what is new, and kept. */
static void test_events_say_whose_they_are(void **state)
{
    static const char bare[] = "{\"metadata\":{\"name\":\"x\"}}";
    struct inside v = {.events = {{"MODIFIED", BYTES(bare), NULL, "n", "x", 6},
                                  {"MODIFIED", BYTES(bare), NULL, "n", "x", 6}, /* a repeat */
                                  {"ADDED", BYTES(OBJECT("y", "u2", "7")), NULL, "n", "y", 7},
                                  {"DELETED", BYTES(bare), NULL, "n", "x", 8},
                                  {"ADDED", BYTES(OBJECT("x", "u3", "9")), NULL, "n", "x", 9},
                                  {"MODIFIED", BYTES(OBJECT("z", "u4", "10"))}, /* says nothing */
                                  {"BOOKMARK", BYTES("{\"metadata\":{\"resourceVersion\":\"30\"}}")}}};
    struct teller t = {0};
    struct loop *l = loop_new_virtual(1767225600000);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, inside_handler, &v, NULL, 0));
    struct kube_watch_config config = {.path = "/api/v1/pods", .on_event = on_event, .on_synced = on_synced, .arg = &t};
    struct kube_watch *w = kube_watch_new(c, &config);
    loop_run_for(l, 100, NULL);
    check(&t, "Ax S ");
    v.n = 1;
    http_stream_wake(v.x);
    loop_run_for(l, 10, NULL);
    check(&t, "Mx ");
    assert_true(kube_watch_knows(w, BYTES("n/x"), "u1"));
    v.n = 7;
    http_stream_wake(v.x);
    loop_run_for(l, 10, NULL);
    check(&t, "Ay Dx Ax Az ");
    assert_true(kube_watch_knows(w, BYTES("n/x"), "u3") && !kube_watch_knows(w, BYTES("n/x"), "u1"));
    assert_true(kube_watch_knows(w, BYTES("n/y"), "u2") && kube_watch_knows(w, BYTES("n/z"), "u4"));
    kube_watch_free(w);
    kube_client_free(c);
    assert_null(v.x);
    loop_free(l);
    buf_free(&t.told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_then_events), cmocka_unit_test(test_nul_in_an_annotation),
        cmocka_unit_test(test_gone_lists_again_and_tells_what_vanished),
        cmocka_unit_test(test_expired_page_starts_over),
        cmocka_unit_test(test_errors_back_off_and_recover),
        cmocka_unit_test(test_optional_kind_appears_later),
        cmocka_unit_test(test_older_paths_are_tried_in_turn),
        cmocka_unit_test(test_what_may_be_listed_and_not_watched_is_told_once),
        cmocka_unit_test(test_what_is_needed_and_may_not_be_read_is_told_of),
        cmocka_unit_test(test_events_say_whose_they_are),
        cmocka_unit_test(test_freed_in_callback),
        cmocka_unit_test(test_silent_stream_is_left),
        cmocka_unit_test(test_faults_do_not_break_the_story),
        cmocka_unit_test(test_keeps_no_more_than_its_limit),
        cmocka_unit_test(test_lists_again_when_the_vanished_have_made_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
