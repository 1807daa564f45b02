/* rest.c - see rest.h */
#include "cli/live/rest.h"
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* WHY  segments that cannot be written alone: there every page is the file's. A library that has to change its text to be loaded
 *      (DT_TEXTREL) is left alone. */
static bool changes_its_text(const struct dl_phdr_info *of)
{
    for (unsigned i = 0; i < of->dlpi_phnum; i++) {
        if (of->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *d = (const void *)(of->dlpi_addr + of->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
                return true;
    }
    return false;
}

static int give_back(struct dl_phdr_info *of, size_t size, void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    (void)size;
    (void)arg;
    if ((*of->dlpi_name && !strchr(of->dlpi_name, '/')) || changes_its_text(of)) /* no file: the kernel's own */
        return 0;
    for (unsigned i = 0; i < of->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &of->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
            continue;
        uintptr_t at = of->dlpi_addr + segment->p_vaddr, from = at & ~page, end = (at + segment->p_memsz + page) & ~page;
        (void)madvise((void *)from, end - from, MADV_DONTNEED); /* fails where it is locked: then it stays */
    }
    return 0;
}

void live_rest(void)
{
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(give_back, NULL);
}
