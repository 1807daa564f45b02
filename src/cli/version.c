/* version.c - capstan version */
#include "cli/cli.h"
#include "cli/connect.h"
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <uv.h>
#include <yaml.h>
#include "net/curl_library.h"

static const char help[] = "Usage: capstan version [OPTION]...\n"
                           "Print the version of capstan and of the libraries it runs with.\n\n"
                           "  -o, --output FORMAT     table, wide, json, yaml or csv\n"
                           "  -h, --help              this text\n\n"
                           "Example: capstan version --output json\n";

int version_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
    struct connect_options o = {.output = OUTPUT_TABLE};
    for (int c; (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return EXIT_OK;
        }
        if (connect_option(&o, c, optarg) != 1) {
            fputs(help, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "capstan version: unexpected argument %s\nTry 'capstan version --help'.\n", argv[optind]);
        return EXIT_USAGE;
    }
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
    output_print(&t, o.output);
    output_fini(&t);
    return EXIT_OK;
}
