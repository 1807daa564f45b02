/* resident.h - memory that only the start needed goes back to the system
 *
 * Loading thirty libraries touches pages of each that are never looked at again, and the kernel maps their neighbours along (fault-around).
 * Pages of files that were never written to can be unmapped at any time: who touches one again gets it from the page cache. Free heap goes
 * back too. A small agent on each node of a large cluster is worth the few hundred faults that it costs.
 */
#ifndef AGENT_RESIDENT_H
#define AGENT_RESIDENT_H
#include <stddef.h>

void resident_trim(void); /* threads may run */
/* Bytes of files and shared memory that are resident now; 0 where /proc cannot be read. */
size_t resident_file_bytes(void);

#endif
