/* podset_names.h - annotations of a pod template that say what its pods ask of a topology
 *
 * Checked when an object is written, and read when a Workload is made of a job. SOURCE Kueue.
 */
#ifndef CODEC_PODSET_NAMES_H
#define CODEC_PODSET_NAMES_H

#define PODSET "kueue.x-k8s.io/podset-"
#define PODSET_REQUIRED PODSET "required-topology"
#define PODSET_PREFERRED PODSET "preferred-topology"
#define PODSET_UNCONSTRAINED PODSET "unconstrained-topology"
#define PODSET_SLICE PODSET "slice-required-topology"
#define PODSET_SLICE_SIZE PODSET "slice-size"
#define PODSET_LAYERS PODSET "slice-required-topology-constraints"
#define PODSET_GROUP PODSET "group-name"

#endif
