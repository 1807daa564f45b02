# explain: from the server's OpenAPI documents.
says "a kind" 'KIND: +Pod' k explain pod
says "a field" '(FIELD|RESOURCE): containers' k explain pod.spec.containers
says "deeper" 'FIELD: +nodeName' k explain pod.spec.nodeName
says "another group" 'GROUP: +batch|VERSION: +batch' k explain job.spec.completions
if at_least 27; then # as older ones always do
    says "a kind from the v2 document" 'VERSION: +batch/v1' k explain job --output plaintext-openapiv2
    says "a field from it" 'RESOURCE: tolerations <\[\]Object>' k explain pod.spec.tolerations --output plaintext-openapiv2
fi
says "all fields" 'tolerations' k explain pod.spec --recursive
refuses "no such field" 'field "nope" does not exist' k explain pod.spec.nope
if embedded; then
    says "kueue" 'KIND: +ClusterQueue' k explain clusterqueue
    says "volcano" 'KIND: +Job' k explain job --api-version=batch.volcano.sh/v1alpha1
fi
