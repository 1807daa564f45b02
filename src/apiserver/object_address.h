/* object_address.h - cluster addresses of Services: one of 10.96.0.0/16 each, nobody routes them */
#ifndef APISERVER_OBJECT_ADDRESS_H
#define APISERVER_OBJECT_ADDRESS_H
#include "apiserver/object_write.h"

/* Give a Service without address one; keep the old one on update. Refuses an address that another Service has. */
void object_address_settle(struct object_write *w);

#endif
