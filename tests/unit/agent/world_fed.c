/* world_fed.c - the same world, with an agent that is fed: one watch of nodes and one of ConfigMaps, as of a whole simulated cluster */
#include "world_fed.h"
#include "agent/agent_feed.h"
#include "kube/watch.h"

struct world_feed {
    struct world *world;
    struct agent_feed feed;
    struct kube_watch *nodes, *maps;
    struct json *data; /* of all ConfigMaps, by "namespace/name" */
    const char *keys[16];
    char *texts[16];
};

static const char *map_name(struct world *w, const struct json *map)
{
    const struct json *meta = json_get(map, "metadata");
    return arena_printf(w->a, "%s/%s", json_get_text(meta, "namespace", ""), json_get_text(meta, "name", ""));
}

static int config(void *arg, const char *label, struct agent_config_map *m, struct err *e)
{
    struct world_feed *f = arg;
    const struct agent_options *o = &f->world->options;
    (void)e;
    *m = (struct agent_config_map){.name = o->config_map,
                                   .keys = f->keys,
                                   .texts = f->texts,
                                   .wish = {label, o->config_default},
                                   .defaults = "",
                                   .settings = o->settings,
                                   .settings_n = o->settings_n};
    JSON_EACH(one, json_get(f->data, o->config_map ? o->config_map : ""))
    {
        f->keys[m->n] = one->key;
        f->texts[m->n++] = (char *)one->text;
    }
    return 0;
}

static const char *layouts(void *arg, const char *layout)
{
    const struct world_feed *f = arg;
    const char *map = f->world->options.mig_config_map;
    (void)layout;
    return map ? json_get_text(json_get(f->data, map), "config.yaml", NULL) : NULL;
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct world_feed *f = arg;
    if (f->world->agent && event != KUBE_DELETED)
        agent_fed_node(f->world->agent, json_parse(f->world->a, object, NULL, NULL));
}

static void on_map(void *arg, enum kube_event event, struct bytes object)
{
    struct world_feed *f = arg;
    struct json *map = json_parse(f->world->a, object, NULL, NULL);
    (void)json_remove(f->data, map_name(f->world, map));
    if (event != KUBE_DELETED)
        json_set(f->world->a, f->data, map_name(f->world, map), json_clone(f->world->a, json_get(map, "data")));
    if (f->world->agent)
        agent_fed_configs(f->world->agent);
}

static void start(struct world *w)
{
    struct world_feed *f = w->feed;
    if (!f->feed.recorder)
        f->feed.recorder = kube_recorder_new(w->client, "test");
    agent_fed_node(w->agent, world_get(w, "/api/v1/nodes/n1"));
}

int world_setup_fed(void **state)
{
    if (world_setup(state) < 0)
        return -1;
    struct world *w = *state;
    struct world_feed *f = w->feed = mem_zero(1, sizeof *f);
    f->world = w;
    f->data = json_new(w->a, JSON_OBJECT);
    f->feed = (struct agent_feed){.machine_type = "fed", .configs = config_cache_new(), .config = config, .layouts = layouts, .arg = f};
    f->nodes = kube_watch_new(w->client, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_node, .arg = f});
    f->maps = kube_watch_new(w->client, &(struct kube_watch_config){.path = "/api/v1/configmaps", .on_event = on_map, .arg = f});
    w->options.feed = &f->feed;
    w->options.state_dir = NULL;
    w->started = start;
    return 0;
}

int world_teardown_fed(void **state)
{
    struct world *w = *state;
    struct world_feed *f = w->feed;
    agent_free(w->agent);
    w->agent = NULL;
    kube_watch_free(f->nodes);
    kube_watch_free(f->maps);
    kube_recorder_free(f->feed.recorder);
    config_cache_free((struct config_cache *)f->feed.configs);
    free(f);
    return world_teardown(state);
}
