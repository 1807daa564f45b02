/* united_kinds.c - at the start: objects that an older program kept under the name of a kind that is stored as another one now */
#include "apiserver/lifecycle/united_kinds.h"

#include <stdio.h>

#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"
#include "base/log.h"

/* Where an object of this name stands already, that one stays. */
static void object_move(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name, struct json *object)
{
    const struct kind *stored = kind_stored(k);
    struct json *moved = json_clone(a, object);
    uint64_t rv = store_next_rv(s->store);
    kind_convert(a, stored, moved, kind_storage(k)->version);
    json_set_text(a, json_get(moved, "metadata"), "resourceVersion", arena_printf(a, "%llu", (unsigned long long)rv));
    struct blob *body = object_text(s, moved);
    struct err e = {0};
    if (store_create(s->store, store_kind(s->store, stored->group, stored->plural), ns, name, rv, body, &e) < 0)
        log_warning("one of two objects of a name was dropped kind=\"%s\" namespace=\"%s\" name=\"%s\" error=\"%s\"", k->kind, ns,
                    name, e.text);
    blob_unref(body);
    object_remove(s, store_kind(s->store, k->group, k->plural), ns, name, a, object);
}

void united_kinds_move(struct apiserver *s)
{
    for (uint32_t i = 0; i < kind_count(s->kinds); i++) {
        const struct kind *k = kind_at(s->kinds, i);
        if (kind_stored(k) == k)
            continue;
        _cleanup_arena_ struct arena *a = arena_new();
        struct store_cursor *c = store_list(s->store, store_kind(s->store, k->group, k->plural), NULL, NULL);
        for (const struct store_object *o; (o = store_list_next(c));) {
            arena_reset(a);
            object_move(s, a, k, arena_text(a, o->ns), arena_text(a, o->name), object_parse(a, o->body));
        }
        store_list_free(c);
    }
}
