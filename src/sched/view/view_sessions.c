/* view_sessions.c - who is on which device of one node: what its agent has written there, asked of the API server when somebody looks
 *
 *   {"at":ms,"period":ms,"more":n,"sessions":[{"unit","pid","command","pod","container","memory":MiB,"busy":%,"since":ms}...]}
 *
 * {} where no agent tells it. SOURCE exporter/push/session_note.h
 * WHY    processes come and go more often than all else, and of a thousand nodes one is looked at: nothing of them is kept.
 * LIMIT  ASKING_MAX at once.
 */
#include <stdlib.h>
#include "kube/object.h"
#include "sched/view/view_part.h"
#include "wire/json.h"

#define ANNOTATION "capstan.dev/gpu-sessions"
enum { ASKING_MAX = 64, SESSIONS_MAX = 1000 };

struct view_asking {
    struct view *v;
    struct http_exchange *x;
    struct view_asking *next, **at;
};

static void number_write(struct buf *out, const struct json *of, const char *key, int64_t times)
{
    int64_t n = json_get_int64(of, key, -1);
    if (n >= 0 && n <= INT64_MAX / times)
        buf_printf(out, ",\"%s\":%lld", key, (long long)(n * times));
}

/* BAD INPUT  whoever may change nodes may have written it: what is not understood is left out. */
static void sessions_write(struct buf *out, const struct json *told)
{
    static const char *const texts[] = {"command", "pod", "container"};
    uint32_t n = 0;
    if (json_get_int64(told, "at", 0) <= 0) {
        buf_text(out, "{}");
        return;
    }
    buf_text(out, "{\"ok\":1");
    number_write(out, told, "at", 1000);
    number_write(out, told, "period", 1000);
    number_write(out, told, "more", 1);
    buf_text(out, ",\"sessions\":[");
    JSON_EACH (one, json_get(told, "sessions")) {
        if (!json_is(one, JSON_OBJECT) || n == SESSIONS_MAX)
            continue;
        buf_text(out, n++ ? ",{" : "{");
        json_write_member(out, "unit", json_get_text(one, "unit", ""), ' ');
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            view_row_text(out, texts[i], json_get_text(one, texts[i], ""));
        number_write(out, one, "pid", 1);
        number_write(out, one, "memory", 1);
        number_write(out, one, "busy", 1);
        number_write(out, one, "since", 1000);
        buf_char(out, '}');
    }
    buf_text(out, "]}");
}

static struct http_exchange *asking_end(struct view_asking *q)
{
    struct http_exchange *x = q->x;
    *q->at = q->next;
    if (q->next)
        q->next->at = q->at;
    q->v->asking_n--;
    free(q);
    return x;
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
    struct http_exchange *x = asking_end(arg);
    struct arena *a = x->request.arena;
    _cleanup_buf_ struct buf out = {0};
    if (answer->code != 0) {
        http_reply_text(x, 502, VIEW_PLAIN, arena_printf(a, "the API server does not say: %s\n", answer->error.text));
        return;
    }
    const struct json *node = json_item(json_get(json_parse(a, answer->body, NULL, NULL), "items"), 0);
    sessions_write(&out, json_parse(a, bytes_of(object_annotation(node, ANNOTATION)), NULL, NULL));
    http_reply(x, 200, VIEW_JSON, blob_new(out.data, out.n));
}

bool view_sessions_ask(struct view *v, struct http_exchange *x, const char *node)
{
    struct node_detail unused;
    _cleanup_buf_ struct buf path = {0};
    if (!state_node_detail(v->s->state, intern_find(v->s->names, bytes_of(node)), x->request.arena, &unused))
        return false;
    if (v->asking_n >= ASKING_MAX) {
        http_set_header(x, "Retry-After", "5");
        http_reply_text(x, 503, VIEW_PLAIN, "as many ask this as are answered: try again\n");
        return true;
    }
    struct view_asking *q = mem_zero(1, sizeof *q);
    *q = (struct view_asking){.v = v, .x = x, .next = v->asking, .at = &v->asking};
    if (q->next)
        q->next->at = &q->next;
    v->asking = q;
    v->asking_n++;
    buf_text(&path, "/api/v1/nodes?fieldSelector=metadata.name%3D"); /* WHY a list  its right is there for the watch */
    http_escape(&path, node);
    kube_get(v->s->client, path.data, on_answer, q);
    return true;
}

void view_sessions_free(struct view *v)
{
    while (v->asking) {
        kube_client_forget(v->s->client, on_answer, v->asking);
        http_reply_text(asking_end(v->asking), 503, VIEW_PLAIN, "this server is going away: try again\n");
    }
}
