/* Leader election: two candidates, one server, virtual time. */
#include "kube/lease.h"
#include "script.h"

struct server { /* holds one Lease and checks resourceVersion as a real one does */
    struct buf record;
    int64_t rv;
    bool is_down;
};

static void handler(void *ctx, struct http_exchange *x)
{
    struct server *s = ctx;
    const struct http_request *r = &x->request;
    struct json *sent = r->body.n ? json_parse(r->arena, r->body, NULL, NULL) : NULL;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_two_leads_and_hands_over),
        cmocka_unit_test(test_cut_off_leader_stops_before_the_other_starts),
        cmocka_unit_test(test_survives_a_short_outage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
