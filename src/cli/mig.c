/* mig.c - capstan mig: assert, apply and export MIG layouts on the GPUs of this machine, with mig-parted's files and option names */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/driver/driver_nvml.h"
#include "agent/mig/mig_apply.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/mig_hooks.h"
#include "wire/yaml.h"

#define STATE_DIR "/var/lib/capstan" /* the agent's: one of the two has it at a time */

enum verb { VERB_ASSERT, VERB_APPLY, VERB_EXPORT, VERB_GENERATE };
static const char *const verbs[] = {"assert", "apply", "export", "generate-config"};

struct command {
    enum verb verb;
    const char *file, *selected, *label, *hooks_file, *nvml_path, *driver_root, *reset_command, *state_dir;
    bool mode_only, skip_reset, valid_config, dry_run, wait;
    bool has_output;
    enum output_format output;
    int64_t timeout_ms;
    const struct options *given;
    /* while it runs */
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory; /* NULL: no journal */
    struct arena *arena;
    const struct mig_layout *layout;
    struct mig_apply *apply; /* under way; NULL: none */
    const struct json *hooks;
    struct driver_reading *reading;
    int exit_code;
};

static int fail(const struct command *c, const struct err *e)
{
    fprintf(stderr, "capstan mig %s: %s\n", verbs[c->verb], e->text);
    return e->code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
}

/* ---- options ---- */

/* NULL where it is empty: as charts write it when there is none. */
static const char *text_or_null(const struct options *o, uint32_t id)
{
    const char *text = option_text(o, id);
    return text && *text ? text : NULL;
}

static struct command taken(const struct options *o, enum verb verb)
{
    bool of_environment = verb >= VERB_EXPORT && option_text(o, OPT_MIG_OUTPUT); /* nvidia-mig-parted has the variable for export alone */
    return (struct command){.given = o,
                            .verb = verb,
                            .file = text_or_null(o, OPT_MIG_CONFIG_FILE),
                            .selected = text_or_null(o, OPT_MIG_SELECTED_CONFIG),
                            .label = text_or_null(o, OPT_MIG_CONFIG_LABEL),
                            .hooks_file = text_or_null(o, OPT_MIG_HOOKS_FILE),
                            .nvml_path = option_text(o, OPT_MIG_LIBRARY),
                            .driver_root = option_text(o, OPT_MIG_DRIVER_ROOT),
                            .reset_command = option_text(o, OPT_MIG_RESET_COMMAND),
                            .state_dir = option_text(o, OPT_MIG_STATE_DIR),
                            .mode_only = option_flag(o, OPT_MIG_MODE_ONLY),
                            .skip_reset = option_flag(o, OPT_MIG_SKIP_RESET),
                            .valid_config = option_flag(o, OPT_MIG_VALID_CONFIG),
                            .dry_run = option_flag(o, OPT_MIG_DRY_RUN),
                            .wait = option_word(o, OPT_MIG_BUSY) == 1,
                            .timeout_ms = option_number(o, OPT_MIG_TIMEOUT, 0),
                            .has_output = o->on_line[OPT_MIG_OUTPUT] || of_environment,
                            .output = o->on_line[OPT_MIG_OUTPUT] || of_environment ? output_format_of(o) : OUTPUT_TABLE};
}

/* ---- the file ---- */

static int select_layout(struct command *c, const struct mig_config *config, struct err *e)
{
    if (!c->selected && config->layouts_n == 1)
        c->selected = config->layouts[0].name;
    c->layout = c->selected ? mig_config_find(config, c->selected) : NULL;
    if (c->layout)
        return 0;
    struct buf names = {0};
    for (uint32_t i = 0; i < config->layouts_n && names.n < 300; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", config->layouts[i].name);
    int r = c->selected ? err_set(e, E_NOTFOUND, "no layout '%s': there are %s", c->selected, names.data)
                        : err_set(e, E_INVALID, "which layout? -c with one of %s", names.data);
    buf_free(&names);
    return r;
}

/* From the file; without one the default layouts of the GPUs that the reading names. */
static int load_layout(struct command *c, struct err *e)
{
    struct mig_config config;
    _cleanup_buf_ struct buf text = {0};
    int r = 0;
    if (c->file)
        r = file_read_input(c->file, LIMIT_AGENT_CONFIG_BYTES, &text, e);
    else
        mig_config_default(c->reading, &text);
    if (r < 0)
        return r;
    r = mig_config_parse(c->arena, (struct bytes){arena_text_n(c->arena, text.data ? text.data : "", text.n), text.n}, &config, e);
    if (r < 0)
        return c->file ? err_wrap(e, "%s", c->file) : r;
    return select_layout(c, &config, e);
}

/* ---- export ---- */

static int print_file(const struct command *c, const struct buf *yaml)
{
    struct json *docs;
    struct err e;
    if (!c->has_output || c->output == OUTPUT_YAML) {
        fwrite(yaml->data, 1, yaml->n, stdout);
        return EXIT_OK;
    }
    if (yaml_parse(c->arena, buf_view(yaml), &docs, NULL, &e) < 0)
        return fail(c, &e);
    output_json(docs->first, OUTPUT_JSON);
    return EXIT_OK;
}

static int export(const struct command *c)
{
    _cleanup_buf_ struct buf text = {0};
    if (c->verb == VERB_GENERATE)
        mig_config_default(c->reading, &text);
    else
        mig_config_export(c->reading, c->label ? c->label : "current", &text);
    int code = print_file(c, &text);
    for (uint32_t i = 0; c->verb == VERB_EXPORT && i < LIMIT_NODE_GPUS; i++) {
        if (c->reading->silent >> i & 1) {
            fprintf(stderr, "capstan mig export: GPU %u does not answer: it is not in the file\n", i);
            code = EXIT_FAILED;
        }
    }
    return code;
}

/* ---- what would be done ---- */

static const struct output_column step_columns[] = {
    {"gpu", "GPU", true, false}, {"uuid", "UUID", false, true}, {"step", "STEP", false, false}, {"inUse", "IN USE", false, false}};

static int print_steps(const struct command *c)
{
    struct output_table t;
    struct err e;
    if (mig_apply_reaches(c->reading, c->layout, &e) < 0)
        return fail(c, &e);
    output_init(&t, c->arena, step_columns, sizeof step_columns / sizeof *step_columns);
    for (uint32_t g = 0; g < c->reading->gpus_n; g++) {
        const struct driver_gpu *gpu = &c->reading->gpus[g];
        struct mig_plan plan = {0};
        if (mig_apply_plan(gpu, NULL, c->layout, c->mode_only, &plan, &e) < 0) {
            output_fini(&t);
            (void)fail(c, &e); /* as apply does */
            return EXIT_NO_FIT;
        }
        for (uint32_t i = 0; i < plan.steps_n; i++) {
            char text[96];
            mig_step_text(mig_geometry(gpu), &plan.steps[i], text);
            const char *cells[] = {arena_printf(c->arena, "%u", gpu->index), gpu->uuid, text, plan.steps[i].busy ? "yes" : "no"};
            output_row(&t, cells);
        }
    }
    if (t.rows_n || c->output != OUTPUT_TABLE)
        output_print(&t, c->output);
    else
        fprintf(stderr, "nothing to do: the GPUs are as layout '%s' says\n", c->layout->name);
    output_fini(&t);
    return EXIT_OK;
}

static void print_result(const struct command *c, const struct mig_apply_result *r)
{
    struct json *o = json_new(c->arena, JSON_OBJECT);
    json_set_text(c->arena, o, "layout", c->layout->name);
    json_set_bool(c->arena, o, "applied", r->code == 0);
    json_set_int64(c->arena, o, "changed", r->changed_n);
    json_set_int64(c->arena, o, "unchanged", r->unchanged_n);
    json_set_int64(c->arena, o, "failed", r->failed_n);
    json_set_int64(c->arena, o, "steps", r->steps_n);
    json_set_bool(c->arena, o, "resetRequired", r->reset_required);
    if (r->code)
        json_set_text(c->arena, o, "error", r->error.text);
    output_json(o, c->output);
}

static int assert_layout(const struct command *c)
{
    struct err e = {0};
    struct mig_apply_result r = {.code = mig_apply_assert(c->reading, c->layout, c->mode_only, &e), .error = e};
    if (c->has_output)
        print_result(c, &r);
    if (r.code < 0) {
        (void)fail(c, &e); /* a failed assertion is 1, whatever is missing */
        return EXIT_FAILED;
    }
    if (!c->has_output)
        printf("layout '%s' is in place\n", c->layout->name);
    return EXIT_OK;
}

/* ---- apply ---- */

/* Nobody is asked to leave: the transaction looks again each second until the time is over. */
static void wait_for_end(void *ctx, const struct mig_blockers *in_the_way, driver_done_fn done, void *arg)
{
    fprintf(stderr, "waiting until nothing runs on %s%s\n", in_the_way->list[0].unit, in_the_way->n > 1 ? " and others" : "");
    done(arg, 0, &(struct err){0});
}

static int run_hooks(const struct command *c, const char *name, struct err *e)
{
    if (!c->hooks)
        return 0;
    char *const envs[] = {arena_printf(c->arena, "MIG_PARTED_CONFIG_FILE=%s", c->file ? c->file : ""),
                          arena_printf(c->arena, "MIG_PARTED_SELECTED_CONFIG=%s", c->selected),
                          arena_printf(c->arena, "MIG_PARTED_HOOKS_FILE=%s", c->hooks_file),
                          arena_printf(c->arena, "MIG_PARTED_SKIP_RESET=%s", c->skip_reset ? "true" : "false"),
                          arena_printf(c->arena, "MIG_PARTED_MODE_CHANGE_ONLY=%s", c->mode_only ? "true" : "false"),
                          NULL};
    return mig_hooks_run(c->arena, c->hooks, name, envs, e);
}

/* apply-start; pre-apply-mode when a mode differs, pre-apply-config when the instances do. */
static int run_first_hooks(const struct command *c, struct err *e)
{
    int r = run_hooks(c, "apply-start", e);
    if (r == 0 && mig_apply_assert(c->reading, c->layout, true, NULL) < 0)
        r = run_hooks(c, "pre-apply-mode", e);
    if (r == 0 && !c->mode_only && mig_apply_assert(c->reading, c->layout, false, NULL) < 0)
        r = run_hooks(c, "pre-apply-config", e);
    return r;
}

static void end_apply(struct command *c)
{
    struct err e;
    if (run_hooks(c, "apply-exit", &e) < 0) {
        (void)fail(c, &e); /* printed; the worse code stays */
        c->exit_code = c->exit_code ? c->exit_code : EXIT_FAILED;
    }
    loop_stop(c->loop);
}

static void on_applied(void *arg, const struct mig_apply_result *r)
{
    struct command *c = arg;
    c->apply = NULL;
    c->exit_code = r->code == 0 ? EXIT_OK : EXIT_FAILED;
    if (r->code == -E_INVALID && !r->steps_n)
        c->exit_code = EXIT_NO_FIT;
    if (c->has_output)
        print_result(c, r);
    if (r->code < 0)
        (void)fail(c, &r->error); /* the exit code is set above */
    if (r->code < 0 && r->changed_n)
        fprintf(stderr, "capstan mig apply: %u GPUs were changed, %u failed\n", r->changed_n, r->failed_n);
    else if (r->code == 0 && r->changed_n + r->unchanged_n == 0)
        fprintf(stderr, "capstan mig apply: no GPU here has MIG, or is named by the layout\n");
    else if (r->code == 0 && !c->has_output)
        printf("layout '%s': %u GPUs changed, %u as they were, %u steps%s\n", c->layout->name, r->changed_n, r->unchanged_n, r->steps_n,
               r->reset_required ? "; a GPU reset is needed" : "");
    end_apply(c);
}

/* With the journal that the agent has: not while it runs, and what either left unfinished comes first. */
static int open_journal(struct command *c, struct err *e)
{
    const char *dir = c->state_dir ? c->state_dir : access(STATE_DIR, W_OK) == 0 ? STATE_DIR : "";
    if (!*dir)
        return 0;
    int r = inventory_open(c->loop, arena_printf(c->arena, "%s/journal", dir), &c->inventory, e);
    if (r == -E_CONFLICT || r == -E_EXISTS || r == -E_AGAIN)
        return err_wrap(e, "while the agent runs here, label the node nvidia.com/mig.config=NAME instead");
    return r;
}

static void start_apply(struct command *c)
{
    struct mig_apply_config config = {.busy = c->wait ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE,
                                      .evict_timeout_ms = c->timeout_ms,
                                      .evict = c->wait ? wait_for_end : NULL,
                                      .mode_only = c->mode_only,
                                      .skip_reset = c->skip_reset};
    struct err e;
    if (mig_apply_reaches(c->reading, c->layout, &e) < 0) { /* before the hooks stop anything */
        c->exit_code = fail(c, &e);
        return loop_stop(c->loop);
    }
    if (run_first_hooks(c, &e) < 0) {
        c->exit_code = fail(c, &e);
        return end_apply(c);
    }
    c->apply = mig_apply_start(c->loop, c->driver, c->inventory, c->layout, &config, on_applied, c);
}

static void on_recovered(void *arg, const struct mig_apply_result *r)
{
    struct command *c = arg;
    c->apply = NULL;
    if (r->code < 0)
        (void)fail(c, &r->error); /* the layout that is wanted now may do without: in use elsewhere, for instance */
    if (r->changed_n)
        fprintf(stderr, "capstan mig apply: a change that was interrupted before was brought to its end on %u GPUs\n", r->changed_n);
    start_apply(c);
}

/* ---- running ---- */

static void on_interrupt(void *arg)
{
    fprintf(stderr, "capstan mig: a change that has begun is brought to its end\n");
}

static int act(struct command *c, bool *ret_goes_on)
{
    struct err e;
    if (c->verb >= VERB_EXPORT)
        return export(c);
    if (!c->layout && load_layout(c, &e) < 0)
        return fail(c, &e);
    uint32_t index;
    if (mig_apply_absent(c->reading, c->layout, &index))
        fprintf(stderr, "capstan mig %s: layout '%s' names GPU %u, which is not here\n", verbs[c->verb], c->layout->name, index);
    if (c->verb == VERB_ASSERT)
        return assert_layout(c);
    if (c->dry_run)
        return print_steps(c);
    if (open_journal(c, &e) < 0)
        return fail(c, &e);
    *ret_goes_on = true;
    c->apply = mig_apply_recover(c->loop, c->driver, c->inventory, &(struct mig_apply_config){0}, on_recovered, c);
    return EXIT_OK;
}

static void on_reading(void *arg, int code, const struct driver_reading *reading, const struct err *e)
{
    struct command *c = arg;
    bool goes_on = false;
    if (code < 0) {
        c->exit_code = fail(c, e);
        return loop_stop(c->loop);
    }
    c->reading = driver_reading_ref(reading);
    c->exit_code = act(c, &goes_on);
    if (!goes_on)
        loop_stop(c->loop);
}

static int run(struct command *c)
{
    struct err e = {0};
    struct driver_nvml_options options = {.nvml_path = c->nvml_path, .driver_root = c->driver_root, .reset_command = c->reset_command};
    c->loop = loop_new();
    struct loop_signal *interrupt = c->verb == VERB_APPLY && !c->dry_run ? loop_signal_new(c->loop, SIGINT, on_interrupt, c) : NULL;
    c->driver = driver_nvml_new_with(c->loop, &options);
    driver_read(c->driver, on_reading, c);
    if (loop_run(c->loop, &e) < 0)
        c->exit_code = fail(c, &e);
    driver_reading_unref(c->reading);
    mig_apply_cancel(c->apply);
    driver_free(c->driver);
    inventory_close(c->inventory);
    loop_signal_free(interrupt);
    loop_free(c->loop);
    return c->exit_code;
}

static int load_hooks(struct command *c, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    int r = file_read_input(c->hooks_file, LIMIT_AGENT_CONFIG_BYTES, &text, e);
    if (r < 0)
        return r;
    r = mig_hooks_parse(c->arena, (struct bytes){arena_text_n(c->arena, text.data ? text.data : "", text.n), text.n}, &c->hooks, e);
    return r < 0 ? err_wrap(e, "%s", c->hooks_file) : 0;
}

/* Everything that can be said without the GPUs. -1: go on. */
static int check(struct command *c)
{
    struct err e = {0};
    if (c->verb >= VERB_EXPORT)
        return c->has_output && c->output != OUTPUT_YAML && c->output != OUTPUT_JSON
                   ? options_wrong(c->given, "--output: want yaml or json here")
                   : -1;
    if ((c->output == OUTPUT_WIDE || c->output == OUTPUT_CSV) && !(c->verb == VERB_APPLY && c->dry_run))
        return options_wrong(c->given, "--output: want yaml or json here; wide and csv go with --dry-run");
    if (c->valid_config && !c->file)
        return options_wrong(c->given, "--valid-config: which file? Give -f FILE");
    if (!c->file && !c->selected)
        return options_wrong(c->given, "which layout? Give -f FILE, or -c with one that generate-config prints");
    if (c->file && load_layout(c, &e) < 0)
        return fail(c, &e);
    if (c->verb == VERB_APPLY && c->hooks_file && load_hooks(c, &e) < 0)
        return fail(c, &e);
    if (c->valid_config && c->verb == VERB_ASSERT) {
        printf("layout '%s' is valid\n", c->selected);
        return EXIT_OK;
    }
    return -1;
}

int mig_main(const struct options *o)
{
    int verb = 0;
    while (verb < VERB_GENERATE && !text_equal(o->arguments[0], verbs[verb])) /* it is one of them */
        verb++;
    struct command c = taken(o, (enum verb)verb);
    c.arena = arena_new();
    int code = check(&c);
    if (code < 0)
        code = run(&c);
    arena_free(c.arena);
    return code;
}
