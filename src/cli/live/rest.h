/* rest.h - a command that waits for its next turn gives back what it does not need meanwhile */
#ifndef CLI_LIVE_REST_H
#define CLI_LIVE_REST_H

/* Heap that is free goes back to the system, and so do pages of the program and its libraries that are as they are in their files: they are
 * mapped again when they are touched. What starting a library took would stay resident otherwise: of libcurl and those that it brings
 * along (an ssh client, Kerberos, LDAP) that is more than all the rest. Costs less than a millisecond. */
void live_rest(void);

#endif
