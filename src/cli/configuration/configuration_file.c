/* configuration_file.c - see configuration_file.h */
#include "cli/configuration/configuration_file.h"
#include <stdio.h>
#include "base/file.h"

static void say_lines(const struct options *o, const char *path, struct buf *lines)
{
    char *save = NULL;
    for (char *line = lines->n ? strtok_r(lines->data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        fprintf(stderr, "capstan %s: --config %s: %s\n", o->command->name, path, line);
}

int configuration_file_take(const struct options *o, const char *path, struct arena *a, struct configuration *ret_configuration)
{
    configuration_default(ret_configuration);
    if (!path)
        return EXIT_OK;
    struct err e = {0};
    _cleanup_buf_ struct buf text = {0}, warnings = {0}, problems = {0};
    if (file_read(path, CONFIGURATION_MAX_BYTES, &text, &e) < 0)
        return options_wrong(o, "--config: %s", e.text);
    int r = configuration_parse(a, buf_view(&text), ret_configuration, &warnings, &problems);
    say_lines(o, path, &warnings);
    say_lines(o, path, &problems);
    return r < 0 ? options_wrong(o, "--config %s: not started; what is wrong stands above", path) : EXIT_OK;
}
