/* access_control.h - who may talk to us at all, and may do what he asks */
#ifndef APISERVER_ACCESS_CONTROL_H
#define APISERVER_ACCESS_CONTROL_H
#include "apiserver/request/request.h"

/* Host and Origin checks, authentication, rights. False: answered already. Called first for every request. */
bool access_check(struct apiserver *s, struct http_exchange *x);

#endif
