/* report_price.c - see report_price.h */
#include "exporter/report/report_price.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRICE_MAX 1e9

struct price {
    const char *part; /* "": all others */
    double amount;
};
struct report_prices {
    struct price items[LIMIT_REPORT_PRICES];
    uint32_t n;
};

static int add(struct arena *a, struct report_prices *p, const char *item, struct err *e)
{
    const char *equals = strchr(item, '='), *number = equals ? equals + 1 : item;
    char *end;
    double amount = *number >= '0' && *number <= '9' ? strtod(number, &end) : NAN;
    if (!isfinite(amount) || *end || amount > PRICE_MAX || equals == item)
        return err_set(e, E_INVALID, "\"%s\": write a price per GPU-hour (2.50), or MODEL=PRICE,... (A100=2.20,T4=0.35,1)", item);
    if (p->n == LIMIT_REPORT_PRICES)
        return err_set(e, E_INVALID, "more than %d prices", LIMIT_REPORT_PRICES);
    p->items[p->n++] = (struct price){equals ? arena_text_n(a, item, (size_t)(equals - item)) : "", amount};
    return 0;
}

int report_prices_parse(struct arena *a, const char *text, const struct report_prices **ret_prices, struct err *e)
{
    struct report_prices *p = arena_zero(a, 1, sizeof *p);
    int r = 0;
    for (const char *at = text; r == 0; at++) {
        size_t n = strcspn(at, ",");
        r = add(a, p, arena_text_n(a, at, n), e);
        at += n;
        if (!*at)
            break;
    }
    if (r == 0)
        *ret_prices = p;
    return r;
}

static int plain(char c)
{
    return c == ' ' || c == '_' ? '-' : tolower((unsigned char)c);
}

static bool has_part(const char *model, const char *part)
{
    for (; *model; model++) {
        size_t n = 0;
        while (part[n] && plain(model[n]) == plain(part[n]))
            n++;
        if (!part[n])
            return true;
    }
    return false;
}

double report_price_of(const struct report_prices *p, const char *model)
{
    double others = -1;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!*p->items[i].part)
            others = p->items[i].amount;
        else if (has_part(model, p->items[i].part))
            return p->items[i].amount;
    }
    return others;
}
