/* why.h - what capstan why prints, for whoever shows it elsewhere */
#ifndef CLI_WHY_H
#define CLI_WHY_H
#include <stdio.h>
#include "cli/connect.h"

/* Of KIND/NAME in c->ns, without colours unless `out` is standard output. Returns 0, or -code with the text in e. */
int why_print(struct connection *c, const char *what, FILE *out, struct err *e);

#endif
