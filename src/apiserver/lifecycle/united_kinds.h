/* united_kinds.h - data folders of builds that kept the two Event groups apart */
#ifndef APISERVER_UNITED_KINDS_H
#define APISERVER_UNITED_KINDS_H
#include "apiserver/server.h"

/* Move what is still stored under a kind's own name to the kind as which it is stored (kind_stored). Before anybody looks at the store. */
void united_kinds_move(struct apiserver *s);

#endif
