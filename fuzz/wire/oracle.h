/* oracle.h - what jansson says about a text. Its own file: jansson and wire/json.h use some of the same names. */
#ifndef FUZZ_ORACLE_H
#define FUZZ_ORACLE_H
#include <stddef.h>

enum oracle_answer { ORACLE_REFUSED, ORACLE_ACCEPTED, ORACLE_NUMBER_TOO_LARGE };
enum oracle_answer oracle_json(const char *text, size_t n);

#endif
