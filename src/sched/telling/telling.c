/* telling.c - see telling.h */
#include "sched/telling/telling.h"
#include <string.h>
#include "base/collections/map.h"
#include "base/limits.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
}

/* Names may have digits ("a100", "mig-3g.40gb"): a number stands at the beginning of a word, with its unit ("0", "500m", "1.5Gi"). */
uint64_t telling_cause(const char *text)
{
    uint64_t hash = 1;
    const char *from = text, *at = text;
    while (*at) {
        if (is_digit(*at) && (at == text || !is_word(at[-1]))) {
            hash = hash_bytes(from, (size_t)(at - from), hash);
            while (is_word(*at))
                at++;
            from = at;
        } else {
            at++;
        }
    }
    return hash_bytes(from, (size_t)(at - from), hash);
}

uint8_t telling_parts(const char *tree) /* in a text its quotes would be escaped */
{
    return (uint8_t)((strstr(tree, "\"remedies\":[{") ? TELLS_REMEDIES : 0) | (strstr(tree, "\"start\":{\"about\":") ? TELLS_START : 0));
}

enum telling_rest telling_rest(const char *tree, const char *said)
{
    if (strcmp(tree, said) == 0)
        return REST_IS_SAID;
    return telling_parts(tree) & ~telling_parts(said) ? REST_IS_NEWS : REST_DIFFERS;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t telling_wait_ms(struct telling *t, struct bucket *budget, const char *text, const char *said, enum telling_rest rest,
                        int64_t settle_ms, int64_t moved_ms, int64_t now_ms)
{
    uint64_t cause = telling_cause(text);
    said = said ? said : "";
    if (t->cause != cause || !t->since_ms) {
        t->cause = cause;
        t->since_ms = now_ms;
    }
    if (strcmp(text, said) == 0) {
        t->told_ms = t->sent_ms ? t->sent_ms : t->told_ms ? t->told_ms : now_ms;
        t->sent_ms = 0;
        if (rest == REST_IS_SAID)
            return -1;
    }
    int64_t due_ms = later(later(t->since_ms, moved_ms) + settle_ms, t->sent_ms ? t->sent_ms + TELLING_ECHO_MS : 0);
    if (*said && telling_cause(said) == cause)
        due_ms = later(due_ms, (t->told_ms ? t->told_ms : t->since_ms) + (rest == REST_IS_NEWS ? TELLING_AGAIN_MS : TELLING_NUMBERS_MS));
    else if (t->told_ms)
        due_ms = later(due_ms, t->told_ms + TELLING_AGAIN_MS);
    if (due_ms > now_ms)
        return due_ms - now_ms;
    if (budget && !t->slot_ms) {
        t->slot_ms = now_ms + bucket_wait_ms(budget, now_ms, LIMIT_TELLING_BURST, 1000 / LIMIT_TELLING_PER_S);
        bucket_take(budget);
    }
    return t->slot_ms > now_ms ? t->slot_ms - now_ms : 0;
}

void telling_sent(struct telling *t, int64_t now_ms)
{
    t->sent_ms = now_ms;
    t->slot_ms = 0;
}

void telling_drop(struct telling *t, struct bucket *budget, int64_t now_ms)
{
    if (budget && t->slot_ms > now_ms)
        bucket_give(budget);
    *t = (struct telling){0};
}
