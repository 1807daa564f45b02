/* mig_intent.c - one line of text, there and back */
#include "agent/mig/mig_intent.h"

void mig_intent_write(const struct mig_state *from, const struct mig_target *to, struct buf *out)
{
    buf_printf(out, "from:%u", (unsigned)from->mode);
    for (int i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_instance *gi = &from->instances[i];
        char separator = ':';
        if (!gi->used)
            continue;
        buf_printf(out, ";%u@%u", (unsigned)gi->profile_id, (unsigned)gi->start);
        for (int c = 0; c < MIG_CI_MAX; c++) {
            if (!gi->computes[c].used)
                continue;
            buf_printf(out, "%c%u@%u", separator, (unsigned)gi->computes[c].slices, (unsigned)gi->computes[c].start);
            separator = ',';
        }
    }
    buf_printf(out, "|to:%u", (unsigned)to->mode_on);
    for (uint32_t i = 0; i < to->wishes_n; i++)
        buf_printf(out, ";%u/%ux%u", (unsigned)to->wishes[i].profile->id, (unsigned)to->wishes[i].compute_slices,
                   (unsigned)to->wishes[i].n);
}

static bool take(const char **at, const char *text)
{
    if (!text_starts(*at, text))
        return false;
    *at += strlen(text);
    return true;
}

static bool take_number(const char **at, uint32_t max, uint32_t *ret_value)
{
    uint32_t value = 0, digits_n = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (uint32_t)(**at - '0');
        if (++digits_n > 4 || value > max)
            return false;
    }
    *ret_value = value;
    return digits_n > 0;
}

static bool read_computes(const char **at, const struct mig_profile *p, struct mig_instance *gi)
{
    for (uint8_t n = 0; take(at, n ? "," : ":"); n++) {
        uint32_t slices, start;
        if (n == MIG_CI_MAX || !take_number(at, 7, &slices) || !take(at, "@") || !take_number(at, 7, &start) ||
            !(mig_free_compute_starts(gi, p->slices, (uint8_t)slices) & 1u << start))
            return false;
        gi->computes[n] = (struct mig_compute){.used = 1, .id = n, .slices = (uint8_t)slices, .start = (uint8_t)start};
    }
    return true;
}

static bool read_instances(const char **at, const struct gpu_model *m, struct mig_state *s)
{
    for (uint8_t n = 0; take(at, ";"); n++) {
        uint32_t id, start;
        if (n == MIG_GI_MAX || !take_number(at, 255, &id) || !take(at, "@") || !take_number(at, MIG_UNITS_MAX - 1, &start))
            return false;
        const struct mig_profile *p = mig_profile_by_id(m, id);
        if (!p || !(mig_free_starts(s, m, p) & 1u << start))
            return false;
        s->instances[n] = (struct mig_instance){
            .used = 1, .id = n, .profile_id = p->id, .start = (uint8_t)start, .units = p->units};
        if (!read_computes(at, p, &s->instances[n]))
            return false;
    }
    return true;
}

static bool read_wishes(const char **at, const struct gpu_model *m, struct mig_target *to)
{
    while (take(at, ";")) {
        uint32_t id, slices, n;
        if (to->wishes_n == MIG_WISHES_MAX || !take_number(at, 255, &id) || !take(at, "/") || !take_number(at, 7, &slices) ||
            !take(at, "x") || !take_number(at, 9999, &n))
            return false;
        const struct mig_profile *p = mig_profile_by_id(m, id);
        if (!p || !mig_compute_starts(p->slices, (uint8_t)slices))
            return false;
        to->wishes[to->wishes_n++] = (struct mig_wish){p, (uint8_t)slices, n};
    }
    return true;
}

int mig_intent_read(const struct gpu_model *m, const char *text, struct mig_state *ret_from, struct mig_target *ret_to,
                    struct err *e)
{
    struct mig_state from = {0};
    struct mig_target to = {0};
    uint32_t mode = 0;
    const char *at = text;
    bool ok = take(&at, "from:") && take_number(&at, 1, &mode);
    from.mode = from.mode_pending = (uint8_t)mode;
    ok = ok && read_instances(&at, m, &from) && take(&at, "|to:") && take_number(&at, 1, &mode);
    to.mode_on = mode != 0;
    if (!ok || !read_wishes(&at, m, &to) || *at)
        return err_set(e, E_INVALID, "the journal's MIG intent '%.60s' is not understood", text);
    *ret_from = from;
    *ret_to = to;
    return 0;
}
