/* corpus.c - run a fuzz target over the files of a folder, as a test that needs no fuzzer */
#include <dirent.h>
#include <sys/stat.h>
#include "base/bytes.h"
#include "base/memory.h"
#include "fuzz.h"

static void run_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    struct buf text = {0};
    size_t n;
    while ((n = fread(buf_reserve(&text, 4096), 1, 4096, f)) > 0)
        text.n += n;
    fclose(f);
    uint8_t *exact = mem_alloc(text.n); /* WHY  no NUL behind the bytes: the sanitizer sees a read past the end */
    if (text.n)
        memcpy(exact, text.data, text.n);
    LLVMFuzzerTestOneInput(exact, text.n);
    free(exact);
    buf_free(&text);
}

int main(int argc, char **argv)
{
    int files_n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));)
            if (entry->d_name[0] != '.') {
                run_file(argv[i], entry->d_name);
                files_n++;
            }
        closedir(folder);
    }
    printf("%d files\n", files_n);
    return files_n ? 0 : 1;
}
