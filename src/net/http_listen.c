/* http_listen.c - addresses as people write them, and errors that say what to do */
#include "net/http_listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/memory.h"

enum {
    BACKLOG = 1024,
    SEND_BUFFER_BYTES = 128 << 10, /* of a connection; the kernel doubles it */
};

static int listen_failed(int saved_errno, const char *address, struct err *e)
{
    if (saved_errno == EADDRINUSE)
        return err_set(
            e, E_EXISTS,
            "listen on %s: the address is in use; stop the other program or choose another port (0 = any free)",
            address);
    if (saved_errno == EACCES)
        return err_set(e, E_DENIED,
                       "listen on %s: not allowed; choose a port above 1023 or a folder that you may write to",
                       address);
    if (saved_errno == EADDRNOTAVAIL)
        return err_set(e, E_INVALID, "listen on %s: this machine has no such address; 127.0.0.1 always works", address);
    return err_errno(e, saved_errno, "listen on %s", address);
}

/* WHY  A socket file left by a killed process would block the address for ever; one that answers is in use. */
static void stale_socket_remove(const struct sockaddr_un *sun)
{
    struct stat st;
    if (lstat(sun->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)sun, sizeof *sun) < 0 && errno == ECONNREFUSED)
        (void)unlink(sun->sun_path); /* bind says what is wrong when this fails */
}

static int socket_listen(const char *address, const struct sockaddr *sa, socklen_t sa_n, struct err *e)
{
    _cleanup_close_ int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "listen on %s: socket", address);
    int one = 1;
    if (sa->sa_family != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* bind says what is wrong */
    /* WHY  Connections inherit it. The kernel would take megabytes for each client that does not read. */
    int send_bytes = SEND_BUFFER_BYTES;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes); /* then the kernel's own size stands */
    if (bind(fd, sa, sa_n) < 0 || listen(fd, BACKLOG) < 0)
        return listen_failed(errno, address, e);
    int ret = fd;
    fd = -1;
    return ret;
}

static int unix_listen(const char *address, struct err *e)
{
    const char *path = address + strlen("unix:");
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    if (path[0] != '/' || strlen(path) >= sizeof sun.sun_path)
        return err_set(e, E_INVALID, "listen on %s: write unix:/absolute/path of at most %zu bytes", address,
                       sizeof sun.sun_path - 1);
    memcpy(sun.sun_path, path, strlen(path));
    stale_socket_remove(&sun);
    return socket_listen(address, (struct sockaddr *)&sun, sizeof sun, e);
}

static bool port_parse(const char *text, int *ret_port)
{
    int64_t port;
    if (!bytes_int64(bytes_of(text), &port) || port < 0 || port > 65535)
        return false;
    *ret_port = (int)port;
    return true;
}

/* ":8081" is every address; a machine without IPv6 has only the older ones. */
static int listen_everywhere(int port, int *ret_port, struct err *e)
{
    char address[32];
    (void)snprintf(address, sizeof address, "[::]:%d", port);
    int r = http_listen(address, ret_port, e);
    if (r >= 0 || r == -E_EXISTS || r == -E_DENIED)
        return r;
    (void)snprintf(address, sizeof address, "0.0.0.0:%d", port);
    return http_listen(address, ret_port, e);
}

int http_listen(const char *address, int *ret_port, struct err *e)
{
    *ret_port = 0;
    if (text_starts(address, "unix:"))
        return unix_listen(address, e);
    const char *colon = strrchr(address, ':');
    int port = 0;
    if (colon == address && port_parse(colon + 1, &port))
        return listen_everywhere(port, ret_port, e);
    char host[INET6_ADDRSTRLEN + 2] = "";
    if (!colon || !port_parse(colon + 1, &port) || (size_t)(colon - address) >= sizeof host)
        return err_set(e, E_INVALID,
                       "listen address \"%s\": write HOST:PORT (127.0.0.1:8080, [::1]:8080), :PORT (all addresses) or unix:/path",
                       address);
    memcpy(host, address, (size_t)(colon - address));
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    bool is_v6 = false;
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        host[strlen(host) - 1] = 0;
        is_v6 = inet_pton(AF_INET6, host + 1, &v6.sin6_addr) == 1;
        if (!is_v6)
            return err_set(e, E_INVALID, "listen address \"%s\": \"%s\" is no IPv6 address", address, host + 1);
    } else if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4.sin_addr) != 1) {
        return err_set(
            e, E_INVALID,
            "listen address \"%s\": \"%s\" is no IP address; write 127.0.0.1 (this machine only) or 0.0.0.0 (all)",
            address, host);
    }
    int fd = is_v6 ? socket_listen(address, (struct sockaddr *)&v6, sizeof v6, e)
                   : socket_listen(address, (struct sockaddr *)&v4, sizeof v4, e);
    if (fd < 0)
        return fd;
    socklen_t n = is_v6 ? sizeof v6 : sizeof v4;
    if (getsockname(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4, &n) == 0)
        port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
    *ret_port = port;
    return fd;
}

bool http_address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_UNIX)
        return true;
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}
