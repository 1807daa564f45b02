#include "codec/groups/task_groups.h"
#include <stdio.h>
#include <strings.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/quantity.h"

const char *application_of(const char *label, const char *annotation, const char *other_label, const char *spark_label)
{
    const char *const names[] = {label, annotation, other_label, spark_label};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && *names[i])
            return text_ends(names[i], "-uniqueautogen") ? "" : names[i]; /* one for each pod */
    return "";
}

const char *application_queue(const char *label, const char *annotation, const char *other_label)
{
    return label && *label ? label : annotation && *annotation ? annotation : other_label ? other_label : "";
}

bool is_queue_meant(const char *queue)
{
    const char *dot = strrchr(queue, '.');
    return *queue && strcmp(dot ? dot + 1 : queue, "default") != 0;
}

/* SHAPE  "yunikorn-" NAME where the name can stand in a DNS name; else what can of its beginning, and its hash. */
const char *application_group(struct arena *a, const char *application)
{
    enum { NAME_MOST = 63, KEPT = 40 };
    size_t n = strlen(application);
    bool is_dns = n > 0 && n <= NAME_MOST && application[n - 1] != '-' && application[n - 1] != '.' && application[0] != '.' &&
                  !strstr(application, "..") && !strstr(application, ".-") && !strstr(application, "-.");
    char *kept = arena_text_n(a, application, n < KEPT ? n : KEPT);
    for (size_t i = 0; i < n && is_dns; i++)
        is_dns = strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", application[i]) != NULL;
    if (is_dns)
        return arena_printf(a, "yunikorn-%s", application);
    for (char *c = kept; *c; c++)
        *c = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ? *c : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : '-';
    return arena_printf(a, "yunikorn-%s-%016llx", kept, (unsigned long long)hash_bytes(application, n, 0));
}

bool is_placeholder_note(struct bytes annotation)
{
    static const char end[] = "placeholder";
    size_t n = sizeof end - 1;
    return annotation.n > n && memcmp(annotation.data + annotation.n - n, end, n) == 0 &&
           memmem(annotation.data, annotation.n, YUNIKORN, strlen(YUNIKORN)) != NULL;
}

static const struct json *member_of(const struct json *object, const char *name)
{
    const struct json *found = NULL;
    JSON_EACH (member, object)
        if (strcasecmp(member->key, name) == 0)
            found = member;
    return found;
}

static int resources_check(const struct json *resources, uint32_t at, struct err *e)
{
    if (!json_is(resources, JSON_OBJECT))
        return err_set(e, E_INVALID, "[%u].minResource: missing: write what one pod of the group asks for, {\"cpu\": \"1\"}", at);
    JSON_EACH (amount, resources) {
        struct quantity q;
        struct err why;
        if ((!json_is(amount, JSON_STRING) && !json_is(amount, JSON_NUMBER)) || quantity_parse(json_bytes(amount), &q, &why) < 0 ||
            quantity_sign(q) < 0)
            return err_set(e, E_INVALID, "[%u].minResource[%.63s]: is no amount: write one like \"500m\" or \"4Gi\"", at, amount->key);
    }
    return 0;
}

static int group_read(const struct json *item, uint32_t at, const struct task_groups *before, struct task_group *ret_group, struct err *e)
{
    const struct json *members = member_of(item, "minMember");
    struct task_group g = {.name = json_text(member_of(item, "name"), ""), .min_resource = member_of(item, "minResource")};
    int64_t n = json_int64(members, 0);
    if (!json_is(item, JSON_OBJECT))
        return err_set(e, E_INVALID, "[%u]: is no object: write {\"name\": ..., \"minMember\": ..., \"minResource\": {...}}", at);
    if (!*g.name || strlen(g.name) > LIMIT_NAME)
        return err_set(e, E_INVALID, "[%u].name: write a name of 1 to %d bytes", at, LIMIT_NAME);
    for (uint32_t i = 0; i < before->n; i++)
        if (strcmp(before->all[i].name, g.name) == 0)
            return err_set(e, E_INVALID, "[%u].name: there is a task group of that name before it: write another", at);
    if (!json_is(members, JSON_NUMBER) || n < 1 || n > LIMIT_GANG_MEMBERS)
        return err_set(e, E_INVALID, "[%u].minMember: write a whole number from 1 to %d", at, LIMIT_GANG_MEMBERS);
    if (before->members + n > LIMIT_GANG_MEMBERS)
        return err_set(e, E_INVALID, "[%u].minMember: with the groups before it more than %d pods: write less", at, LIMIT_GANG_MEMBERS);
    g.min_member = (int32_t)n;
    *ret_group = g;
    return resources_check(g.min_resource, at, e);
}

/* WHY  they say where a placeholder would stand; there are none, and each pod says where it stands itself. */
static const char *unused_add(struct arena *a, const char *unused, const struct json *item, const char *group)
{
    static const char *const read[] = {"name", "minMember", "minResource"};
    JSON_EACH (member, item) {
        bool is_read = (member->type >= JSON_ARRAY && !member->n) || member->type == JSON_NULL;
        for (size_t i = 0; i < sizeof read / sizeof *read; i++)
            is_read |= strcasecmp(member->key, read[i]) == 0;
        if (!is_read && (!unused || strlen(unused) < 400))
            unused = arena_printf(a, "%s%s%.63s.%.63s", unused ? unused : "", unused ? ", " : "", group, member->key);
    }
    return unused;
}

int task_groups_read(struct arena *a, struct bytes text, struct task_groups *ret_groups, struct err *e)
{
    struct err why;
    struct task_groups groups = {0};
    if (text.n > LIMIT_ANNOTATIONS_BYTES)
        return err_set(e, E_INVALID, "more than %u bytes", LIMIT_ANNOTATIONS_BYTES);
    const struct json *list = json_parse(a, text, NULL, &why);
    if (!list)
        return err_set(e, E_INVALID, "is no JSON: %s", why.text);
    if (!json_is(list, JSON_ARRAY) || !list->n || list->n > LIMIT_TASK_GROUPS)
        return err_set(e, E_INVALID, "write a list of 1 to %d task groups: [{\"name\": ..., \"minMember\": ..., \"minResource\": {...}}]",
                       LIMIT_TASK_GROUPS);
    struct task_group *all = arena_zero(a, list->n, sizeof *all);
    groups.all = all;
    JSON_EACH (item, list) {
        if (group_read(item, groups.n, &groups, &all[groups.n], e) < 0)
            return -E_INVALID;
        groups.unused = unused_add(a, groups.unused, item, all[groups.n].name);
        groups.members += all[groups.n++].min_member;
    }
    *ret_groups = groups;
    return 0;
}

const char *scheduling_parameters_unused(struct arena *a, const char *text)
{
    bool times = strstr(text, "placeholderTimeoutInSeconds"), soft = strstr(text, "gangSchedulingStyle=Soft");
    const char *time = "placeholderTimeoutInSeconds: it waits until it fits", *style = "gangSchedulingStyle=Soft: no part of it starts alone";
    if (!times && !soft)
        return NULL;
    return arena_printf(a, "%s%s%s", times ? time : "", times && soft ? "; " : "", soft ? style : "");
}
