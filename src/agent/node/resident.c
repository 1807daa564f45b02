/* resident.c - see resident.h
 *
 * WHY  Only segments that the linker made read-only are given back: nothing ever writes to them, relocations included (those go to writable
 *      segments that are protected afterwards), so their pages are always those of the file, also while another thread loads a library.
 */
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/node/resident.h"

#define SEGMENTS_MAX 8 /* read-only ones of one object; there are two or three */

/* An object whose text is relocated after all. */
static int has_text_relocations(const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
                return 1;
    }
    return 0;
}

struct range {
    uintptr_t begin, end;
};

/* ORDER  the program headers stand in the first segment: they are read before it is dropped, or they would bring it back. */
static int drop_object(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    struct range list[SEGMENTS_MAX];
    int n = 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (strncmp(object->dlpi_name, "linux-vdso", 10) == 0 || has_text_relocations(object))
        return 0;
    for (int i = 0; i < object->dlpi_phnum && n < SEGMENTS_MAX; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + p->p_vaddr, end = begin + p->p_filesz;
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && p->p_filesz > 0)
            list[n++] = (struct range){begin & ~(page - 1), (end + page - 1) & ~(page - 1)};
    }
    for (int i = 0; i < n; i++)
        (void)madvise((void *)list[i].begin, list[i].end - list[i].begin, MADV_DONTNEED); /* a refusal costs memory only */
    return 0;
}

void resident_trim(void)
{
    (void)dl_iterate_phdr(drop_object, NULL);
    (void)malloc_trim(0);
}

size_t resident_file_bytes(void)
{
    unsigned long size, resident, shared = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu %lu", &size, &resident, &shared) != 3)
        shared = 0;
    (void)fclose(f);
    return shared * (size_t)sysconf(_SC_PAGESIZE);
}
