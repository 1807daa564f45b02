/* json.c - the tree parser against jansson: both accept or both refuse; what is accepted survives printing and reading
 *
 * Deliberate differences: jansson refuses numbers outside int64 and double, and takes a NUL byte for the end of the
 * text; ours has limits on depth and on values.
 */
#include <string.h>
#include "../fuzz.h"
#include "oracle.h"
#include "wire/yaml.h"

/* YAML changes how numbers are written, has no keys above 1024 bytes, and leaves out null documents. */
static bool fits_yaml(const struct json *v)
{
    if (v->type == JSON_NUMBER || v->key_n > 300)
        return false;
    JSON_EACH (child, v)
        if (!fits_yaml(child))
            return false;
    return true;
}

static void check_yaml(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    struct json *docs;
    struct err e = {0};
    yaml_write(&out, v);
    if (v->type == JSON_NULL || !fits_yaml(v))
        return;
    int r = yaml_parse(a, buf_view(&out), &docs, NULL, &e);
    if (r < 0 || docs->n != 1 || !json_equal(docs->first, v))
        fprintf(stderr, "%d %s\n%s\n", r, e.text, out.data);
    MUST_HOLD(r == 0 && docs->n == 1 && json_equal(docs->first, v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes text = {(const char *)data, size};
    struct json_parse_info info;
    struct err e = {0};
    struct json *v = json_parse(a, text, &info, &e);
    MUST_HOLD(v || e.code == E_INVALID || e.code == E_LIMIT);
    enum oracle_answer theirs = oracle_json(text.data ? text.data : "", text.n);
    bool has_nul = size && memchr(data, '\0', size);
    bool agree =
        has_nul || e.code == E_LIMIT || theirs == ORACLE_NUMBER_TOO_LARGE || (theirs == ORACLE_ACCEPTED) == (v != NULL);
    if (!agree)
        fprintf(stderr, "ours: %s\n", v ? "accepted" : e.text);
    MUST_HOLD(agree);
    if (!v)
        return 0;
    _cleanup_buf_ struct buf compact = {0}, pretty = {0};
    json_write(&compact, v);
    json_write_pretty(&pretty, v);
    struct json *again = json_parse(a, buf_view(&compact), &info, NULL);
    MUST_HOLD(again && info.duplicate_n == 0 && json_equal(again, v));
    again = json_parse(a, buf_view(&pretty), NULL, NULL);
    MUST_HOLD(again && json_equal(json_clone(a, again), v));
    check_yaml(a, v);
    return 0;
}
