#include "shared.h"
#include "core/state/model.h"

#define VOLCANO "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
#define QUEUE "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\","
enum { JOBS = 6 };

static bool has_them(uint64_t seed)
{
    return seed % 4 == 3;
}

const char *shared_seed(uint64_t seed, int at)
{
    static const char *const all[] = {
        QUEUE "\"metadata\":{\"name\":\"sa\"},\"spec\":{\"weight\":1}}",
        QUEUE "\"metadata\":{\"name\":\"sb\"},\"spec\":{\"weight\":1}}", NULL};
    return has_them(seed) ? all[at] : NULL;
}

static uint64_t pick(struct world *w, uint64_t n)
{
    return random_below(&w->random, n);
}

/* WHY  no policy of the job's own: what an eviction left would be deleted by its controller, and so nobody would see it. */
static void create(struct world *w)
{
    int pods = 1 + (int)pick(w, 5), number = (int)pick(w, JOBS), seconds = 20 + (int)pick(w, 100), gpus = 1 + (int)pick(w, 2);
    const char *queue = pick(w, 2) ? "sa" : "sb";
    world_post(w, VOLCANO,
               "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"vs%d\"},\"spec\":{\"queue\":\"%s\","
               "\"minAvailable\":%d,\"ttlSecondsAfterFinished\":10,\"tasks\":[{\"name\":\"w\",\"replicas\":%d,\"template\":{\"metadata\":{"
               "\"annotations\":{\"capstan.dev/run-seconds\":\"%d\"}},\"spec\":{\"restartPolicy\":\"OnFailure\"," POD_SPEC "}}}]}}",
               number, queue, pods, pods, seconds, gpus);
}

static const struct gang *leaving(const struct world *w)
{
    const struct state *s = scheduler_state(w->scheduler);
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if (s->gangs[i]->source == GANG_VOLCANO && s->gangs[i]->phase == GANG_LEAVING)
            return s->gangs[i];
    return NULL;
}

void shared_step(struct world *w)
{
    if (!has_them(w->seed))
        return;
    uint64_t what = pick(w, 12);
    if (what < 4)
        create(w);
    else if (what == 4)
        world_delete(w, arena_printf(w->arena, VOLCANO "/vs%d", (int)pick(w, JOBS)));
    else if (what == 5)
        world_patch(w, arena_printf(w->arena, "/apis/scheduling.volcano.sh/v1beta1/queues/%s", pick(w, 2) ? "sa" : "sb"),
                    "{\"spec\":{\"weight\":%d}}", 1 + (int)pick(w, 3));
    w->shared_left_n += leaving(w) != NULL;
}

void shared_clear(struct world *w)
{
    for (int i = 0; i < JOBS && has_them(w->seed); i++)
        world_delete(w, arena_printf(w->arena, VOLCANO "/vs%d", i));
}

bool shared_worked(const struct world *w)
{
    return !has_them(w->seed) || w->shared_left_n > 0;
}

/* WHY  three times: one may have been told a moment ago, and its pods take theirs to end. */
bool shared_check(struct world *w)
{
    const struct gang *g = leaving(w);
    name_id key = g ? g->key : 0;
    for (int i = 0; i < 3 && g && g->key == key; i++) {
        loop_run_for(w->loop, 2000, NULL);
        g = leaving(w);
    }
    if (g && g->key == key)
        world_broken(w, "%s was told to leave, and has not", intern_name(g->names, g->key));
    return w->fault[0] == '\0';
}
