/* curl_library.c - dlopen and one dlsym a function */
#include "net/curl_library.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct curl_library curl_library;

/* The GnuTLS flavour that Debian's headers belong to; then whatever the system calls libcurl: the functions are the same. */
static const char *const sonames[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};

int curl_library_open(struct err *e)
{
    static bool is_open;
    if (is_open)
        return 0;
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof sonames / sizeof *sonames; i++)
        handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(e, E_IO, "%s: install Debian's libcurl3-gnutls", dlerror());
    const char *missing = NULL;
#define X(name)                                                                                                        \
    curl_library.name = (__typeof__(curl_library.name))dlsym(handle, "curl_" #name);                                           \
    missing = curl_library.name ? missing : "curl_" #name;
    CURL_FUNCTIONS(X)
#undef X
    if (missing)
        return err_set(e, E_IO, "libcurl has no %s: 7.80 or newer is needed", missing);
    if (curl_library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(e, E_IO, "libcurl does not start");
    is_open = true;
    return 0;
}
