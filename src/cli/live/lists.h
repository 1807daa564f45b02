/* lists.h - the lists that commands print, for whoever shows them too */
#ifndef CLI_LIVE_LISTS_H
#define CLI_LIVE_LISTS_H
#include "cli/live/live.h"

/* Their rows take the options of the command of that name. */
extern const struct live_list queues_list, jobs_list, nodes_list, nodes_gpus_list;

#endif
