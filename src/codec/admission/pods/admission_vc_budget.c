/* admission_vc_budget.c - how many of its group a pod of Volcano's scheduler lets go at a time; see admission_part.h
 *
 * SOURCE Volcano's webhook of pods: one of two annotations, a number of pods or a part of them. */
#include "codec/admission/admission_part.h"

/* NULL: nothing is wrong. */
static const char *amount_fault(struct bytes text)
{
    int64_t n = 0;
    bool is_part = text.n > 0 && text.data[text.n - 1] == '%';
    bool is_number = bytes_int64((struct bytes){text.data, text.n - is_part}, &n);
    if (is_number && is_part && (n < 1 || n > 99))
        return "it must be a valid percentage which between 1% ~ 99%: write one such as 50%, or a number of pods such as 2";
    if (is_number && !is_part && (n < 1 || n > INT32_MAX))
        return "it must be a positive integer: write a number of pods such as 2, or a part of them such as 50%";
    return is_number ? NULL : "neither a number nor a percentage: write a number of pods such as 2, or a part of them such as 50%";
}

static const char *const keys[] = {"volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"};

static const char *fault_of(const struct json *annotations, const char **ret_key)
{
    for (int i = 0; i < 2; i++) {
        const struct json *value = json_get(annotations, keys[i]);
        const char *fault = value ? amount_fault(json_bytes(value)) : NULL;
        *ret_key = keys[i];
        if (fault)
            return fault;
    }
    return NULL;
}

void admission_vc_budget(struct admission *x, const struct json *spec)
{
    const struct json *annotations = json_path(x->object, "metadata", "annotations", NULL);
    const char *key = "";
    if (!annotations || !text_equal(json_get_text(spec, "schedulerName", ""), "volcano"))
        return;
    const char *fault = fault_of(annotations, &key);
    if (fault)
        admission_error(x, FIELD_INVALID, AT(x, "metadata.annotations[%s]", key), json_get(annotations, key), "%s", fault);
    else if (json_get(annotations, keys[0]) && json_get(annotations, keys[1]))
        admission_error(x, FIELD_INVALID, AT(x, "metadata.annotations[%s]", keys[1]), json_get(annotations, keys[1]),
                        "not allow configure multiple annotations <%s, %s> at same time: leave one of them out", keys[0], keys[1]);
}

void admission_vc_budget_of_job(struct admission *x)
{
    const struct json *annotations = json_path(x->object, "metadata", "annotations", NULL);
    const char *key = "", *fault = fault_of(annotations, &key);
    bool is_passed = text_equal(key, keys[0]) || !json_get(annotations, keys[0]);
    if (fault && is_passed)
        admission_warn(x, "metadata.annotations[%s]: its pods would be refused: %s", key, fault);
}
