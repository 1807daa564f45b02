/* Leader election: two candidates, one server, virtual time. */
#include "kube/lease.h"
#include "script.h"

struct server { /* holds one Lease and checks resourceVersion as a real one does */
    struct buf record;
    int64_t rv;
    bool is_down, is_deaf; /* deaf: requests are taken and never answered */
    int reads_n, writes_n;
    struct http_exchange *held[16];
    int held_n;
};

static void handler(void *ctx, struct http_exchange *x)
{
    struct server *s = ctx;
    const struct http_request *r = &x->request;
    struct json *sent = r->body.n ? json_parse(r->arena, r->body, NULL, NULL) : NULL;
    s->reads_n += !r->body.n;
    s->writes_n += r->body.n > 0;
    if (s->is_deaf) {
        s->held[s->held_n++] = x;
        return;
    }
    if (s->is_down) {
        http_reply_text(x, 500, "application/json", "{}");
        return;
    }
    if (strcmp(r->method, "GET") == 0) {
        http_reply_text(x, s->rv ? 200 : 404, "application/json", s->rv ? s->record.data : "{}");
        return;
    }
    const char *rv = json_text(json_path(sent, "metadata", "resourceVersion", NULL), "0");
    bool is_post = strcmp(r->method, "POST") == 0;
    if ((is_post && s->rv) || (!is_post && atoll(rv) != s->rv)) {
        http_reply_text(x, 409, "application/json", "{\"reason\":\"Conflict\"}");
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)++s->rv);
    json_set_text(r->arena, json_get(sent, "metadata"), "resourceVersion", text);
    buf_clear(&s->record);
    json_write(&s->record, sent);
    http_reply_text(x, 200, "application/json", s->record.data);
}

static void json_write_rv(struct server *s)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *lease = json_parse(a, buf_view(&s->record), NULL, NULL);
    json_set_text(a, json_get(lease, "metadata"), "resourceVersion", arena_printf(a, "%lld", (long long)s->rv));
    buf_clear(&s->record);
    json_write(&s->record, lease);
}

struct candidate {
    struct kube_client *c;
    struct kube_lease *lease;
    struct http_faults faults;
    int leading_n, lost_n, trouble_n;
};

static void on_leading(void *arg)
{
    ((struct candidate *)arg)->leading_n++;
}

static void on_lost(void *arg)
{
    ((struct candidate *)arg)->lost_n++;
}

static void on_trouble(void *arg, const struct err *why)
{
    assert_true(why->text[0] != '\0');
    ((struct candidate *)arg)->trouble_n++;
}

static void candidate_init(struct candidate *k, struct loop *l, struct server *server, const char *identity,
                           uint64_t seed)
{
    *k = (struct candidate){.faults = {.latency_ms_max = 5}};
    k->c = kube_client_wrap(l, http_local_client_new(l, handler, server, &k->faults, seed));
    struct kube_lease_config config = {.ns = "kube-system",
                                       .name = "capstan",
                                       .identity = identity,
                                       .on_leading = on_leading,
                                       .on_lost = on_lost,
                                       .on_trouble = on_trouble,
                                       .arg = k};
    k->lease = kube_lease_new(k->c, &config);
}

static void candidate_fini(struct candidate *k)
{
    kube_lease_free(k->lease);
    kube_client_free(k->c);
}

static void test_one_of_two_leads_and_hands_over(void **state)
{
    struct server server = {0};
    struct candidate a, b;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    candidate_init(&b, l, &server, "b", 2);
    loop_run_for(l, 60 * 1000, NULL);
    assert_int_equal(a.leading_n + b.leading_n, 1);
    assert_int_equal(a.lost_n + b.lost_n, 0);
    struct candidate *leader = a.leading_n ? &a : &b, *other = a.leading_n ? &b : &a;
    assert_true(kube_lease_held(leader->lease));
    assert_false(kube_lease_held(other->lease));
    kube_lease_release(leader->lease);
    assert_false(kube_lease_held(leader->lease));
    assert_int_equal(leader->lost_n, 1);
    loop_run_for(l, 4 * 1000, NULL); /* no need to wait for the expiry */
    assert_true(kube_lease_held(other->lease));
    assert_non_null(strstr(server.record.data, "\"leaseTransitions\":1"));
    candidate_fini(&a);
    candidate_fini(&b);
    loop_free(l);
    buf_free(&server.record);
}

static void test_cut_off_leader_stops_before_the_other_starts(void **state)
{
    struct server server = {0};
    struct candidate a, b;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    loop_run_for(l, 5000, NULL);
    assert_true(kube_lease_held(a.lease));
    candidate_init(&b, l, &server, "b", 2);
    loop_run_for(l, 5000, NULL);
    a.faults.refuse_permille = 1000;
    int64_t lost_ms = 0, lead_ms = 0;
    for (int i = 0; i < 40; i++) {
        loop_run_for(l, 1000, NULL);
        assert_false(kube_lease_held(a.lease) && kube_lease_held(b.lease));
        lost_ms = a.lost_n && !lost_ms ? loop_now_ms(l) : lost_ms;
        lead_ms = b.leading_n && !lead_ms ? loop_now_ms(l) : lead_ms;
    }
    assert_true(lost_ms > 0 && lead_ms > lost_ms);
    assert_true(a.trouble_n > 0);
    assert_int_equal(b.trouble_n, 0);
    a.faults.refuse_permille = 0;
    loop_run_for(l, 30000, NULL);
    assert_false(kube_lease_held(a.lease));
    assert_int_equal(b.lost_n, 0);
    candidate_fini(&a);
    candidate_fini(&b);
    loop_free(l);
    buf_free(&server.record);
}

static void test_survives_a_short_outage(void **state)
{
    struct server server = {0};
    struct candidate a;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    loop_run_for(l, 5000, NULL);
    server.is_down = true;
    loop_run_for(l, 6000, NULL);
    server.is_down = false;
    loop_run_for(l, 30000, NULL);
    assert_int_equal(a.lost_n, 0);
    assert_int_equal(a.leading_n, 1);
    server.is_down = true;
    loop_run_for(l, 12000, NULL);
    assert_int_equal(a.lost_n, 1);
    server.is_down = false;
    loop_run_for(l, 12000, NULL);
    assert_int_equal(a.leading_n, 2); /* tries again */
    kube_lease_release(a.lease);
    candidate_fini(&a); /* at once: the hand-over was sent */
    loop_free(l);
    buf_free(&server.record);
}

/* Whoever holds it writes on top of its own last write: one request each time. */
static void test_renewals_are_one_request_each(void **state)
{
    struct server server = {0};
    struct candidate a;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    loop_run_for(l, 60 * 1000, NULL);
    assert_int_equal(server.reads_n, 1);
    assert_true(server.writes_n >= 25 && server.writes_n <= 31);
    server.rv++; /* somebody else has written: ours is refused, read and repeated at once */
    json_write_rv(&server);
    loop_run_for(l, 5000, NULL);
    assert_int_equal(server.reads_n, 2);
    assert_int_equal(a.lost_n, 0);
    candidate_fini(&a);
    loop_free(l);
    buf_free(&server.record);
}

/* A request that hangs is given up in time for another, and the deadline runs from the last renewal's start. */
static void test_a_server_that_hangs(void **state)
{
    struct server server = {0};
    struct candidate a;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    loop_run_for(l, 5000, NULL);
    uint64_t term = kube_lease_term(a.lease);
    server.is_deaf = true;
    loop_run_for(l, 7000, NULL);
    server.is_deaf = false;
    loop_run_for(l, 10000, NULL);
    assert_int_equal(a.lost_n, 0);
    server.is_deaf = true;
    int64_t since_ms = loop_now_ms(l);
    while (!a.lost_n)
        loop_run_for(l, 100, NULL);
    assert_true(loop_now_ms(l) - since_ms <= 10100);
    server.is_deaf = false;
    loop_run_for(l, 10000, NULL);
    assert_int_equal(a.leading_n, 2);
    assert_true(kube_lease_term(a.lease) == term); /* nobody else has led */
    candidate_fini(&a);
    while (server.held_n > 0)
        http_reply_text(server.held[--server.held_n], 200, "application/json", "{}"); /* to nobody: it frees them */
    loop_free(l);
    buf_free(&server.record);
}

static void test_term_tells_that_others_led(void **state)
{
    struct server server = {0};
    struct candidate a, b;
    struct loop *l = loop_new_virtual(1767225600000);
    candidate_init(&a, l, &server, "a", 1);
    loop_run_for(l, 5000, NULL);
    uint64_t term = kube_lease_term(a.lease);
    candidate_init(&b, l, &server, "b", 2);
    a.faults.refuse_permille = 1000;
    loop_run_for(l, 40000, NULL);
    assert_true(kube_lease_held(b.lease));
    kube_lease_release(b.lease); /* nobody holds it, and a has not seen that b did */
    loop_run_for(l, 1000, NULL);
    a.faults.refuse_permille = 0;
    loop_run_for(l, 5000, NULL);
    assert_int_equal(a.leading_n, 2);
    assert_true(kube_lease_term(a.lease) != term);
    candidate_fini(&a);
    candidate_fini(&b);
    loop_free(l);
    buf_free(&server.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_two_leads_and_hands_over),
        cmocka_unit_test(test_cut_off_leader_stops_before_the_other_starts),
        cmocka_unit_test(test_survives_a_short_outage),
        cmocka_unit_test(test_renewals_are_one_request_each),
        cmocka_unit_test(test_a_server_that_hangs),
        cmocka_unit_test(test_term_tells_that_others_led),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
