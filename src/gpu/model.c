/* model.c - look-ups in the table of GPU models */
#include "gpu/model.h"
#include <stdio.h>
#include <string.h>
#include "base/bytes.h"

const struct gpu_model *gpu_model_find(const char *key)
{
    for (uint32_t i = 0; i < gpu_models_n; i++)
        if (text_equal(gpu_models[i].key, key) || text_equal(gpu_models[i].name, key))
            return &gpu_models[i];
    return NULL;
}

const char *gpu_model_keys(void)
{
    static char text[256]; /* keys are few and short; filled once */
    size_t n = 0;
    if (text[0])
        return text;
    for (uint32_t i = 0; i < gpu_models_n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "", gpu_models[i].key);
    return text;
}

const struct mig_profile *mig_profile_find(const struct gpu_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->profiles_n; i++)
        if (text_equal(m->profiles[i].name, name))
            return &m->profiles[i];
    return NULL;
}

const struct mig_profile *mig_profile_by_id(const struct gpu_model *m, uint32_t id)
{
    for (uint32_t i = 0; i < m->profiles_n; i++)
        if (m->profiles[i].id == id)
            return &m->profiles[i];
    return NULL;
}

const struct mig_profile *mig_profile_by_nvml_index(const struct gpu_model *m, uint32_t index)
{
    for (uint32_t i = 0; i < m->profiles_n; i++)
        if (m->profiles[i].nvml_index == index)
            return &m->profiles[i];
    return NULL;
}

bool gpu_is_resource(const char *resource)
{
    static const char *const amounts[] = {"capstan.dev/gpu-", "nvidia.com/gpumem", "nvidia.com/gpucores"}; /* of a GPU, not GPUs */
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (strncmp(resource, amounts[i], strlen(amounts[i])) == 0)
            return false;
    return strstr(resource, "gpu") || strstr(resource, "/mig-") || strncmp(resource, "amd.com/", 8) == 0;
}

const char *gpu_text_in_label(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) + 1), *to = out;
    bool blank = false;
    for (; *text; text++) {
        bool keep = (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
                    strchr("-_.", *text) != NULL;
        if (*text == ' ')
            blank = to != out;
        if (!keep)
            continue;
        if (blank)
            *to++ = '-';
        blank = false;
        *to++ = *text;
    }
    *to = '\0';
    return out;
}

const char *mig_profile_text(struct arena *a, const char *profile)
{
    char *text = arena_text(a, profile);
    for (char *p = text; *p; p++)
        if (*p == '+')
            *p = '.';
    return text;
}

const char *mig_profile_resource(struct arena *a, const char *profile)
{
    return arena_printf(a, "nvidia.com/mig-%s", mig_profile_text(a, profile));
}
