/* vcjob_words.h - Volcano Jobs in the cluster of world.h: what the tests of their lives say of them */
#ifndef TEST_VCJOB_WORDS_H
#define TEST_VCJOB_WORDS_H
#include "../world.h"

#define JOB(name) "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/" name
#define POD(name) "/api/v1/namespaces/n/pods/" name

/* A task whose pods run for so long, and end with this code. */
static inline const char *task(const char *name, int replicas, const char *seconds, int exit_code, const char *more)
{
    return arena_printf(w.a,
                        "{\"name\":\"%s\",\"replicas\":%d,%s\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"%s\","
                        "\"capstan.dev/exit-code\":\"%d\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                        "\"image\":\"i\"}]}}}",
                        name, replicas, more, seconds, exit_code);
}

static inline void vcjob(const char *name, const char *more, const char *tasks)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"schedulerName\":\"volcano\",%s\"tasks\":[%s]}}",
                        name, more, tasks));
}

/* "Running 2 1 0": phase, running, retries, version */
static inline const char *state_of(const char *path)
{
    const struct json *status = json_get(get(path), "status");
    return arena_printf(w.a, "%s %lld %lld %lld", json_text(json_path(status, "state", "phase", NULL), ""),
                        (long long)json_get_int64(status, "running", 0), (long long)json_get_int64(status, "retryCount", 0),
                        (long long)json_get_int64(status, "version", 0));
}

static inline const char *uid(const char *path)
{
    return object_meta(get(path), "uid");
}

static inline void evict(const char *path)
{
    kube_delete(w.client, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
}

#endif
