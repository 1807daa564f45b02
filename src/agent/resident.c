/* resident.c - see resident.h */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/resident.h"

struct mapping {
    uintptr_t begin, end;
    bool droppable; /* a private mapping of a file that nobody may write to */
    size_t resident_kib, anonymous_kib;
};

/* "7f..-7f.. r-xp 00000000 08:01 1234   /usr/lib/..." */
static bool parse_head(const char *line, struct mapping *m)
{
    unsigned long begin, end, offset, inode;
    char mode[8], device[16];
    if (sscanf(line, "%lx-%lx %7s %lx %15s %lu", &begin, &end, mode, &offset, device, &inode) != 6)
        return false;
    *m = (struct mapping){.begin = begin, .end = end, .droppable = inode > 0 && mode[1] == '-' && mode[3] == 'p'};
    return true;
}

/* WHY  a page that was written to (relocations, then made read-only) lives only here: such a mapping has anonymous pages and stays whole. */
static size_t drop(const struct mapping *m)
{
    if (!m->droppable || m->anonymous_kib > 0 || m->resident_kib == 0)
        return 0;
    return madvise((void *)m->begin, m->end - m->begin, MADV_DONTNEED) == 0 ? m->resident_kib << 10 : 0;
}

size_t resident_trim(void)
{
    static char buffer[16384]; /* not from the heap that is being trimmed */
    char line[512];
    size_t dropped = 0, kib;
    struct mapping m = {0};
    FILE *f = fopen("/proc/self/smaps", "re");
    if (!f)
        return 0;
    (void)setvbuf(f, buffer, _IOFBF, sizeof buffer);
    while (fgets(line, sizeof line, f)) {
        struct mapping next;
        if (parse_head(line, &next)) {
            dropped += drop(&m);
            m = next;
        } else if (sscanf(line, "Rss: %zu", &kib) == 1) {
            m.resident_kib = kib;
        } else if (sscanf(line, "Anonymous: %zu", &kib) == 1) {
            m.anonymous_kib = kib;
        }
    }
    dropped += drop(&m);
    (void)fclose(f);
    (void)malloc_trim(0);
    return dropped;
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
