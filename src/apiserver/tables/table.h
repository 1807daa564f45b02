/* table.h - the Table form of objects and lists: what `kubectl get` shows */
#ifndef APISERVER_TABLE_H
#define APISERVER_TABLE_H
#include "apiserver/request/request.h"

/* Accept asks for a Table of meta.k8s.io before plain JSON. */
bool table_wanted(const struct http_request *r);
/* A Table: begin, rows, end. Objects are in the URL's version. rv, continue_token: NULL or "" leaves out; remaining < 0
 * leaves out. columns false: no columnDefinitions (2nd and later events of a watch). include: query includeObject
 * ("Metadata" when NULL). */
void table_begin(struct buf *out, const struct request_info *ri, const char *rv, const char *continue_token,
                 int64_t remaining, bool columns);
void table_row(struct buf *out, const struct request_info *ri, struct arena *a, const struct json *object,
               const char *include, bool first);
void table_end(struct buf *out);

#endif
