/* manifest.c - any text as a file of manifests: lint comes to an end, also on what it has corrected */
#include "codec/admission/validate_manifest.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct kind_table *kinds;
    if (!kinds)
        kinds = kind_table_new();
    if (n > 8192)
        return 0;
    struct arena *arena = arena_new();
    struct manifest_report report, again;
    struct buf out = {0};
    manifest_report_init(&report, arena, kinds, false);
    manifest_check(&report, "input", (struct bytes){(const char *)data, n});
    manifest_print_fixed(&out, &report);
    manifest_report_init(&again, arena, kinds, false);
    if (report.objects_n)
        manifest_check(&again, "fixed", buf_view(&out));
    buf_free(&out);
    arena_free(arena);
    return 0;
}
