#include "apiserver/apply/kind_rules.h"

#include "apiserver/store/object.h"

const struct kind_rules *kind_rules_find(const struct apiserver *s, const struct kind *k)
{
    static const struct kind_rules none;
    for (size_t i = 0; i < s->rules->kinds_n; i++)
        if (object_kind_is(k, s->rules->kinds[i].group, s->rules->kinds[i].plural))
            return &s->rules->kinds[i];
    return &none;
}
