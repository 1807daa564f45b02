/* mig_hooks.c - reading and running hooks. The command has nothing else to do meanwhile, so it waits. */
#include "cli/mig_hooks.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wire/yaml.h"

#define HOOK_TEXTS_MAX 256 /* arguments, or variables, of one hook */

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (text_equal(text, *list))
            return true;
    return false;
}

static int check_texts(const struct json *v, enum json_type type, const char *path, struct err *e)
{
    if (!v || v->type == JSON_NULL)
        return 0;
    if (v->type != type || v->n > HOOK_TEXTS_MAX)
        return err_set(e, E_INVALID, "%s: expected %s of at most %d", path, type == JSON_ARRAY ? "a list" : "names and values",
                       HOOK_TEXTS_MAX);
    JSON_EACH (item, v)
        if (!json_is(item, JSON_STRING) || strlen(item->text) != item->n || (item->key && strchr(item->key, '=')))
            return err_set(e, E_INVALID, "%s: expected texts (put numbers in quotes)", path);
    return 0;
}

static int check_hook(struct arena *a, const struct json *hook, const char *path, struct err *e)
{
    static const char *const keys[] = {"command", "args", "envs", "workdir", NULL};
    if (!json_is(hook, JSON_OBJECT))
        return err_set(e, E_INVALID, "%s: expected command, args, envs, workdir", path);
    JSON_EACH (member, hook)
        if (!is_one_of(member->key, keys))
            return err_set(e, E_INVALID, "%s.%.60s: unknown key; there are command, args, envs, workdir", path, member->key);
    if (!*json_get_text(hook, "command", ""))
        return err_set(e, E_INVALID, "%s.command: is missing", path);
    const struct json *workdir = json_get(hook, "workdir");
    if (workdir && workdir->type != JSON_NULL && !json_is(workdir, JSON_STRING))
        return err_set(e, E_INVALID, "%s.workdir: expected a text", path);
    int r = check_texts(json_get(hook, "args"), JSON_ARRAY, arena_printf(a, "%s.args", path), e);
    return r < 0 ? r : check_texts(json_get(hook, "envs"), JSON_OBJECT, arena_printf(a, "%s.envs", path), e);
}

int mig_hooks_parse(struct arena *a, struct bytes text, const struct json **ret_hooks, struct err *e)
{
    static const char *const names[] = {"apply-start", "pre-apply-mode", "pre-apply-config", "apply-exit", NULL};
    struct json *docs;
    int r = yaml_parse(a, text, &docs, NULL, e);
    if (r < 0)
        return r;
    const struct json *doc = docs->first, *hooks = json_get(doc, "hooks");
    if (docs->n != 1 || !text_equal(json_get_text(doc, "version", ""), "v1"))
        return err_set(e, E_INVALID, "version: is missing or unknown; write version: v1");
    if (!json_is(hooks, JSON_OBJECT))
        return err_set(e, E_INVALID, "hooks: expected apply-start, pre-apply-mode, pre-apply-config or apply-exit");
    JSON_EACH (list, hooks) {
        uint32_t n = 0;
        if (!is_one_of(list->key, names) || (!json_is(list, JSON_ARRAY) && list->type != JSON_NULL))
            return err_set(e, E_INVALID, "hooks.%.60s: no such hook, or no list; there are apply-start, pre-apply-mode, pre-apply-config, "
                                         "apply-exit", list->key);
        JSON_EACH (hook, list) {
            r = check_hook(a, hook, arena_printf(a, "hooks.%s[%u]", list->key, n++), e);
            if (r < 0)
                return r;
        }
    }
    *ret_hooks = hooks;
    return 0;
}

/* ---- running ---- */

static char **hook_arguments(struct arena *a, const struct json *hook)
{
    const struct json *args = json_get(hook, "args");
    char **argv = arena_zero(a, HOOK_TEXTS_MAX + 2, sizeof *argv);
    size_t n = 0;
    argv[n++] = arena_text(a, json_get_text(hook, "command", ""));
    JSON_EACH (arg, args)
        argv[n++] = arena_text(a, arg->text);
    return argv;
}

/* Of equal names the command's win, as nvidia-mig-parted merges them. */
static char **hook_environment(struct arena *a, const struct json *hook, char *const *envs)
{
    size_t n = 0, envs_n = 0;
    while (envs[envs_n])
        envs_n++;
    char **list = arena_zero(a, HOOK_TEXTS_MAX + envs_n + 2, sizeof *list);
    const char *path = getenv("PATH");
    for (; n < envs_n; n++)
        list[n] = envs[n];
    JSON_EACH (env, json_get(hook, "envs")) {
        char *pair = arena_printf(a, "%s=%s", env->key, env->text);
        bool taken = false;
        for (size_t i = 0; i < envs_n && !taken; i++)
            taken = strncmp(envs[i], pair, env->key_n + 1) == 0;
        if (!taken)
            list[n++] = pair;
    }
    if (path && !json_get(json_get(hook, "envs"), "PATH"))
        list[n] = arena_printf(a, "PATH=%s", path);
    return list;
}

static int run_one(struct arena *a, const struct json *hook, const char *name, char *const *envs, struct err *e)
{
    char **argv = hook_arguments(a, hook), **list = hook_environment(a, hook, envs);
    const char *workdir = json_get_text(hook, "workdir", "");
    int status = 0;
    (void)fflush(stdout); /* the child would print it again */
    pid_t pid = fork();
    if (pid < 0)
        return err_errno(e, errno, "hook %s: %s", name, argv[0]);
    if (pid == 0) {
        if (!*workdir || chdir(workdir) == 0)
            (void)execvpe(argv[0], argv, list); /* returns only when it fails */
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno(e, errno, "hook %s: %s", name, argv[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(e, E_IO, "hook %s: %s cannot be run%s%s", name, argv[0], *workdir ? " in " : "", workdir);
    return err_set(e, E_IO, "hook %s: %s ended with %s %d", name, argv[0], WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

int mig_hooks_run(struct arena *a, const struct json *hooks, const char *name, char *const *envs, struct err *e)
{
    JSON_EACH (hook, json_get(hooks, name)) {
        int r = run_one(a, hook, name, envs, e);
        if (r < 0)
            return r;
    }
    return 0;
}
