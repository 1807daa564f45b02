/* mig_export.c - writing mig-parted files: the present state, and the layouts that every node understands */
#include "agent/mig/mig_config.h"
#include "gpu/mig_wish.h"
#include "wire/json.h"

/* ---- the present state ---- */

struct profile_count {
    char name[32];
    uint32_t n;
};

static uint32_t count_profiles(const struct driver_gpu *gpu, struct profile_count list[MIG_GI_MAX * MIG_CI_MAX])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < gpu->migs_n; i++) {
        uint32_t k = 0;
        while (k < n && !text_equal(list[k].name, gpu->migs[i].profile))
            k++;
        if (k == MIG_GI_MAX * MIG_CI_MAX)
            break;
        if (k == n) {
            memcpy(list[n].name, gpu->migs[i].profile, sizeof list->name);
            list[n++].n = 0;
        }
        list[k].n++;
    }
    return n;
}

static bool same_state(const struct driver_gpu *a, const struct driver_gpu *b)
{
    struct profile_count left[MIG_GI_MAX * MIG_CI_MAX], right[MIG_GI_MAX * MIG_CI_MAX];
    uint32_t left_n = count_profiles(a, left), right_n = count_profiles(b, right), equal_n = 0;
    if (a->mig_on != b->mig_on || left_n != right_n)
        return false;
    for (uint32_t i = 0; i < left_n; i++)
        for (uint32_t k = 0; k < right_n; k++)
            equal_n += text_equal(left[i].name, right[k].name) && left[i].n == right[k].n;
    return equal_n == left_n;
}

static void write_entry(const struct driver_gpu *gpu, struct buf *out)
{
    struct profile_count list[MIG_GI_MAX * MIG_CI_MAX];
    uint32_t n = gpu->mig_on ? count_profiles(gpu, list) : 0;
    buf_printf(out, "      mig-enabled: %s\n      mig-devices:%s\n", gpu->mig_on ? "true" : "false", n ? "" : " {}");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, "        \"%s\": %u\n", list[i].name, list[i].n);
}

static bool is_first_of_its_kind(const struct driver_reading *r, uint32_t g)
{
    for (uint32_t i = 0; i < g; i++)
        if (same_state(&r->gpus[i], &r->gpus[g]))
            return false;
    return true;
}

/* Models of the GPUs that are as `g` is, each once, by number; g == gpus_n: of all GPUs. Returns how many. */
static uint32_t kind_models(const struct driver_reading *r, uint32_t g, uint32_t list[LIMIT_NODE_GPUS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        uint32_t id = r->gpus[i].pci_device_id, at = 0;
        if (g < r->gpus_n && !same_state(&r->gpus[i], &r->gpus[g]))
            continue;
        while (at < n && list[at] < id)
            at++;
        if (at < n && list[at] == id)
            continue;
        memmove(&list[at + 1], &list[at], (n - at) * sizeof *list);
        list[at] = id;
        n++;
    }
    return n;
}

static bool has_model(const uint32_t *list, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

/* "devices: all" where every GPU of these models is as `g` is; but a GPU that does not answer may be another. */
static void write_devices(const struct driver_reading *r, uint32_t g, const uint32_t *models, uint32_t models_n, struct buf *out)
{
    bool all = !r->silent;
    for (uint32_t i = 0; i < r->gpus_n; i++)
        all = all && (same_state(&r->gpus[i], &r->gpus[g]) || !has_model(models, models_n, r->gpus[i].pci_device_id));
    buf_text(out, all ? "devices: all\n" : "devices: [");
    for (uint32_t i = g; !all && i < r->gpus_n; i++)
        if (same_state(&r->gpus[i], &r->gpus[g]))
            buf_printf(out, "%s%u", i > g ? ", " : "", r->gpus[i].index);
    buf_text(out, all ? "" : "]\n");
}

/* As mig-parted does: GPUs of one state in one entry; filters only where models differ and so do their states. */
void mig_config_export(const struct driver_reading *r, const char *name, struct buf *out_yaml)
{
    uint32_t all[LIMIT_NODE_GPUS], models[LIMIT_NODE_GPUS], all_n = kind_models(r, r->gpus_n, all), kinds_n = 0;
    buf_text(out_yaml, "version: v1\nmig-configs:\n  ");
    json_write_string(out_yaml, bytes_of(name));
    buf_text(out_yaml, ":\n");
    for (uint32_t g = 0; g < r->gpus_n; g++)
        kinds_n += is_first_of_its_kind(r, g);
    if (!kinds_n)
        buf_text(out_yaml, "    - devices: all\n      mig-enabled: false\n      mig-devices: {}\n");
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        if (!is_first_of_its_kind(r, g))
            continue;
        uint32_t n = kind_models(r, g, models);
        buf_text(out_yaml, "    - ");
        if (all_n > 1 && kinds_n > 1) {
            buf_text(out_yaml, n > 1 ? "device-filter: [" : "device-filter: ");
            for (uint32_t i = 0; i < n; i++)
                buf_printf(out_yaml, "%s\"0x%08X\"", i ? ", " : "", models[i]);
            buf_text(out_yaml, n > 1 ? "]\n      " : "\n      ");
        }
        write_devices(r, g, models, n, out_yaml);
        write_entry(&r->gpus[g], out_yaml);
    }
}

/* ---- default layouts ---- */

/* GPUs of one model count once: the first of them stands for all. */
static bool is_first_of_its_model(const struct driver_reading *r, uint32_t g)
{
    for (uint32_t i = 0; i < g; i++)
        if (r->gpus[i].mig_capable && r->gpus[i].pci_device_id == r->gpus[g].pci_device_id && mig_geometry(&r->gpus[i]))
            return false;
    return r->gpus[g].mig_capable && mig_geometry(&r->gpus[g]);
}

static void write_selector(const struct driver_gpu *gpu, bool filtered, struct buf *out)
{
    if (filtered)
        buf_printf(out, "    - device-filter: \"0x%08X\"\n      devices: all\n", gpu->pci_device_id);
    else
        buf_text(out, "    - devices: all\n");
    buf_text(out, "      mig-enabled: true\n      mig-devices:\n");
}

static void write_balanced(const struct driver_reading *r, bool filtered, struct buf *out)
{
    bool any = false;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        struct mig_kind kinds[MIG_BALANCED_KINDS];
        uint32_t n = is_first_of_its_model(r, g) ? mig_balanced(mig_geometry(&r->gpus[g]), kinds) : 0;
        if (!n)
            continue;
        buf_text(out, any ? "" : "\n  all-balanced:\n");
        any = true;
        write_selector(&r->gpus[g], filtered, out);
        for (uint32_t k = n; k-- > 0;)
            buf_printf(out, "        \"%s\": %u\n", kinds[k].profile->name, kinds[k].n);
    }
}

static bool named_before(const struct driver_reading *r, uint32_t g, const char *profile)
{
    for (uint32_t i = 0; i < g; i++)
        if (is_first_of_its_model(r, i) && mig_profile_find(mig_geometry(&r->gpus[i]), profile))
            return true;
    return false;
}

/* all-<profile>, '+' as '.': every model that has it, as often as fits. */
static void write_profile(const struct driver_reading *r, const char *profile, bool filtered, struct buf *out)
{
    buf_text(out, "\n  all-");
    for (const char *c = profile; *c; c++)
        buf_char(out, *c == '+' || *c == ',' ? '.' : *c);
    buf_text(out, ":\n");
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct mig_profile *p = is_first_of_its_model(r, g) ? mig_profile_find(mig_geometry(&r->gpus[g]), profile) : NULL;
        if (!p)
            continue;
        write_selector(&r->gpus[g], filtered, out);
        buf_printf(out, "        \"%s\": %u\n", p->name, p->max_n);
    }
}

void mig_config_default(const struct driver_reading *r, struct buf *out_yaml)
{
    uint32_t models_n = 0;
    for (uint32_t g = 0; g < r->gpus_n; g++)
        models_n += is_first_of_its_model(r, g);
    buf_text(out_yaml, "version: v1\nmig-configs:\n  all-disabled:\n    - devices: all\n      mig-enabled: false\n\n"
                       "  all-enabled:\n    - devices: all\n      mig-enabled: true\n      mig-devices: {}\n");
    write_balanced(r, models_n > 1, out_yaml);
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct gpu_model *m = is_first_of_its_model(r, g) ? mig_geometry(&r->gpus[g]) : NULL;
        for (uint32_t i = 0; m && i < m->profiles_n; i++)
            if (!named_before(r, g, m->profiles[i].name))
                write_profile(r, m->profiles[i].name, models_n > 1, out_yaml);
    }
}
