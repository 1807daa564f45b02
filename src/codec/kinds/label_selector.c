/* label_selector.c - see label_selector.h */
#include "codec/kinds/label_selector.h"
#include <string.h>

bool label_selector_matches(const struct json *label_selector, const struct json *labels)
{
    if (!json_is(label_selector, JSON_OBJECT))
        return false;
    JSON_EACH (want, json_get(label_selector, "matchLabels")) {
        const char *have = json_get_text(labels, want->key, NULL);
        if (!have || strcmp(have, json_text(want, "")) != 0)
            return false;
    }
    JSON_EACH (x, json_get(label_selector, "matchExpressions")) {
        const char *have = json_get_text(labels, json_get_text(x, "key", ""), NULL);
        const char *op = json_get_text(x, "operator", "");
        bool in = false;
        JSON_EACH (v, json_get(x, "values"))
            in = in || (have && strcmp(have, json_text(v, "")) == 0);
        bool match = strcmp(op, "In") == 0             ? in
                     : strcmp(op, "NotIn") == 0        ? !in
                     : strcmp(op, "Exists") == 0       ? have != NULL
                     : strcmp(op, "DoesNotExist") == 0 ? have == NULL
                                                       : false;
        if (!match)
            return false;
    }
    return true;
}
