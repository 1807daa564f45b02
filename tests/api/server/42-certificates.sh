# CertificateSigningRequests: asked for, approved, and who asked is written by the server.
says "a request" 'created' k create -f - <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: csr-$NS}
spec: {request: Y3Ny, signerName: example.com/s, usages: [server auth], username: nobody}
YAML
says "who asked, not whom it names" '^[^ ]+ yes$' k get csr "csr-$NS" -o 'go-template={{.spec.username}} {{if ne .spec.username "nobody"}}yes{{end}}'
says "approved" 'approved' k certificate approve "csr-$NS"
is "by a condition" "Approved True" k get csr "csr-$NS" -o 'jsonpath={.status.conditions[0].type} {.status.conditions[0].status}'
refuses "and is not denied as well" 'already Approved' k certificate deny "csr-$NS"
ok "gone" k delete csr "csr-$NS"
