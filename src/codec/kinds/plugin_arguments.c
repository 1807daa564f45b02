/* plugin_arguments.c - arguments of plugins; see plugin_arguments.h */
#include "codec/kinds/plugin_arguments.h"

const char *plugin_argument(const struct json *list, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    JSON_EACH (item, list) {
        const char *text = json_text(item, ""), *word = text;
        text += strspn(text, "-");
        if (text == word || strncmp(text, name, n) != 0)
            continue;
        if (text[n] == '=')
            found = text + n + 1;
        else if (text[n] == '\0')
            found = item->next && json_text(item->next, "-")[0] != '-' ? json_text(item->next, "") : "true";
    }
    return found;
}

const char *plugin_argument_text(const struct json *list, const char *name, const char *fallback)
{
    const char *text = plugin_argument(list, name);
    return text && *text ? text : fallback;
}

bool plugin_argument_true(const struct json *list, const char *name, bool fallback)
{
    const char *text = plugin_argument(list, name);
    return text ? strcmp(text, "false") != 0 && strcmp(text, "0") != 0 : fallback;
}

int64_t plugin_argument_port(const struct json *list, const char *name, int64_t fallback)
{
    const char *text = plugin_argument(list, name);
    int64_t port;
    return text && bytes_int64(bytes_of(text), &port) && port > 0 && port < 65536 ? port : fallback;
}
