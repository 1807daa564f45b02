/* config_files.h - files for who reads them, in ConfigMaps or alone: configs of NVIDIA's device plugin, MIG layouts, Kueue's Configuration
 *
 * A server takes any text; its reader finds out what is wrong in it, on each node, later. Each is read here as it would be there.
 */
#ifndef CLI_LINT_CONFIG_FILES_H
#define CLI_LINT_CONFIG_FILES_H
#include "codec/admission/validate_manifest.h"

/* manifest_report.more */
bool config_files_look(struct manifest_subject *s, const struct json *object);

#endif
