{{/* The documents of one manifest of deploy/ as text, in this release's namespace and with its image. */}}
{{- define "capstan.manifest" -}}
{{- $image := printf "image: %s:%s" .root.Values.image.repository (toString (default .root.Chart.AppVersion .root.Values.image.tag)) -}}
{{- .root.Files.Get (printf "files/%s.yaml" .name) | replace "capstan-system" .root.Release.Namespace | replace "image: capstan:0.1.0" $image -}}
{{- end -}}

{{/* What all pods have of the values. */}}
{{- define "capstan.pod" -}}
{{- $root := .root -}}
{{- range .pod.containers -}}
{{- $_ := set . "imagePullPolicy" $root.Values.image.pullPolicy -}}
{{- end -}}
{{- if $root.Values.imagePullSecrets -}}
{{- $_ := set .pod "imagePullSecrets" $root.Values.imagePullSecrets -}}
{{- end -}}
{{- end -}}

{{/* Ends with a word where the cluster has no MutatingAdmissionPolicies. */}}
{{- define "capstan.mutatingPolicies" -}}
{{- if semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- fail (printf "kueueDefaults.enabled: policies write what Kueue's webhooks write, and Kubernetes %s has none that change objects (1.36 and newer have): set it to false" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}

{{/* Ends with a word where the cluster has no ValidatingAdmissionPolicies. */}}
{{- define "capstan.policies" -}}
{{- if semverCompare "<1.30.0-0" .root.Capabilities.KubeVersion.Version -}}
{{- fail (printf "%s: policies say %s, and Kubernetes %s has none (1.30 and newer have): set it to false" .whose .why .root.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
