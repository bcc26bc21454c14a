{{/* Labels for every object in the chart. Kustomize adds only the first of these labels. */}}
{{- define "logfleet.labels" -}}
app.kubernetes.io/name: logfleet
{{ include "logfleet.helmLabels" . }}
{{- end }}

{{/* Labels that only Helm adds, and the user's labels. */}}
{{- define "logfleet.helmLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The operator's image, with its digest if there is one. */}}
{{- define "logfleet.image" -}}
{{- $name := printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- with .Values.image.digest }}{{ $name }}@{{ . }}{{ else }}{{ $name }}{{ end }}
{{- end }}

{{/* Non-empty if only one node can mount the exports volume. */}}
{{- define "logfleet.isSingleNode" -}}
{{- if and .Values.exportVolume.enabled (not (has "ReadWriteMany" .Values.exportVolume.accessModes)) }}true{{ end }}
{{- end }}

{{/* Rules of the Role or ClusterRole `logfleet-secrets`. The operator must not list Secrets. */}}
{{- define "logfleet.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  {{- with .Values.secretNames }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [get]
{{- end }}

{{/* Rules of the Role or ClusterRole `logfleet-export-jobs`. */}}
{{- define "logfleet.exportJobRules" -}}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [serviceaccounts, persistentvolumeclaims]
  verbs: [get]
{{- end }}

{{/*
A role and its binding to the operator's ServiceAccount. Parameters: `root` (the chart's context), `name`, `rules` (rendered), and
`namespace`. Without a namespace, the result is a ClusterRole and a ClusterRoleBinding.
*/}}
{{- define "logfleet.boundRole" -}}
{{ include "logfleet.role" . }}
---
{{ include "logfleet.binding" (merge (dict "roleKind" (ternary "Role" "ClusterRole" (hasKey . "namespace"))) .) }}
{{- end }}

{{- define "logfleet.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "Role" "ClusterRole" (hasKey . "namespace") }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ quote . }}
  {{- end }}
  labels:
    {{- include "logfleet.labels" .root | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
{{- end }}

{{/* A RoleBinding or ClusterRoleBinding. Its parameter `roleKind` is the kind of the role. */}}
{{- define "logfleet.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (hasKey . "namespace") }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ quote . }}
  {{- end }}
  labels:
    {{- include "logfleet.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .roleKind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: logfleet
    namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
