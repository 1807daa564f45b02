/* rules.h - the table of what the server decides of single kinds (apply/kind_rules.h) */
#ifndef APISERVER_RULES_H
#define APISERVER_RULES_H
#include "apiserver/apply/kind_rules.h"

extern const struct write_rules server_rules;

#endif
