/* group_text.c - see group_text.h */
#include "sched/groups/group_text.h"
#include "base/collections/map.h"
#include "codec/decode/decode.h"
#include "wire/json_reader.h"

/* The reader stands before the value of status. False: the phase is longer than phases are, or has escapes. */
static bool phase_read(struct json_reader *r, char ret_phase[GROUP_PHASE_MAX])
{
    struct bytes phase = json_reader_member(r, "phase") ? json_reader_raw(r) : BYTES("\"\"");
    if (phase.n < 2 || phase.n - 2 >= GROUP_PHASE_MAX || *phase.data != '"' || memchr(phase.data, '\\', phase.n))
        return false;
    memcpy(ret_phase, phase.data + 1, phase.n - 2);
    ret_phase[phase.n - 2] = 0;
    return true;
}

/* WHY not of one that is to restart: whether it was asked again depends on when it was let in, not on its text alone. */
static bool may_restart(struct bytes object)
{
    static const char word[] = DECODE_HUNG_RESTART_ANNOTATION;
    return memmem(object.data, object.n, word, sizeof word - 1) != NULL;
}

uint64_t group_text_hash(struct bytes object, char ret_phase[GROUP_PHASE_MAX])
{
    struct json_reader r;
    struct bytes key, version = {0};
    const char *status = NULL; /* its key; it stands last, as the server prints it */
    bool is_read = true;
    *ret_phase = 0;
    json_reader_init(&r, object);
    if (!json_reader_object(&r))
        return 0;
    while (json_reader_key(&r, &key)) {
        struct json_reader value = r;
        if (bytes_is(key, "metadata") && json_reader_member(&value, "resourceVersion"))
            version = json_reader_raw(&value);
        is_read &= !status;
        if (bytes_is(key, "status")) {
            is_read &= phase_read(&value, ret_phase);
            status = key.data;
        }
        json_reader_skip(&r);
    }
    if (r.failed || !is_read || !version.n)
        return 0;
    const char *end = status ? status - strlen(",\"") : r.at - strlen("}"), *rest = version.data + version.n;
    if (rest > end || may_restart(object))
        return 0;
    uint64_t hash = hash_bytes(object.data, (size_t)(version.data - object.data), strcmp(ret_phase, "Completed") == 0);
    return hash_bytes(rest, (size_t)(end - rest), hash) | 1;
}
