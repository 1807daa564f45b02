/* config_reader.c - values of a config with their path in the message, and the texts that configs come in: YAML files, ConfigMap
 * manifests */
#include <stdio.h>
#include "agent/config/config_part.h"
#include "base/limits.h"
#include "codec/schema/validate_name.h"
#include "codec/schema/validate_suggest.h"
#include "wire/yaml.h"

#define PREFIX "nvidia.com/"
#define RESOURCE_NAME_MAX 63 /* SOURCE NVIDIA's plugin: prefix and name together */

int config_fail(struct config_reader *r, const char *path, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* cut is fine */
    va_end(args);
    return err_set(r->e, E_INVALID, "%s%.200s: %s", r->prefix, path, text);
}

void config_warn(struct config_reader *r, const char *path, const char *format, ...)
{
    va_list args;
    if (!r->warnings)
        return;
    buf_printf(r->warnings, "%s%s: ", r->prefix, path);
    va_start(args, format);
    buf_vprintf(r->warnings, format, args);
    va_end(args);
    buf_char(r->warnings, '\n');
}

const char *config_shown(struct config_reader *r, const char *text)
{
    size_t n = strlen(text);
    char *copy = arena_text_n(r->a, text, n > 60 ? 60 : n);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return n > 60 ? arena_printf(r->a, "%s...", copy) : copy;
}

const char *config_kind(struct config_reader *r, const struct json *v)
{
    if (!v || v->type == JSON_NULL)
        return "nothing";
    if (v->type == JSON_STRING)
        return arena_printf(r->a, "the text \"%s\"", config_shown(r, v->text));
    if (v->type == JSON_NUMBER)
        return arena_printf(r->a, "the number %s", config_shown(r, v->text));
    if (v->type == JSON_BOOL)
        return v->truth ? "true" : "false";
    return v->type == JSON_ARRAY ? "a list" : "an object";
}

static int unknown_key(struct config_reader *r, const char *path, const char *key, const char *const *keys, size_t keys_n)
{
    const char *best = NULL;
    size_t n = strlen(key), least = n < 4 ? 2 : n < 10 ? 4 : 6;
    struct buf all = {0};
    for (size_t i = 0; i < keys_n; i++) {
        size_t distance = n > 100 ? least : suggest_distance(key, keys[i], least);
        if (distance < least) {
            best = keys[i];
            least = distance;
        }
        buf_printf(&all, "%s%s", i ? ", " : "", keys[i]);
    }
    const char *full = arena_printf(r->a, "%s%s%s", path, *path ? "." : "", config_shown(r, key));
    int failed = best ? config_fail(r, full, "unknown key; did you mean '%s'?", best)
                      : config_fail(r, full, "unknown key; there are %s", all.data ? all.data : "none");
    buf_free(&all);
    return failed;
}

int config_object(struct config_reader *r, const struct json *v, const char *path, const char *const *keys, size_t keys_n,
                  const struct json **ret_v)
{
    *ret_v = NULL;
    if (!v || v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_OBJECT)
        return config_fail(r, *path ? path : "config", "expected keys and values, found %s", config_kind(r, v));
    JSON_EACH (member, v) {
        bool known = false;
        for (size_t i = 0; i < keys_n && !known; i++)
            known = text_equal(member->key, keys[i]);
        if (!known)
            return unknown_key(r, path, member->key, keys, keys_n);
    }
    *ret_v = v;
    return 0;
}

int config_list(struct config_reader *r, const struct json *v, const char *path, const struct json **ret_v)
{
    *ret_v = NULL;
    if (!v || v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_ARRAY)
        return config_fail(r, path, "expected a list, found %s", config_kind(r, v));
    if (v->n > LIMIT_AGENT_CONFIG_ENTRIES)
        return config_fail(r, path, "%u entries, at most %d are taken", v->n, LIMIT_AGENT_CONFIG_ENTRIES);
    *ret_v = v;
    return 0;
}

int config_bool(struct config_reader *r, const struct json *v, const char *path, bool *ret_value)
{
    if (!json_is(v, JSON_BOOL))
        return config_fail(r, path, "expected true or false, found %s", config_kind(r, v));
    *ret_value = v->truth;
    return 0;
}

int config_text(struct config_reader *r, const struct json *v, const char *path, const char **ret_value)
{
    if (!json_is(v, JSON_STRING))
        return config_fail(r, path, "expected a text, found %s%s", config_kind(r, v),
                           json_is(v, JSON_NUMBER) || json_is(v, JSON_BOOL) ? " (put it in quotes)" : "");
    if (strlen(v->text) != v->n || v->n > 4096)
        return config_fail(r, path, "the text is too long or holds a NUL character");
    *ret_value = arena_text(r->a, v->text);
    return 0;
}

int config_count(struct config_reader *r, const struct json *v, const char *path, int64_t min, int64_t max, uint32_t *ret_value)
{
    int64_t value = json_int64(v, INT64_MIN);
    if (!json_is(v, JSON_NUMBER) || value < min || value > max)
        return config_fail(r, path, "expected a whole number from %lld to %lld, found %s", (long long)min, (long long)max,
                           config_kind(r, v));
    *ret_value = (uint32_t)value;
    return 0;
}

int config_resource_name(struct config_reader *r, const struct json *v, const char *path, const char **ret_name)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    const char *name = text_starts(text, PREFIX) ? text + strlen(PREFIX) : text;
    if (strchr(name, '/'))
        return config_fail(r, path, "'%s' has a prefix other than " PREFIX "; write '%s'", config_shown(r, text),
                           config_shown(r, strrchr(name, '/') + 1));
    if (!name_is_dns_subdomain(bytes_of(name)))
        return config_fail(r, path, "'%s' is no resource name: lower case letters, digits, '-' and '.', as in " PREFIX "gpu",
                           config_shown(r, text));
    if (strlen(PREFIX) + strlen(name) > RESOURCE_NAME_MAX)
        return config_fail(r, path, "'%s' is longer than %d characters with " PREFIX, config_shown(r, name), RESOURCE_NAME_MAX);
    *ret_name = arena_printf(r->a, PREFIX "%s", name);
    return 0;
}

int config_document(struct config_reader *r, struct bytes text, const struct json **ret_doc)
{
    struct json *docs;
    struct json_parse_info info = {0};
    *ret_doc = NULL;
    if (text.n > LIMIT_AGENT_CONFIG_BYTES)
        return err_set(r->e, E_LIMIT, "%sconfig: %zu bytes; at most %u are taken", r->prefix, text.n, LIMIT_AGENT_CONFIG_BYTES);
    if (!text.n)
        return 0;
    int failed = yaml_parse(r->a, text, &docs, &info, r->e);
    if (failed < 0)
        return err_wrap(r->e, "%sconfig", r->prefix);
    if (info.duplicate_n)
        return config_fail(r, config_shown(r, info.duplicate[0]), "the key is there twice; keep one");
    if (docs->n > 1)
        return config_fail(r, "config", "%u YAML documents; one is wanted (remove '---')", docs->n);
    *ret_doc = docs->first && docs->first->type != JSON_NULL ? docs->first : NULL;
    return 0;
}

int config_manifest(struct config_reader *r, const struct json *doc, const char *wanted, const struct json **ret_data)
{
    const char *kind = json_get_text(doc, "kind", NULL);
    *ret_data = NULL;
    if (!kind || !json_get(doc, "apiVersion"))
        return 0;
    if (!text_equal(kind, "ConfigMap"))
        return config_fail(r, "kind", "this is a manifest of kind %s; give %s (version: v1) or its ConfigMap", config_shown(r, kind),
                           wanted);
    *ret_data = json_get(doc, "data");
    return 1;
}

int config_manifest_key(struct config_reader *r, const struct json *key, const struct json **ret_doc)
{
    const char *path = arena_printf(r->a, "data.%s", config_shown(r, key->key));
    if (!json_is(key, JSON_STRING))
        return config_fail(r, path, "expected a text (write '%s: |'), found %s", config_shown(r, key->key), config_kind(r, key));
    r->prefix = arena_printf(r->a, "%s: ", path);
    return config_document(r, json_bytes(key), ret_doc);
}
