/* scale_up_names.h - what the admission check for machines that come is called, and what its gangs' pods carry */
#ifndef CODEC_SCALE_UP_NAMES_H
#define CODEC_SCALE_UP_NAMES_H

#define SCALE_UP_CONTROLLER "capstan.dev/scale-up" /* spec.controllerName of an AdmissionCheck */
#define SCALE_UP_TIMEOUT "capstan.dev/scale-up-timeout" /* annotation of the check: how long machines may take */
#define SCALE_UP_ANNOTATION "capstan.dev/scale-up" /* of pods: they may be made before their machines, which have so long to come */
#define SCALE_UP_HELD "capstan.dev/held-for" /* a taint that nodes have in the scheduler's book alone; its value: scale_up_holder */
/* Annotations of pods: Karpenter does not empty its node; we have written that. */
#define MACHINE_KEEP "karpenter.sh/do-not-disrupt"
#define MACHINE_KEPT "capstan.dev/kept-together"

#endif
