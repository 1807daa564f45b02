/* in_use_name.h - the finalizer that keeps what queues still need
 *
 * Given when an object is created (apiserver/rules, jobs), taken off by the job controllers. SOURCE Kueue.
 */
#ifndef CODEC_IN_USE_NAME_H
#define CODEC_IN_USE_NAME_H

#define KUEUE_IN_USE_FINALIZER "kueue.x-k8s.io/resource-in-use"

#endif
