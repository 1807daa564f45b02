/* xid_table.h - the rows of data/gpu/xid.tsv, by number (only for health.c) */
#ifndef AGENT_XID_TABLE_H
#define AGENT_XID_TABLE_H
#include "agent/health/health.h"

extern const struct xid_entry xid_table[];
extern const uint32_t xid_table_n;

#endif
