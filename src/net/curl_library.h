/* curl_library.h - libcurl, loaded when the first client is made
 *
 * WHY  libcurl brings thirty libraries along (LDAP, Kerberos, SSH, a second TLS): 5 MB resident in every process that is linked to it.
 *      A node agent that talks only to its kubelet, and every short command, does without.
 * Users include this instead of <curl/curl.h>; the names of libcurl's functions then mean what was loaded.
 */
#ifndef NET_CURL_LIBRARY_H
#define NET_CURL_LIBRARY_H
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include "base/err.h"
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define CURL_FUNCTIONS(X) \
    X(easy_cleanup) \
    X(easy_getinfo) \
    X(easy_init) \
    X(easy_setopt) \
    X(easy_strerror) \
    X(free) \
    X(global_init) \
    X(multi_add_handle) \
    X(multi_cleanup) \
    X(multi_info_read) \
    X(multi_init) \
    X(multi_remove_handle) \
    X(multi_setopt) \
    X(multi_socket_action) \
    X(slist_append) \
    X(slist_free_all) \
    X(url) \
    X(url_cleanup) \
    X(url_get) \
    X(url_set) \
    X(version_info)

struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(X)
#undef X
};
extern struct curl_library curl_library;

/* Load and start it; once is enough, again is free. -E_IO says which package is missing. */
int curl_library_open(struct err *e);

#define curl_easy_cleanup curl_library.easy_cleanup
#define curl_easy_getinfo curl_library.easy_getinfo
#define curl_easy_init curl_library.easy_init
#define curl_easy_setopt curl_library.easy_setopt
#define curl_easy_strerror curl_library.easy_strerror
#define curl_free curl_library.free
#define curl_multi_add_handle curl_library.multi_add_handle
#define curl_multi_cleanup curl_library.multi_cleanup
#define curl_multi_info_read curl_library.multi_info_read
#define curl_multi_init curl_library.multi_init
#define curl_multi_remove_handle curl_library.multi_remove_handle
#define curl_multi_setopt curl_library.multi_setopt
#define curl_multi_socket_action curl_library.multi_socket_action
#define curl_slist_append curl_library.slist_append
#define curl_slist_free_all curl_library.slist_free_all
#define curl_url curl_library.url
#define curl_url_cleanup curl_library.url_cleanup
#define curl_url_get curl_library.url_get
#define curl_url_set curl_library.url_set
#define curl_version_info curl_library.version_info

#endif
