#include "apiserver/store/question.h"

struct question {
    const char *labels, *fields; /* in the arena, as is what the selector refers to */
    struct selector selector;
    enum selector_reach spec;
};
struct kind_questions {
    struct question all[STORE_NOTE_QUESTIONS];
    uint32_t n;
};
struct questions {
    struct arena *arena;
    struct kind_questions **kinds; /* by the kind's id; NULL: nothing was asked of it. OWNER the arena, but for the list */
    uint32_t kinds_n, kinds_cap;
};

struct questions *questions_new(void)
{
    struct questions *q = mem_zero(1, sizeof *q);
    q->arena = arena_new();
    return q;
}

void questions_free(struct questions *q)
{
    if (!q)
        return;
    arena_free(q->arena);
    free(q->kinds);
    free(q);
}

static const struct kind_questions *of_kind(const struct questions *q, uint32_t kind_id)
{
    static const struct kind_questions none;
    return kind_id < q->kinds_n && q->kinds[kind_id] ? q->kinds[kind_id] : &none;
}

static struct kind_questions *of_kind_made(struct questions *q, uint32_t kind_id)
{
    MEM_RESERVE(q->kinds, q->kinds_cap, kind_id + 1);
    while (q->kinds_n <= kind_id)
        q->kinds[q->kinds_n++] = NULL;
    if (!q->kinds[kind_id])
        q->kinds[kind_id] = arena_zero(q->arena, 1, sizeof **q->kinds);
    return q->kinds[kind_id];
}

uint32_t question_of(struct questions *q, uint32_t kind_id, const struct selector_kind *k, const char *labels, const char *fields)
{
    struct kind_questions *asked = of_kind_made(q, kind_id);
    for (uint32_t i = 0; i < asked->n; i++)
        if (text_equal(asked->all[i].labels, labels) && text_equal(asked->all[i].fields, fields))
            return i;
    if (asked->n == STORE_NOTE_QUESTIONS)
        return STORE_NOTE_QUESTIONS;
    struct question x = {.labels = arena_text(q->arena, labels), .fields = arena_text(q->arena, fields)};
    if (selector_parse(q->arena, x.labels, x.fields, k, &x.selector, NULL) < 0)
        return STORE_NOTE_QUESTIONS;
    x.spec = selector_reach(&x.selector, "spec");
    asked->all[asked->n] = x;
    return asked->n++;
}

static void note(struct blob *body, uint32_t number, bool yes)
{
    body->notes |= (yes ? 3u : 1u) << (STORE_NOTE_ANSWERS + 2 * number);
}

bool question_answer(const struct questions *q, uint32_t kind_id, uint32_t number, struct blob *body)
{
    uint32_t asked = 1u << (STORE_NOTE_ANSWERS + 2 * number), yes = asked << 1;
    if (!(body->notes & asked))
        note(body, number, selector_match(&of_kind(q, kind_id)->all[number].selector, (struct bytes){body->data, body->n}));
    return body->notes & yes;
}

/* Only what is so for certain: where there is something to look at, garbage.c looks. */
static bool is_plain(const struct json *object)
{
    const struct json *metadata = json_get(object, "metadata");
    return !json_get(metadata, "ownerReferences") && !json_get(metadata, "finalizers") && !json_get(metadata, "deletionTimestamp");
}

/* Of a question about nothing but spec, which is that of `was` and what was added to it. Not noted: it has to look at both. */
static void note_spec(const struct question *q, uint32_t number, const struct blob *was, const struct json *added, struct blob *body)
{
    enum selector_reach reach = selector_reach_members(&q->selector, added);
    if (reach == SELECTOR_READS_NONE) {
        body->notes |= was->notes & 3u << (STORE_NOTE_ANSWERS + 2 * number); /* none, where that was not asked */
    } else if (reach == SELECTOR_READS_ONLY) {
        struct json spec = *added, object = {.type = JSON_OBJECT, .first = &spec, .last = &spec, .n = 1};
        spec.key = "spec";
        spec.key_n = sizeof "spec" - 1;
        spec.next = NULL;
        note(body, number, selector_match_tree(&q->selector, &object));
    }
}

/* Somebody owns it, for certain: garbage.c need not look whether it is plain. */
static bool is_owned(const struct json *object)
{
    JSON_EACH (owner, json_get(json_get(object, "metadata"), "ownerReferences")) {
        const struct json *uid = json_get(owner, "uid");
        if (json_is(uid, JSON_STRING) && uid->n > 0 && uid->n < STORE_UID_ROOM)
            return true;
    }
    return false;
}

void questions_note(const struct questions *q, uint32_t kind_id, const struct json *object, const struct blob *was,
                    const struct json *spec_added, struct blob *body)
{
    const struct kind_questions *asked = of_kind(q, kind_id);
    if (is_plain(object))
        body->notes |= STORE_NOTE_OWNERS | STORE_NOTE_PLAIN;
    else if (is_owned(object))
        body->notes |= STORE_NOTE_OWNERS;
    for (uint32_t i = 0; i < asked->n; i++) {
        if (!was || asked->all[i].spec == SELECTOR_READS_NONE)
            note(body, i, selector_match_tree(&asked->all[i].selector, object));
        else if (asked->all[i].spec == SELECTOR_READS_ONLY)
            note_spec(&asked->all[i], i, was, spec_added, body);
    }
}
