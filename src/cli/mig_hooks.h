/* mig_hooks.h - the hooks file v1 of nvidia-mig-parted: programs to run around an apply
 *
 *     apply-start, pre-apply-mode, pre-apply-config, apply-exit: lists of {command, args, envs, workdir}, run one after the other
 *
 * A hook gets its own envs, the MIG_PARTED_* variables of the command, and PATH. The first that fails ends its list.
 */
#ifndef CLI_MIG_HOOKS_H
#define CLI_MIG_HOOKS_H
#include "wire/json.h"

/* ret_hooks: hook name -> list; checked. */
int mig_hooks_parse(struct arena *a, struct bytes text, const struct json **ret_hooks, struct err *e);
/* hooks may be NULL. envs: "NAME=value" of the command, NULL at the end. Waits for each. */
int mig_hooks_run(struct arena *a, const struct json *hooks, const char *name, char *const *envs, struct err *e);

#endif
