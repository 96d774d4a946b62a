{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "geosql.selector" -}}
app.kubernetes.io/name: geosql-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "geosql.site.selector" -}}
app.kubernetes.io/name: geosql-site
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "geosql.removal.labels" -}}
app.kubernetes.io/name: geosql-removal
app.kubernetes.io/instance: {{ .Release.Name }}
{{ include "geosql.labels.common" . }}
{{- end }}
{{- define "geosql.labels.common" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "geosql.labels" -}}
{{ include "geosql.selector" . }}
{{ include "geosql.labels.common" . }}
{{- end }}
{{- define "geosql.site.labels" -}}
{{ include "geosql.site.selector" . }}
{{ include "geosql.labels.common" . }}
{{- end }}
{{/* Labels, as text, with those of a map beside them. The map's win: checks.yaml refuses those that are the chart's. */}}
{{- define "geosql.labelled" -}}
{{ toYaml (merge (deepCopy (index . 1 | default dict)) (index . 0 | fromYaml)) }}
{{- end }}
{{- define "geosql.image" -}}
{{- $repository := required "image.repository: name the image as your registry has it, such as registry.example/geosql-operator; docs/user-guide.md says how it is made" .Values.image.repository -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}
{{- define "geosql.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ if kindIs "string" . }}{{ . }}{{ else }}{{ .name }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- define "geosql.env" -}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{/* Where the pods of a process run: the root, and their labels as text. */}}
{{- define "geosql.scheduling" -}}
{{- $selector := index . 1 }}
{{- with (index . 0).Values }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
# Two in one zone, or on one node, would go with it. Zones are no second topologySpreadConstraint: where nodes have no
# label of a zone, the scheduler would leave them out, and spread over nothing at all.
affinity:
  {{- if .affinity }}
  {{- toYaml .affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels: {{- $selector | nindent 12 }}
        matchLabelKeys: [pod-template-hash]
  {{- end }}
topologySpreadConstraints:
{{- if .topologySpreadConstraints }}
{{- toYaml .topologySpreadConstraints | nindent 0 }}
{{- else }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- $selector | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end }}
{{/* A budget of a process: its name, its labels as text, those of its pods as text, and the namespace. */}}
{{- define "geosql.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index . 0 }}
  namespace: {{ index . 3 }}
  labels: {{- index . 1 | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- index . 2 | nindent 6 }}
  # One that is not ready holds up no drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
{{- end }}
{{/* What people may do with kinds, a list of their names. */}}
{{- define "geosql.rules.view" }}
- apiGroups: [geosql.dev]
  resources: [{{ join ", " . }}]
  verbs: [get, list, watch]
# Up to when the statuses of groups are so.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [geosql-confirmed]
  verbs: [get]
{{- end }}
{{- define "geosql.rules.write" }}
- apiGroups: [geosql.dev]
  resources: [{{ join ", " . }}]
  verbs: [create, update, patch, delete, deletecollection]
{{- end }}
