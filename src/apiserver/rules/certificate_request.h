/* certificate_request.h - CertificateSigningRequests: who asked is written by the server, approval and certificate are two halves of status
 *
 * SOURCE kube-apiserver: registry certificates, plugins CertificateApproval and CertificateSigning (verbs approve and sign on signers).
 * Nothing here signs: a controller of the cluster's own does.
 */
#ifndef APISERVER_CERTIFICATE_REQUEST_H
#define APISERVER_CERTIFICATE_REQUEST_H
#include "apiserver/apply/object_write.h"

/* After the parts of the object are settled; w fails when who asks may not approve or sign. */
void certificate_request_settle(struct object_write *w);

#endif
