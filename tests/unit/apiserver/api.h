/* api.h - an API server in memory under a virtual clock, and requests to it by direct call */
#ifndef TEST_API_H
#define TEST_API_H
#include "apiserver/request/request.h"

struct api {
    struct loop *loop;
    struct apiserver *server;
    struct arena *arena; /* of the answers */
    int status;          /* of the last answer; 0 = none yet */
    struct json *body;   /* NULL when it is no JSON */
    char warnings[1024]; /* Warning headers of the last answer, a line each */
};
/* dir NULL: memory only. */
void api_open(struct api *api, const char *dir);
void api_open_as(struct api *api, const struct apiserver_config *config);
void api_close(struct api *api);
/* Setup and teardown of a test whose state is a struct api. */
int api_setup(void **state);
int api_teardown(void **state);
#define WITH_API(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)
/* One request to its end. `target` is path?query, not percent-encoded. type and body may be NULL. Returns the HTTP
 * status. */
int api_call(struct api *api, const char *method, const char *target, const char *type, const char *body);
int api_get(struct api *api, const char *target);
int api_post(struct api *api, const char *target, const char *body);
int api_put(struct api *api, const char *target, const char *body);
int api_patch(struct api *api, const char *target, const char *type,
              const char *body); /* type: "json", "merge", "strategic", "apply" */
int api_delete(struct api *api, const char *target, const char *body);
/* Text at a dotted path of the answer ("metadata.name", "items.0.kind"); numbers as their literal; "" when absent. */
const char *api_text(const struct api *api, const char *path);
void api_run(struct api *api, int64_t span_ms);

/* A watch: lines of events as they come. */
struct api_watch;
struct api_watch *api_watch_open(struct api *api, const char *target);
/* Next event as "TYPE NAME RV", "" when there is none now, "end" after the end. Good until the next call. */
const char *api_watch_next(struct api_watch *w);
const struct json *api_watch_object(const struct api_watch *w); /* of the last event */
int api_watch_status(const struct api_watch *w);
void api_watch_close(struct api_watch *w);

#endif
