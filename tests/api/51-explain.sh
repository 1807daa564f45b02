# explain: from the server's OpenAPI documents.
if ! at_least 27; then
    skip "explain" "this kubectl reads OpenAPI v2, which this server leaves empty"
    return
fi
says "a kind" 'KIND: +Pod' k explain pod
says "a field" 'FIELD: containers' k explain pod.spec.containers
says "deeper" 'FIELD: nodeName' k explain pod.spec.nodeName
says "another group" 'GROUP: +batch' k explain job.spec.completions
says "all fields" 'tolerations' k explain pod.spec --recursive
refuses "no such field" 'field "nope" does not exist' k explain pod.spec.nope
if embedded; then
    says "kueue" 'KIND: +ClusterQueue' k explain clusterqueue
    says "volcano" 'KIND: +Job' k explain job --api-version=batch.volcano.sh/v1alpha1
fi
