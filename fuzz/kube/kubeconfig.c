/* kubeconfig.c - any file: refused with a message that names it, or a configuration with a server and a namespace */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/memory.h"
#include "../fuzz.h"
#include "kube/kubeconfig_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct kubeconfig *k = NULL;
    struct err e = {0};
    _cleanup_close_ int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    if (size > 16384 || fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int r = kubeconfig_load_files(path, true, NULL, &k, &e);
    MUST_HOLD(r == 0 ? k && k->server && k->default_namespace : !k && e.code == -r && e.text[0]);
    if (r == 0) {
        struct kubeconfig *copy = kubeconfig_copy(k);
        MUST_HOLD(text_equal(copy->server, k->server) && text_equal(copy->token, k->token));
        kubeconfig_free(copy);
    }
    kubeconfig_free(k);
    return 0;
}
