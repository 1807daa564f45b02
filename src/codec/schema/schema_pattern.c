/* schema_pattern.c - patterns of schemas are RE2, what the C library has is POSIX: one is rewritten as the other
 *
 * \d, \w, \s stand in brackets too; (?: is a plain group; lazy repeats match where greedy ones do. WHY compiled for each match: a compiled
 * pattern has memory that no arena frees, and custom resources are written rarely.
 */
#include <regex.h>
#include <stdlib.h>

#include "codec/schema/schema_checks.h"

#define PATTERN_BYTES_MAX 2048
#define PATTERN_REPEATS_MAX 4000 /* product of all {n}: what they multiply to is states */

struct rewrite {
    struct buf out;
    const char *at;
    bool in_brackets, failed;
    int64_t repeats;
};

/* \d and its like; NULL: the character stands for itself. */
static const char *class_of(char c)
{
    switch (c) {
    case 'd':
        return "0-9";
    case 'w':
        return "a-zA-Z0-9_";
    case 's':
        return " \t\n\f\r\v";
    case 't':
        return "\t";
    case 'n':
        return "\n";
    default:
        return NULL;
    }
}

static void escape(struct rewrite *r)
{
    char c = *r->at;
    const char *class = class_of(c), *negated = class_of((char)(c | 0x20));
    if (!c) {
        r->failed = true;
        return;
    }
    r->at++;
    if (class && r->in_brackets) {
        buf_text(&r->out, class);
    } else if (class) {
        buf_printf(&r->out, "[%s]", class);
    } else if ((c == 'D' || c == 'W' || c == 'S') && !r->in_brackets) {
        buf_printf(&r->out, "[^%s]", negated);
    } else if (c == 'A' || c == 'z') {
        buf_char(&r->out, c == 'A' ? '^' : '$');
    } else if (c == 'b' && !r->in_brackets) {
        buf_text(&r->out, "\\b");
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
        r->failed = true;
    } else if (r->in_brackets && strchr("]^[", c)) {
        r->failed = true; /* POSIX has them by their place only */
    } else if (r->in_brackets && c == '-') {
        buf_text(&r->out, "[.-.]");
    } else {
        if (!r->in_brackets)
            buf_char(&r->out, '\\');
        buf_char(&r->out, c);
    }
}

static void repeat(struct rewrite *r)
{
    int64_t n = strtoll(r->at + 1, NULL, 10);
    const char *comma = strpbrk(r->at, ",}");
    int64_t most = comma && *comma == ',' ? strtoll(comma + 1, NULL, 10) : 0;
    n = most > n ? most : n;
    r->repeats *= n > 0 ? n : 1;
    r->failed = r->failed || r->repeats > PATTERN_REPEATS_MAX;
}

static void open_group(struct rewrite *r)
{
    buf_char(&r->out, '(');
    r->at++;
    if (r->at[0] != '?')
        return;
    r->failed = r->failed || r->at[1] != ':';
    r->at += r->at[1] ? 2 : 1;
}

/* The first ']' of a bracket expression, and one after '^', stand for themselves in both. */
static void open_brackets(struct rewrite *r)
{
    r->in_brackets = true;
    do
        buf_char(&r->out, *r->at++);
    while (*r->at == '^' && r->at[-1] == '[');
    if (*r->at == ']')
        buf_char(&r->out, *r->at++);
}

static void step(struct rewrite *r)
{
    char c = *r->at;
    if (c == '\\') {
        r->at++;
        escape(r);
        return;
    }
    if (r->in_brackets) {
        r->in_brackets = c != ']';
    } else if (c == '(') {
        open_group(r);
        return;
    } else if (c == '[') {
        open_brackets(r);
        return;
    } else if (c == '{') {
        repeat(r);
    } else if (c == '?' && r->out.n && strchr("*+?}", r->at[-1])) {
        r->at++; /* lazy */
        return;
    }
    buf_char(&r->out, c);
    r->at++;
}

bool schema_pattern_matches(const char *pattern, const char *text)
{
    struct rewrite r = {.at = pattern, .repeats = 1};
    regex_t compiled;
    int flags = REG_EXTENDED | REG_NOSUB;
    bool matches = true;
    if (text_starts(pattern, "(?i)")) {
        flags |= REG_ICASE;
        r.at += 4;
    }
    while (*r.at && !r.failed && r.out.n < PATTERN_BYTES_MAX)
        step(&r);
    if (!r.failed && !*r.at && regcomp(&compiled, r.out.n ? r.out.data : "", flags) == 0) {
        matches = regexec(&compiled, text, 0, NULL, 0) == 0;
        regfree(&compiled);
    }
    buf_free(&r.out);
    return matches;
}
