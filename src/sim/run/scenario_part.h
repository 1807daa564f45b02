/* scenario_part.h - what the readers of a scenario's parts have in common: where they are, and how they say what is wrong */
#ifndef SIM_RUN_SCENARIO_PART_H
#define SIM_RUN_SCENARIO_PART_H
#include "sim/run/scenario.h"
#include "wire/yaml.h"

struct scenario_reader {
    struct arena *a;
    const char *file; /* of `places` */
    const char *dir;  /* of the scenario; "" the working directory */
    struct yaml_places *places;
    scenario_read_file *read_file;
    void *arg;
    size_t left_bytes; /* of files that may still be read */
    uint32_t left_objects;
    struct scenario *s;
    struct err *e;
};
/* "FILE: line 3, column 5: ..." of the value, or of its key; always false. */
bool scenario_wrong(struct scenario_reader *x, const struct json *v, const char *format, ...) PRINTF_LIKE(3, 4);
bool scenario_wrong_key(struct scenario_reader *x, const struct json *v, const char *format, ...) PRINTF_LIKE(3, 4);
struct scenario_place scenario_place_of(const struct scenario_reader *x, const struct json *v);
/* Is it a mapping whose keys are all among `known` (by ", ")? Else what is wrong was said. */
bool scenario_keys(struct scenario_reader *x, const struct json *v, const char *what, const char *known);
/* The member as text, a whole number, or a time; absent: *ret stays. False: what is wrong was said. */
bool scenario_text(struct scenario_reader *x, const struct json *object, const char *key, const char **ret);
bool scenario_number(struct scenario_reader *x, const struct json *object, const char *key, int64_t least, int64_t most, int64_t *ret);
bool scenario_time(struct scenario_reader *x, const struct json *object, const char *key, int64_t *ret_ms);

/* scenario_objects.c: apply, delete and job of a step. False: what is wrong was said. */
bool scenario_read_apply(struct scenario_reader *x, const struct json *step, struct scenario_step *ret);
bool scenario_read_delete(struct scenario_reader *x, const struct json *v, struct scenario_step *ret);
bool scenario_read_job(struct scenario_reader *x, const struct json *v, struct scenario_step *ret);
/* scenario_expect.c */
bool scenario_read_expect(struct scenario_reader *x, const struct json *v, struct scenario_step *ret);

#endif
