# What the server is and has.
says "version" 'v1\.32' k version
says "api-versions has core and groups" '^batch/v1$' k api-versions
says "api-versions ends with core" '^v1$' k api-versions
says "api-resources shows short names" '^pods +po +v1 +true +Pod' k api-resources
says "api-resources shows groups" '^jobs +batch/v1 +true +Job' k api-resources
says "api-resources of one group" 'deployments' k api-resources --api-group=apps
says "api-resources by verb" 'customresourcedefinitions' k api-resources --namespaced=false --verbs=list -o name
ok "cluster-info" k cluster-info
is "health" "ok" raw /healthz
is "readiness" "ok" raw /readyz
says "legacy discovery of core" '"name":"pods/eviction"' raw /api/v1
says "legacy list of groups" '"APIGroupList"' raw /apis
says "one group" '"preferredVersion"' raw /apis/batch
says "trailing slash" 'gitVersion' raw /version/
says "OpenAPI index" 'openapi/v3/apis/batch/v1\?hash=' raw /openapi/v3
refuses "unknown group" 'could not find|not found|NotFound' raw /apis/no.such.group/v1
refuses "unknown resource" "the server doesn't have a resource type" k get nosuchthings
if embedded; then
    says "own metrics" 'process_resident_memory_bytes' raw /metrics
    says "kueue is there" '^clusterqueues +cq +kueue' k api-resources --api-group=kueue.x-k8s.io
fi
