# A kind of one's own: define, use, explain, forget.
group=$NS.test.io
cat >crd.yaml <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.$group}
spec:
  group: $group
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wg$$]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget of the test.
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How large it is.}
              color: {type: string, enum: [red, green], default: red}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
YAML
says "define" 'created' k apply -f crd.yaml
says "established" 'condition met' k wait crd/widgets."$group" --for=condition=Established --timeout=60s
soon "is a resource" 'widgets' k api-resources --api-group="$group"
widget() {
    cat <<YAML
apiVersion: $group/v1
kind: Widget
metadata: {name: $1}
spec: {$2}
YAML
}
says "use" 'widget.* created' k apply -f - < <(widget w 'size: 2, free: {any: 1}')
says "columns" '^w +2 +[0-9]+s' k get widgets
says "short name" '^w ' k get "wg$$"
says "wide columns" ' red ' k get widgets -o wide
is "default" "red" k get widget w -o 'jsonpath={.spec.color}'
is "unknown fields where they are allowed" "1" k get widget w -o 'jsonpath={.spec.free.any}'
says "change" 'configured' k apply -f - < <(widget w 'size: 3')
is "generation" "2" k get widget w -o 'jsonpath={.metadata.generation}'
refuses "too small" 'size.*(Invalid value|greater than or equal to 1)' k apply -f - < <(widget x 'size: 0')
refuses "not in the list" 'color.*Unsupported value' k apply -f - < <(widget x 'size: 1, color: blue')
refuses "required" 'spec.size.*Required|missing required field "size"' k create -f - < <(widget x 'color: red')
if at_least 27; then
    refuses "a field that does not exist" 'unknown field "spec.siez"' k apply -f - < <(widget x 'size: 1, siez: 1')
    says "explain" 'A widget of the test' k explain widget --api-version="$group/v1"
    says "explain a field" 'How large it is' k explain widget.spec.size --api-version="$group/v1"
fi
if at_least 24; then
    says "status" 'patched' k patch widget w --subresource=status --type merge -p '{"status":{"size":3,"conditions":[{"type":"Ready","status":"True"}]}}'
    says "status column" '^w +3 +True' k get widgets
fi
says "scale" 'scaled' k scale widget w --replicas=5
is "scaled" "5" k get widget w -o 'jsonpath={.spec.size}'
refuses "a definition whose name does not fit" 'metadata.name' k apply -f - < <(sed "s/name: widgets.$group/name: gadgets.$group/" crd.yaml)
strict() { # MEMBERS of the schema of spec.color
    sed "s/color: {type: string[^}]*}/color: {type: string, $1}/" crd.yaml
}
says "a pattern" 'configured' k apply -f - < <(strict "pattern: '^[a-z]+\$', maxLength: 5, default: red")
refuses "a value that does not match" "spec.color in body should match '\^\[a-z\]\+\\$'" k patch widget w --type merge -p '{"spec":{"color":"RED"}}'
refuses "a long one" 'spec.color: Too long' k patch widget w --type merge -p '{"spec":{"color":"magenta"}}'
says "a default of what is stored" 'red|blue' k get widget w -o 'jsonpath={.spec.color}'
embedded && says "rules are not evaluated, and it says so" 'stored but not evaluated' \
    k apply -f - < <(strict 'x-kubernetes-validations: [{rule: "self != \x27x\x27"}]')
says "forget" 'deleted' k delete crd widgets."$group"
refuses "is forgotten" "the server doesn't have a resource type|could not find|not found" k get widgets."$group"
if embedded; then
    says "webhooks are not called, and it says so" 'never called' k apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook-$NS}
webhooks:
- name: hook.test.io
  clientConfig: {url: "https://127.0.0.1:1/"}
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
    k delete validatingwebhookconfiguration "hook-$NS" >/dev/null 2>&1
fi
