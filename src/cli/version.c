/* version.c - capstan version */
#include "cli/cli.h"
#include "cli/output.h"
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <uv.h>
#include <yaml.h>
#include "net/curl_library.h"

int version_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    static const struct output_column columns[] = {{"component", "COMPONENT", false, false},
                                                   {"version", "VERSION", false, false}};
    struct output_table t;
    output_init(&t, a, columns, 2);
    struct err e = {0};
    const char *curl = curl_library_open(&e) == 0 ? curl_version_info(CURLVERSION_NOW)->version : e.text;
    const char *const rows[][2] = {
        {"capstan", CAPSTAN_VERSION},           {"libuv", uv_version_string()},
        {"libmicrohttpd", MHD_get_version()},   {"libcurl", curl},
        {"gnutls", gnutls_check_version(NULL)}, {"sqlite", sqlite3_libversion()},
        {"libyaml", yaml_get_version_string()}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        output_row(&t, rows[i]);
    output_print(&t, output_format_of(o));
    output_fini(&t);
    return EXIT_OK;
}
