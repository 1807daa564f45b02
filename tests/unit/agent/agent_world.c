/* agent_world.c - see agent_world.h */
#include "agent_world.h"
#include <stdio.h>
#include "../folder.h"
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "net/http_local.h"
#include "sim/driver/driver_model.h"

void world_create(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w->a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w->server, w->a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

void world_on_got(void *arg, const struct kube_answer *answer)
{
    struct world *w = arg;
    w->code = answer->code;
    w->got = answer->code == 0 ? json_parse(w->a, answer->body, NULL, NULL) : NULL;
}

void world_run(struct world *w, int64_t ms)
{
    assert_int_equal(loop_run_for(w->loop, ms, NULL), 0);
}

struct json *world_get(struct world *w, const char *path)
{
    kube_get(w->client, path, world_on_got, w);
    world_run(w, 100);
    if (w->code != 0)
        fail_msg("%s: %d", path, w->code);
    return w->got;
}

void world_patch(struct world *w, const char *path, const char *body)
{
    kube_patch(w->client, KUBE_PATCH_MERGE, path, bytes_of(body), world_on_got, w);
    world_run(w, 100);
    assert_int_equal(w->code, 0);
}

void world_set_label(struct world *w, const char *name, const char *value)
{
    const char *text = value ? arena_printf(w->a, "\"%s\"", value) : "null";
    world_patch(w, "/api/v1/nodes/n1", arena_printf(w->a, "{\"metadata\":{\"labels\":{\"%s\":%s}}}", name, text));
}

const char *world_label(struct world *w, const char *name)
{
    return json_text(json_path(world_get(w, "/api/v1/nodes/n1"), "metadata", "labels", name, NULL), "(none)");
}

const char *world_devices(struct world *w)
{
    return json_text(json_path(world_get(w, "/api/v1/nodes/n1"), "metadata", "annotations", "capstan.dev/devices", NULL), "(none)");
}

const char *world_condition(struct world *w, const char *type)
{
    JSON_EACH(one, json_path(world_get(w, "/api/v1/nodes/n1"), "status", "conditions", NULL))
    if (text_equal(json_get_text(one, "type", ""), type))
        return arena_printf(w->a, "%s/%s", json_get_text(one, "status", ""), json_get_text(one, "reason", ""));
    return "(none)";
}

bool world_has_event(struct world *w, const char *reason, const char *part)
{
    JSON_EACH(one, json_get(world_get(w, "/api/v1/namespaces/default/events"), "items"))
    if (text_equal(json_get_text(one, "reason", ""), reason) && strstr(json_get_text(one, "message", ""), part))
        return true;
    return false;
}

void world_start_agent(struct world *w, const char *model, uint32_t gpus_n)
{
    struct err e = {0};
    w->driver = driver_model_new(w->loop, gpu_model_find(model), gpus_n, "n1");
    if (agent_new(w->loop, w->driver, w->client, &w->options, &w->agent, &e) < 0)
        fail_msg("%s", e.text);
    if (w->started)
        w->started(w);
    world_run(w, 3000);
}

static int setup_on(void **state, struct loop *loop)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct err e = {0};
    log_set_level(getenv("TEST_LOG") ? LOG_DEBUG : LOG_ERROR);
    folder_make(w->dir, sizeof w->dir, "agent");
    w->a = arena_new();
    w->loop = loop;
    if (apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, &e) < 0)
        return -1;
    world_create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{\"nvidia.com/gpu.deploy.driver\":\"true\","
                    "\"nvidia.com/gpu.count\":\"99\",\"zone\":\"a\"}}}");
    w->client = kube_client_wrap(w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, 1));
    w->options = (struct agent_options){.node_name = "n1", .state_dir = w->dir, .root = "/nonexistent"};
    *state = w;
    return 0;
}

int world_setup(void **state)
{
    return setup_on(state, loop_new_virtual(1767225600000));
}

int world_setup_live(void **state)
{
    return setup_on(state, loop_new());
}

int world_teardown(void **state)
{
    struct world *w = *state;
    agent_free(w->agent);
    kube_client_free(w->client);
    apiserver_free(w->server);
    loop_free(w->loop);
    arena_free(w->a);
    folder_remove(w->dir);
    free(w);
    return 0;
}

void world_write_file(struct world *w, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}
