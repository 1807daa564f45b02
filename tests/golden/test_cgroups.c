/* test_cgroups.c - cgroup/forms.tsv: what /proc/PID/cgroup says under each runtime, driver and version, and whose process that is
 *
 *     golden_cgroups DIRECTORY
 *
 * Then the same texts damaged at random: nothing is read behind them, and what is found is whole.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "agent/inventory/pod_cgroup.h"
#include "base/arena.h"
#include "base/random.h"

enum { LINE_BYTES = 8192, FORMS_MAX = 200, DAMAGED_N = 200000 };

struct form {
    const char *setup, *text, *uid, *container;
};

/* "-" is nothing, "\n" a newline, "\\" a backslash. */
static const char *unescape(struct arena *a, const char *from)
{
    char *text = arena_text(a, text_equal(from, "-") ? "" : from), *to = text;
    for (const char *at = text; *at; at++) {
        bool escaped = at[0] == '\\' && (at[1] == 'n' || at[1] == '\\');
        *to++ = escaped && *++at == 'n' ? '\n' : *at;
    }
    *to = '\0';
    return text;
}

static uint32_t forms_read(const char *directory, struct arena *a, struct form *list)
{
    char path[512], line[LINE_BYTES];
    uint32_t n = 0;
    (void)snprintf(path, sizeof path, "%s/forms.tsv", directory);
    FILE *f = fopen(path, "r");
    assert(f);
    while (fgets(line, sizeof line, f)) {
        char *save = NULL, *fields[4] = {strtok_r(line, "\t\n", &save)};
        if (!fields[0] || *fields[0] == '#')
            continue;
        for (int i = 1; i < 4; i++)
            fields[i] = strtok_r(NULL, "\t\n", &save);
        assert(fields[3] && n < FORMS_MAX);
        list[n++] = (struct form){arena_text(a, fields[0]), unescape(a, fields[1]), unescape(a, fields[2]),
                                  unescape(a, fields[3])};
    }
    (void)fclose(f);
    return n;
}

static bool is_right(const struct form *form)
{
    struct pod_cgroup c;
    bool found = pod_cgroup_parse(bytes_of(form->text), &c);
    if (found == (*form->uid || *form->container) && text_equal(c.uid, form->uid) &&
        text_equal(c.container, form->container))
        return true;
    printf("# found pod \"%s\" container \"%s\" in:\n# %s\n", c.uid, c.container, form->text);
    return false;
}

static bool survives_damage(const struct form *forms, uint32_t forms_n)
{
    struct random r = {9};
    bool ok = true;
    for (int i = 0; i < DAMAGED_N; i++) {
        const char *from = forms[random_below(&r, forms_n)].text;
        size_t n = random_below(&r, strlen(from) + 1);
        char *text = malloc(n ? n : 1); /* exact: a step behind it is seen */
        assert(text);
        memcpy(text, from, n);
        for (uint64_t k = n > 0 ? random_below(&r, 4) : 0; k > 0; k--)
            text[random_below(&r, n)] = "/:-_.\npodx0\0"[random_below(&r, 12)];
        struct pod_cgroup c;
        bool found = pod_cgroup_parse((struct bytes){text, n}, &c);
        size_t uid_n = strnlen(c.uid, sizeof c.uid), container_n = strnlen(c.container, sizeof c.container);
        ok = ok && found == (uid_n || container_n) && (uid_n == 0 || uid_n == 32 || uid_n == 36) &&
             (container_n == 0 || (container_n >= 32 && container_n < sizeof c.container));
        free(text);
    }
    return ok;
}

int main(int argc, char **argv)
{
    static struct form forms[FORMS_MAX];
    struct arena *a = arena_new();
    uint32_t failed_n = 0;
    assert(argc == 2);
    uint32_t n = forms_read(argv[1], a, forms);
    printf("1..%u\n", n + 1);
    for (uint32_t i = 0; i < n; i++) {
        bool ok = is_right(&forms[i]);
        printf("%s %u %s\n", ok ? "ok" : "not ok", i + 1, forms[i].setup);
        failed_n += !ok;
    }
    bool ok = survives_damage(forms, n);
    printf("%s %u damaged texts\n", ok ? "ok" : "not ok", n + 1);
    arena_free(a);
    return failed_n > 0 || !ok;
}
