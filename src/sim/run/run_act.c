/* run_act.c - what a step does, as a user would: through the API */
#include <stdio.h>
#include "base/clock.h"
#include "kube/object.h"
#include "sim/run/run_part.h"

/* ---- calls ---- */

static void on_answer(void *arg, const struct kube_answer *answer)
{
    struct run *r = arg;
    r->answered = true;
    r->code = answer->code;
    r->body = answer->code == 0 ? json_parse(r->a, answer->body, NULL, NULL) : NULL;
    (void)snprintf(r->text, sizeof r->text, "%s", answer->error.text);
}

/* The answer comes without time going on: everything is in this process. */
static int call(struct run *r, const char *method, const char *path, const char *type, const struct json *body)
{
    _cleanup_buf_ struct buf text = {0};
    if (body)
        json_write(&text, body);
    r->answered = false;
    r->body = NULL;
    kube_send(r->cluster.client, &(struct kube_call){.lane = KUBE_LANE_STATUS,
                                                     .method = method,
                                                     .path = path,
                                                     .content_type = type,
                                                     .body = buf_view(&text),
                                                     .on_answer = on_answer,
                                                     .arg = r});
    for (int i = 0; i < 1000 && !r->answered; i++)
        loop_run_for(r->cluster.loop, i > 10, NULL); /* of a server that is asked too much: a bit later */
    if (!r->answered) {
        kube_client_forget(r->cluster.client, on_answer, r);
        (void)snprintf(r->text, sizeof r->text, "the API server does not answer");
        r->code = -E_AGAIN;
    }
    return r->code;
}

const struct json *run_get(struct run *r, const char *path)
{
    return call(r, "GET", path, NULL, NULL) == 0 ? r->body : NULL;
}

static int wrong(struct run *r, const struct scenario_place *p, const char *format, ...) PRINTF_LIKE(3, 4);
static int wrong(struct run *r, const struct scenario_place *p, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return p->line ? err_set(r->e, E_INVALID, "%s: line %u, column %u: %s", p->file, p->line, p->column, text)
                   : err_set(r->e, E_INVALID, "%s: %s", p->file, text);
}

/* ---- objects ---- */

static const char *title(struct run *r, const struct json *o)
{
    const char *ns = object_meta(o, "namespace");
    return arena_printf(r->a, "%s %s%s%s", json_get_text(o, "kind", ""), ns, *ns ? "/" : "", object_meta(o, "name"));
}

/* NULL: what is wrong was said. */
static const char *path_of(struct run *r, const struct scenario_object *o, const char **ret_ns)
{
    const char *version = json_get_text(o->object, "apiVersion", ""), *kind = json_get_text(o->object, "kind", ""),
               *slash = strchr(version, '/'), *group = slash ? arena_text_n(r->a, version, (size_t)(slash - version)) : "",
               *ns = object_meta(o->object, "namespace");
    const struct kind *k = kind_find_kind(r->kinds, group, kind);
    if (!k) {
        (void)wrong(r, &o->place, "kind %.60s of apiVersion %.60s is not known", kind, version);
        return NULL;
    }
    *ret_ns = k->flags & KIND_NAMESPACED ? (*ns ? ns : "default") : NULL;
    return kube_path(r->a, group, slash ? slash + 1 : version, k->plural, *ret_ns, object_meta(o->object, "name"), NULL);
}

/* WHY  a scenario is about other things: namespaces that objects name are there. */
static int make_namespace(struct run *r, const struct scenario_place *p, const char *ns)
{
    if (!ns || run_get(r, kube_path(r->a, "", "v1", "namespaces", NULL, ns, NULL)))
        return 0;
    struct json *o = json_new(r->a, JSON_OBJECT);
    json_set_text(r->a, o, "apiVersion", "v1");
    json_set_text(r->a, o, "kind", "Namespace");
    json_set_text(r->a, json_ensure_object(r->a, o, "metadata"), "name", ns);
    int code = call(r, "POST", "/api/v1/namespaces", "application/json", o);
    return code == 0 || code == -E_EXISTS ? 0 : wrong(r, p, "Namespace %s: %s", ns, r->text);
}

static int apply_one(struct run *r, const struct scenario_object *o)
{
    const char *ns, *path = path_of(r, o, &ns);
    if (!path || make_namespace(r, &o->place, ns) < 0)
        return -r->e->code;
    int code =
        call(r, "PATCH", arena_printf(r->a, "%s?fieldManager=capstan-run&force=true", path), kube_patch_type(KUBE_PATCH_APPLY), o->object);
    return code == 0 ? 0 : wrong(r, &o->place, "%s is refused: %s", title(r, o->object), r->text);
}

static int apply(struct run *r, const struct scenario_step *s)
{
    if (s->what)
        timeline_say(r->t, TIMELINE_STEP, "", "apply %s: %u object%s", s->what, s->objects_n, s->objects_n == 1 ? "" : "s");
    else if (s->objects_n > 1 || strcmp(json_get_text(s->objects[0].object, "kind", ""), "Job") != 0)
        timeline_say(r->t, TIMELINE_STEP, "", "apply %s%s", title(r, s->objects[0].object),
                     s->objects_n > 1 ? arena_printf(r->a, " and %u more", s->objects_n - 1) : "");
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < s->objects_n; i++) {
        code = apply_one(r, &s->objects[i]);
        arena_reset(r->a);
    }
    return code;
}

static int delete (struct run *r, const struct scenario_step *s)
{
    const struct scenario_object *o = &s->objects[0];
    const char *ns, *path = path_of(r, o, &ns);
    struct json *options = json_new(r->a, JSON_OBJECT);
    json_set_text(r->a, options, "propagationPolicy", "Background");
    if (!path)
        return -r->e->code;
    timeline_say(r->t, TIMELINE_STEP, "", "delete %s", title(r, o->object));
    int code = call(r, "DELETE", path, "application/json", options);
    return code == 0 ? 0 : wrong(r, &o->place, "%s: %s", title(r, o->object), r->text);
}

/* ---- nodes ---- */

static const char *node_path(struct run *r, const char *node, const char *sub)
{
    return kube_path(r->a, "", "v1", "nodes", NULL, node, sub);
}

static int patch_text(struct run *r, const char *path, const char *text)
{
    return call(r, "PATCH", path, kube_patch_type(KUBE_PATCH_STRATEGIC), json_parse(r->a, bytes_of(text), NULL, NULL));
}

/* Ready as its kubelet says it, or as the cluster says it of a kubelet that is silent. */
static int set_ready(struct run *r, const char *node, bool ready)
{
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(r->cluster.loop));
    return patch_text(
        r, node_path(r, node, "status"),
        arena_printf(r->a,
                     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"reason\":\"%s\",\"message\":\"%s\","
                     "\"lastTransitionTime\":\"%s\"}]}}",
                     ready ? "True" : "Unknown", ready ? "KubeletReady" : "NodeStatusUnknown",
                     ready ? "simulated kubelet is posting ready status" : "Kubelet stopped posting node status.", now));
}

/* SOURCE kubectl drain --ignore-daemonsets: cordoned, then each pod is evicted as budgets allow. */
static int drain(struct run *r, const char *node)
{
    int code = patch_text(r, node_path(r, node, NULL), "{\"spec\":{\"unschedulable\":true}}");
    const struct json *pods = code < 0 ? NULL : run_get(r, arena_printf(r->a, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", node));
    JSON_EACH (pod, json_get(pods, "items")) {
        if (text_equal(object_controller(pod, "kind"), "DaemonSet"))
            continue;
        const char *ns = object_meta(pod, "namespace"), *name = object_meta(pod, "name");
        (void)call(r, "POST", kube_path(r->a, "", "v1", "pods", ns, name, "eviction"), "application/json",
                   json_parse(r->a,
                              bytes_of(arena_printf(r->a,
                                                    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\","
                                                    "\"namespace\":\"%s\"}}",
                                                    name, ns)),
                              NULL, NULL));
        if (r->code < 0)
            timeline_say(r->t, TIMELINE_NODE, node, "%s/%s stays on %s: %s", ns, name, node, r->text);
    }
    return code;
}

static int act_on_node(struct run *r, const struct scenario_step *s)
{
    static const char *const words[] = {[SCENARIO_FAIL_NODE] = "fails: nothing is heard of it",
                                        [SCENARIO_RECOVER_NODE] = "is heard again",
                                        [SCENARIO_REMOVE_NODE] = "is removed",
                                        [SCENARIO_DRAIN_NODE] = "is drained",
                                        [SCENARIO_UNCORDON_NODE] = "takes pods again"};
    int code = 0;
    if (!run_get(r, node_path(r, s->what, NULL)))
        return wrong(r, &s->place, "there is no node %.80s at this time: nodes are called SHAPE-0, SHAPE-1 and so on, as in h100-80gb-0",
                     s->what);
    timeline_say(r->t, TIMELINE_NODE, s->what, "node %s %s", s->what, words[s->action]);
    if (s->action == SCENARIO_FAIL_NODE || s->action == SCENARIO_RECOVER_NODE) {
        kubelets_silence(r->cluster.kubelets, s->what, s->action == SCENARIO_FAIL_NODE);
        code = set_ready(r, s->what, s->action == SCENARIO_RECOVER_NODE);
    } else if (s->action == SCENARIO_REMOVE_NODE) {
        code = call(r, "DELETE", node_path(r, s->what, NULL), NULL, NULL);
    } else if (s->action == SCENARIO_DRAIN_NODE) {
        code = drain(r, s->what);
    } else {
        code = patch_text(r, node_path(r, s->what, NULL), "{\"spec\":{\"unschedulable\":null}}");
    }
    return code == 0 ? 0 : wrong(r, &s->place, "node %s: %s", s->what, r->text);
}

static void on_node(void *arg, const char *name, int32_t gpus_n)
{
    struct run *r = arg;
    timeline_say(r->t, TIMELINE_NODE, name, gpus_n ? "node %s comes: %d GPU%s" : "node %s comes", name, gpus_n, gpus_n == 1 ? "" : "s");
}

int run_act(struct run *r, const struct scenario_step *s)
{
    switch (s->action) {
    case SCENARIO_APPLY:
        return apply(r, s);
    case SCENARIO_DELETE:
        return delete (r, s);
    case SCENARIO_ADD_NODES:
        return virtual_cluster_add_nodes(&r->cluster, &s->nodes->shape, s->nodes->nodes_n, on_node, r, r->e);
    case SCENARIO_EXPECT:
        run_expect(r, s);
        return 0;
    case SCENARIO_FAIL_NODE:
    case SCENARIO_RECOVER_NODE:
    case SCENARIO_REMOVE_NODE:
    case SCENARIO_DRAIN_NODE:
    case SCENARIO_UNCORDON_NODE:
        break;
    }
    return act_on_node(r, s);
}
