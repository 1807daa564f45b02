/* mig_wish.c - names of instances, and why a wish does not fit. SOURCE nvidia-mig-parted (grammar) */
#include "gpu/mig_wish.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/bytes.h"

#define NAME_MAX_BYTES 31

void mig_compute_name(const struct mig_profile *p, uint8_t slices, char ret_name[32])
{
    if (slices == p->slices)
        snprintf(ret_name, 32, "%s", p->name);
    else
        snprintf(ret_name, 32, "%uc.%s", (unsigned)slices, p->name);
}

/* ---- grammar: [Cc.]Gg.Mgb[(+|-)attribute[,attribute]...] ---- */

static bool take_number(const char **at, uint32_t *ret_value)
{
    uint32_t value = 0, digits_n = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (++digits_n > 4)
            return false;
        value = value * 10 + (uint32_t)(**at - '0');
    }
    *ret_value = value;
    return digits_n > 0 && value > 0;
}

static bool take_text(const char **at, const char *text)
{
    if (!text_starts(*at, text))
        return false;
    *at += strlen(text);
    return true;
}

static bool take_attributes(const char **at)
{
    bool is_plus = **at == '+';
    if (!**at)
        return true;
    if (**at != '+' && **at != '-')
        return false;
    do {
        (*at)++;
        if (!(is_plus && take_text(at, "me.all")) && !take_text(at, "me") && !take_text(at, "gfx"))
            return false;
    } while (**at == ',' && is_plus);
    return !**at;
}

static bool parse_name(const char *name, uint32_t *ret_slices, const char **ret_profile)
{
    const char *at = name;
    uint32_t first, instance_slices, gigabytes;
    *ret_slices = 0;
    *ret_profile = name;
    if (strlen(name) > NAME_MAX_BYTES || !take_number(&at, &first))
        return false;
    if (take_text(&at, "c.")) {
        *ret_slices = first;
        *ret_profile = at;
        if (!take_number(&at, &instance_slices))
            return false;
    } else {
        instance_slices = first;
    }
    if (!take_text(&at, "g.") || !take_number(&at, &gigabytes) || !take_text(&at, "gb") || !take_attributes(&at))
        return false;
    return *ret_slices <= instance_slices;
}

bool mig_name_is_valid(const char *name)
{
    uint32_t slices;
    const char *profile;
    return parse_name(name, &slices, &profile);
}

static void list_profiles(const struct gpu_model *m, struct buf *out)
{
    for (uint32_t i = 0; i < m->profiles_n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", m->profiles[i].name);
}

static int refuse_width(const struct mig_profile *p, const char *name, struct err *e)
{
    struct buf list = {0};
    char one[32];
    for (uint8_t width = 1; width <= p->slices; width++)
        if (mig_compute_starts(p->slices, width)) {
            mig_compute_name(p, width, one);
            buf_printf(&list, "%s%s", list.n ? ", " : "", one);
        }
    int r = err_set(e, E_NOTFOUND, "'%s': a %s instance is divided into %s only", name, p->name, list.data);
    buf_free(&list);
    return r;
}

int mig_wish_parse(const struct gpu_model *m, const char *name, struct mig_wish *ret_wish, struct err *e)
{
    uint32_t slices;
    const char *profile_name;
    if (!parse_name(name, &slices, &profile_name))
        return err_set(e, E_INVALID, "'%.40s' is no MIG profile: write one as 1g.10gb, 1g.10gb+me or 1c.3g.40gb", name);
    if (!m->profiles_n)
        return err_set(e, E_NOTFOUND, "'%s': %s has no MIG", name, m->name);
    const struct mig_profile *p = mig_profile_find(m, profile_name);
    if (!p) {
        struct buf list = {0};
        list_profiles(m, &list);
        int r = err_set(e, E_NOTFOUND, "%s has no MIG profile '%s': there are %s", m->name, profile_name, list.data);
        buf_free(&list);
        return r;
    }
    if (slices && !mig_compute_starts(p->slices, (uint8_t)slices))
        return refuse_width(p, name, e);
    *ret_wish = (struct mig_wish){.profile = p, .compute_slices = slices ? (uint8_t)slices : p->slices};
    return 0;
}

/* ---- why it does not fit, and what would ---- */

static bool fits_empty(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n)
{
    struct mig_state empty = {.mode = 1, .mode_pending = 1};
    struct mig_found found;
    return mig_search(m, &empty, kinds, kinds_n, &found);
}

static void print_kinds(const struct mig_kind *kinds, uint32_t kinds_n, struct buf *out)
{
    char name[32];
    bool first = true;
    for (uint32_t k = 0; k < kinds_n; k++) {
        if (!kinds[k].n)
            continue;
        mig_compute_name(kinds[k].profile, kinds[k].slices, name);
        buf_printf(out, "%s%s x %u", first ? "" : " + ", name, (unsigned)kinds[k].n);
        first = false;
    }
}

static void print_reason(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n, struct buf *out)
{
    uint32_t units = 0, slices = 0, units_all = 0, slices_all = 0;
    struct mig_engines sum = {0}, all = mig_model_engines(m);
    for (uint32_t i = 0; i < m->profiles_n; i++) {
        const struct mig_profile *p = &m->profiles[i];
        slices_all = p->slices > slices_all ? p->slices : slices_all;
        units_all = p->units > units_all ? p->units : units_all;
    }
    for (uint32_t k = 0; k < kinds_n; k++) {
        const struct mig_profile *p = kinds[k].profile;
        uint32_t instances_n = kinds[k].slices == p->slices ? kinds[k].n : 0;
        units += instances_n * p->units;
        slices += (uint32_t)kinds[k].n * kinds[k].slices;
        for (uint32_t i = 0; i < instances_n; i++)
            sum = mig_engines_sum(sum, mig_profile_engines(p));
    }
    if (units > units_all)
        buf_printf(out, "it takes %u memory slices, the GPU has %u", units, units_all);
    else if (slices > slices_all)
        buf_printf(out, "it takes %u compute slices, the GPU has %u", slices, slices_all);
    else if (!mig_engines_fit(sum, (struct mig_engines){0}, all))
        buf_text(out, "it takes more media engines than the GPU has");
    else
        buf_text(out, "the places of these instances overlap");
}

/* The wish with less of kind k: as many as fit beside the others. */
static void print_less(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n, uint32_t k, struct buf *out)
{
    struct mig_kind less[MIG_KINDS_MAX];
    memcpy(less, kinds, kinds_n * sizeof *less);
    while (less[k].n) {
        less[k].n--;
        bool any = false;
        for (uint32_t i = 0; i < kinds_n; i++)
            any |= less[i].n > 0;
        if (!any || !fits_empty(m, less, kinds_n))
            continue;
        buf_text(out, out->n ? "; " : "");
        print_kinds(less, kinds_n, out);
        return;
    }
}

static void print_balanced(const struct gpu_model *m, struct buf *out)
{
    struct mig_kind kinds[MIG_BALANCED_KINDS];
    uint32_t n = mig_balanced(m, kinds);
    if (!n)
        return;
    buf_text(out, out->n ? "; balanced: " : "balanced: ");
    print_kinds(kinds, n, out);
}

uint32_t mig_balanced(const struct gpu_model *m, struct mig_kind ret_kinds[MIG_BALANCED_KINDS])
{
    static const struct {
        uint8_t nvml_index, n;
    } parts[MIG_BALANCED_KINDS] = {{2, 1}, {1, 1}, {0, 2}}; /* 3g (7-slice parts only), 2g, 1g */
    uint32_t n = 0;
    for (uint32_t i = 0; i < MIG_BALANCED_KINDS; i++) {
        const struct mig_profile *p = mig_profile_by_nvml_index(m, parts[i].nvml_index);
        if (p)
            ret_kinds[n++] = (struct mig_kind){p, p->slices, parts[i].n};
    }
    return n && fits_empty(m, ret_kinds, n) ? n : 0;
}

int mig_wish_refuse(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n, struct err *e)
{
    struct buf wish = {0}, reason = {0}, would = {0};
    print_kinds(kinds, kinds_n, &wish);
    print_reason(m, kinds, kinds_n, &reason);
    for (uint32_t k = 0; k < kinds_n && kinds_n <= 4; k++)
        print_less(m, kinds, kinds_n, k, &would);
    print_balanced(m, &would);
    int r = err_set(e, E_INVALID, "%s does not fit on %s: %s. Would fit: %s", wish.data, m->name, reason.data,
                    would.n ? would.data : "nothing of it");
    buf_free(&wish);
    buf_free(&reason);
    buf_free(&would);
    return r;
}
