/* The parser over the tables of all commands, and over a table of its own for what can go wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/config/config.h"
#include "base/bytes.h"
#include "base/log.h"
#include "cli/options.h"

enum { SPEED, OUTPUT, WAIT, GPUS, NODES, ALL, KEEP, BLANKS, NAMESPACE, OLD, OPTIONS_N };
static const struct option_row options[] = {
    [SPEED] = {.name = "speed", .normal = "1", .kind = OPTION_TEXT},
    [OUTPUT] = {.name = "output", .others = "output-format", .shorts = "o", .words = "table|json|yaml", .normal = "table",
                .variables = "TEST_OLD_OUTPUT,TEST_OUTPUT", .kind = OPTION_WORD},
    [WAIT] = {.name = "wait", .shorts = "w", .least = 100, .kind = OPTION_TIME},
    [GPUS] = {.name = "gpus", .most = 16, .kind = OPTION_NUMBER, .variables = "TEST_GPUS"},
    [NODES] = {.name = "nodes", .many = true, .kind = OPTION_TEXT},
    [ALL] = {.name = "all", .shorts = "A", .kind = OPTION_FLAG, .variables = "TEST_ALL"},
    [KEEP] = {.name = "keep", .normal = "true", .kind = OPTION_FLAG},
    [BLANKS] = {.name = "blanks", .shorts = "rbmn", .kind = OPTION_FLAG},
    [NAMESPACE] = {.name = "namespace", .shorts = "n", .kind = OPTION_TEXT, .role = OPTION_IS_REFUSED, .why = "in no namespace"},
    [OLD] = {.name = "old", .kind = OPTION_TEXT, .role = OPTION_IS_IGNORED, .why = "it is old"},
};
static const struct command_row command = {.name = "test", .help = "the help\n", .options = options, .options_n = OPTIONS_N,
                                           .arguments_most = 2, .arguments_wrong = "name one"};

static char said[4096]; /* on both streams */
static struct options o;

static int parse_line(const struct command_row *row, int argc, char **argv)
{
    FILE *to = tmpfile(), *out = stdout, *err = stderr;
    assert_non_null(to);
    options_free(&o);
    stdout = stderr = to;
    int code = options_parse(&o, row, argc, argv);
    stdout = out;
    stderr = err;
    rewind(to);
    said[fread(said, 1, sizeof said - 1, to)] = '\0';
    (void)fclose(to);
    return code;
}

/* Words by spaces. */
static int parse(const char *line)
{
    static char text[1024];
    char *argv[32] = {(char[]){"test"}}, *save = NULL;
    int argc = 1;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    return parse_line(&command, argc, argv);
}

static void assert_wrong(const char *line, const char *sentence)
{
    char whole[512];
    (void)snprintf(whole, sizeof whole, "capstan test: %s\nTry 'capstan test --help'.\n", sentence);
    assert_int_equal(parse(line), EXIT_USAGE);
    assert_string_equal(said, whole);
}

static void test_defaults(void **state)
{
    assert_int_equal(parse(""), -1);
    assert_string_equal(option_text(&o, SPEED), "1");
    assert_int_equal(option_word(&o, OUTPUT), 0);
    assert_int_equal(option_number(&o, GPUS, -7), -7);
    assert_int_equal(option_number(&o, WAIT, -7), -7);
    assert_true(option_flag(&o, KEEP));
    assert_false(option_flag(&o, ALL));
    assert_null(option_text(&o, NODES));
    assert_int_equal(o.given_n, 0);
    assert_null(option_shared(&o, "nothing"));
}

static void test_forms(void **state)
{
    static const char *const outputs[] = {"--output json", "--output=json", "-o json", "-ojson", "-o=json", "--output-format json",
                                          "-Ao json", "-Aojson", "-o table -o json", "--output table --output=json"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        assert_int_equal(parse(outputs[i]), -1);
        assert_int_equal(option_word(&o, OUTPUT), 1);
        assert_true(o.on_line[OUTPUT]);
        assert_string_equal(option_shared(&o, "output"), "json");
    }
    assert_int_equal(parse("-rbmn -A"), -1);
    assert_true(option_flag(&o, BLANKS) && option_flag(&o, ALL));
    assert_int_equal(parse("--all=false --keep=0 -A=T"), -1);
    assert_true(option_flag(&o, ALL)); /* the last counts */
    assert_false(option_flag(&o, KEEP));
    assert_int_equal(parse("--wait 1m30s --gpus 16"), -1);
    assert_int_equal(option_number(&o, WAIT, 0), 90000);
    assert_int_equal(option_number(&o, GPUS, 0), 16);
    assert_int_equal(parse("--speed --all"), -1); /* a value may look like an option */
    assert_string_equal(option_text(&o, SPEED), "--all");
    assert_int_equal(parse("--speed= --nodes a --nodes=b"), -1);
    assert_string_equal(option_text(&o, SPEED), "");
    assert_int_equal(o.given_n, 3);
    assert_string_equal(o.given[1].text, "a");
    assert_string_equal(o.given[2].text, "b");
}

static void test_arguments(void **state)
{
    assert_int_equal(parse("a --all -"), -1);
    assert_int_equal(o.arguments_n, 2);
    assert_string_equal(o.arguments[0], "a");
    assert_string_equal(o.arguments[1], "-");
    assert_null(o.arguments[2]);
    assert_int_equal(parse("-- --all -x"), -1);
    assert_false(option_flag(&o, ALL));
    assert_string_equal(o.arguments[0], "--all");
    assert_wrong("a b c", "unexpected argument c");
}

static void test_help(void **state)
{
    static const char *const lines[] = {"--help", "-h", "-Ah", "a b c --help", "--gpus 3 -h --nonsense"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse(lines[i]), EXIT_OK);
        assert_string_equal(said, "the help\n");
    }
    assert_wrong("--nonsense --help", "unknown option --nonsense");
}

static void test_wrong(void **state)
{
    assert_wrong("--outptu json", "unknown option --outptu; did you mean --output?");
    assert_wrong("--out=json", "unknown option --out; did you mean --output?");
    assert_wrong("--hlep", "unknown option --hlep; did you mean --help?"); /* as near as --keep */
    assert_wrong("--sped 1", "unknown option --sped; did you mean --speed?");
    assert_wrong("--nmaespaces", "unknown option --nmaespaces"); /* what is refused anyway is not offered */
    assert_wrong("--x", "unknown option --x");
    assert_wrong("-all", "unknown option -all; did you mean --all?");
    assert_wrong("-Az", "unknown option -Az");
    assert_wrong("--speed", "--speed: a value is missing");
    assert_wrong("-A -o", "--output: a value is missing");
    assert_wrong("--output xml", "--output: use table, json or yaml, not 'xml'");
    assert_wrong("--output=", "--output: use table, json or yaml, not ''");
    assert_wrong("--all=yes", "--all: use true or false, not 'yes'");
    assert_wrong("--gpus 17", "--gpus: a number from 0 to 16, not '17'");
    assert_wrong("--gpus -1", "--gpus: a number from 0 to 16, not '-1'");
    assert_wrong("--gpus 1e1", "--gpus: a number from 0 to 16, not '1e1'");
    assert_wrong("--wait 99ms", "--wait: a time of at least 100ms, as 90s, 10m or 2h, not '99ms'");
    assert_wrong("--wait soon", "--wait: a time of at least 100ms, as 90s, 10m or 2h, not 'soon'");
    assert_wrong("-n x", "in no namespace");
    assert_int_equal(parse("--old thing"), -1); /* taken, said, and nothing more */
    assert_null(option_text(&o, OLD));
}

static void test_environment(void **state)
{
    assert_int_equal(setenv("TEST_OLD_OUTPUT", "json", 1) + setenv("TEST_ALL", "T", 1), 0);
    assert_int_equal(parse(""), -1);
    assert_int_equal(option_word(&o, OUTPUT), 1);
    assert_false(o.on_line[OUTPUT]);
    assert_true(option_flag(&o, ALL));
    assert_int_equal(setenv("TEST_OUTPUT", "yaml", 1), 0); /* the later of the two */
    assert_int_equal(parse(""), -1);
    assert_int_equal(option_word(&o, OUTPUT), 2);
    assert_int_equal(parse("-o table --all=false"), -1); /* an option wins */
    assert_int_equal(option_word(&o, OUTPUT), 0);
    assert_false(option_flag(&o, ALL));
    assert_int_equal(setenv("TEST_OUTPUT", "", 1) + setenv("TEST_ALL", "perhaps", 1), 0);
    assert_int_equal(parse(""), -1); /* empty: not set; neither true nor false: left out */
    assert_int_equal(option_word(&o, OUTPUT), 1);
    assert_false(option_flag(&o, ALL));
    assert_int_equal(setenv("TEST_GPUS", "many", 1), 0);
    assert_wrong("", "$TEST_GPUS: a number from 0 to 16, not 'many'");
    assert_int_equal(parse("--gpus 2"), -1); /* who gives the option need not mind the variable */
    assert_int_equal(unsetenv("TEST_OLD_OUTPUT") + unsetenv("TEST_OUTPUT") + unsetenv("TEST_ALL") + unsetenv("TEST_GPUS"), 0);
}

/* ---- the tables of the commands ---- */

/* A value that the row takes. */
static void fitting(const struct option_row *row, char ret_text[64])
{
    switch (row->kind) {
    case OPTION_FLAG:
        (void)snprintf(ret_text, 64, "true");
        break;
    case OPTION_WORD:
        (void)snprintf(ret_text, 64, "%.*s", (int)strcspn(row->words, "|"), row->words);
        break;
    case OPTION_NUMBER:
        (void)snprintf(ret_text, 64, "%lld", (long long)row->most);
        break;
    case OPTION_TIME:
        (void)snprintf(ret_text, 64, "%lldms", (long long)row->least);
        break;
    case OPTION_TEXT:
        (void)snprintf(ret_text, 64, "x=1");
    }
}

/* A verb that the option goes with; "": the command has none. */
static void fitting_verb(const struct command_row *whose, const struct option_row *row, char ret_text[64])
{
    const char *verbs = row->verbs ? row->verbs : whose->verbs ? whose->verbs : "";
    (void)snprintf(ret_text, 64, "%.*s", (int)strcspn(verbs, ","), verbs);
}

static void assert_taken(const struct command_row *row, uint32_t id, const char *dashes, const char *name, size_t name_n)
{
    char word[128], value[64], verb[64];
    char *argv[] = {(char[]){"command"}, word, verb, NULL};
    fitting(&row->options[id], value);
    fitting_verb(row, &row->options[id], verb);
    (void)snprintf(word, sizeof word, "%s%.*s=%s", dashes, (int)name_n, name, value);
    int code = parse_line(row, *verb ? 3 : 2, argv);
    bool is_refused = row->options[id].role == OPTION_IS_REFUSED;
    bool too_few = code == EXIT_USAGE && row->arguments_least > 0 && strstr(said, row->arguments_wrong);
    if (is_refused ? code != EXIT_USAGE || !strstr(said, row->options[id].why) : code != -1 && !too_few)
        fail_msg("capstan %s %s: %d %s", row->name, word, code, said);
    if (row->options[id].role <= OPTION_IS_SETTING && (!o.on_line[id] || !text_equal(o.values[id], value)))
        fail_msg("capstan %s %s: not taken", row->name, word);
}

static void for_names(const struct command_row *row, uint32_t id, const char *list, const char *dashes)
{
    for (; list && *list; list += strspn(list, ",")) {
        size_t n = strcspn(list, ",");
        assert_taken(row, id, dashes, list, n);
        list += n;
    }
}

static void test_every_option_is_taken(void **state)
{
    for (int i = 0; i < COMMANDS_N; i++)
        for (uint32_t id = 0; id < command_rows[i].options_n; id++) {
            const struct option_row *row = &command_rows[i].options[id];
            for_names(&command_rows[i], id, row->name, "--");
            for_names(&command_rows[i], id, row->others, "--");
            for_names(&command_rows[i], id, row->shorts, "-");
        }
}

/* Every one that is not hidden stands in --help, with every value that is a default fitting. */
static void test_every_option_is_helped(void **state)
{
    for (int i = 0; i < COMMANDS_N; i++) {
        const struct command_row *row = &command_rows[i];
        for (uint32_t id = 0; id < row->options_n; id++) {
            char lead[80];
            (void)snprintf(lead, sizeof lead, " --%s", row->options[id].name);
            if (!strstr(row->help, lead) != (row->options[id].role > OPTION_IS_SETTING))
                fail_msg("capstan %s --help: %s", row->name, lead);
            if (row->options[id].normal && row->options[id].kind != OPTION_TEXT) {
                char word[128];
                char *argv[] = {(char[]){"command"}, word, NULL};
                (void)snprintf(word, sizeof word, "--%s=%s", row->options[id].name, row->options[id].normal);
                (void)parse_line(row, 2, argv);
                if (!o.on_line[id])
                    fail_msg("capstan %s: the default of %s is refused: %s", row->name, lead, said);
            }
        }
        for (const char *line = row->help; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > 100 && strncmp(line, "Example: ", 9) != 0 && strncmp(line, "         ", 9) != 0)
                fail_msg("capstan %s --help: wider than 100: %.*s", row->name, (int)strcspn(line, "\n"), line);
    }
}

/* agent/config takes the setting at `path` from each of these variables. */
static void check_variables(const struct option_row *row, const char *path)
{
    _cleanup_arena_ struct arena *a = arena_new();
    for (const char *list = row->variables; list && *list; list += *list == ',') {
        size_t n = strcspn(list, ",");
        char *environment[] = {arena_printf(a, "%.*s=1", (int)n, list), NULL};
        struct config_setting *found;
        if (config_settings_of_environment(a, environment, &found) != 1 || !text_equal(found->path, path))
            fail_msg("--%s: agent/config does not take it from %s", row->name, environment[0]);
        list += n;
    }
}

/* NVIDIA's settings are judged by agent/config: it knows each of them, which have no value, and the variables that help tells of. */
static void test_settings_are_known(void **state)
{
    uint32_t settings_n = 0, variables_n = 0;
    for (int i = 0; i < COMMANDS_N; i++)
        for (uint32_t id = 0; id < command_rows[i].options_n; id++) {
            const struct option_row *row = &command_rows[i].options[id];
            const char *path;
            bool is_switch;
            if (row->role != OPTION_IS_SETTING)
                continue;
            settings_n++;
            if (!config_setting_of_flag(row->name, &path, &is_switch) || is_switch != (row->kind == OPTION_FLAG))
                fail_msg("--%s: agent/config knows it not, or otherwise", row->name);
            check_variables(row, path);
            variables_n += row->variables != NULL;
        }
    assert_true(settings_n > 20 && variables_n > 20);
}

/* Whatever is typed is taken or answered with a sentence. */
static void test_random_lines(void **state)
{
    static const char *const words[] = {"-", "--", "---", "=", "--=", "-=", "-h=", "--help=x", "-o", "-oo", "-A", "-Ah=", "-rbmn", "-rbmnA",
                                        "--output", "--all", "--all=", "--gpus", "9", "true", "json", "", "--namespace", "-n", "-nA",
                                        "--a-name-that-is-longer-than-sixty-three-characters-and-therefore-near-to-none-of-those"};
    enum { WORDS_N = sizeof words / sizeof *words };
    char text[32][128], *argv[8];
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        int argc = 1 + (int)(seed >> 60) % 8;
        for (int i = 0; i < argc; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            (void)snprintf(text[i], sizeof text[i], "%s%s", words[(seed >> 33) % WORDS_N], seed >> 62 ? "" : words[(seed >> 40) % WORDS_N]);
            argv[i] = text[i];
        }
        int code = parse_line(&command, argc, argv);
        if (code == EXIT_USAGE ? !text_starts(said, "capstan test: ") || !text_ends(said, "Try 'capstan test --help'.\n")
                               : code == EXIT_OK ? !text_equal(said, "the help\n") : code != -1 || o.arguments_n > 2)
            fail_msg("round %d: %d %s", round, code, said);
    }
}

static void test_near(void **state)
{
    char name[64];
    assert_true(option_near("shceduler", "up demo scheduler agent", name));
    assert_string_equal(name, "scheduler");
    assert_true(option_near("sched", "up demo scheduler agent", name));
    assert_string_equal(name, "scheduler");
    assert_false(option_near("zebra", "up demo scheduler agent", name));
    assert_false(option_near("u", "up demo", name));
    assert_false(option_near("", "up demo", name));
    assert_false(option_near("xy", "", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_forms),
                                       cmocka_unit_test(test_arguments),
                                       cmocka_unit_test(test_help),
                                       cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_environment),
                                       cmocka_unit_test(test_every_option_is_taken),
                                       cmocka_unit_test(test_every_option_is_helped),
                                       cmocka_unit_test(test_settings_are_known),
                                       cmocka_unit_test(test_random_lines),
                                       cmocka_unit_test(test_near)};
    log_set_level(LOG_ERROR); /* what has no effect is said in a warning */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    options_free(&o);
    return failed;
}
