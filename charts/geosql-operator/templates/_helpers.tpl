{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "geosql.labels" -}}
app.kubernetes.io/name: geosql-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "geosql.selector" -}}
app.kubernetes.io/name: geosql-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "geosql.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}
{{- define "geosql.site.labels" -}}
app.kubernetes.io/name: geosql-site
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "geosql.site.selector" -}}
app.kubernetes.io/name: geosql-site
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
