{{- define "stream-graders.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "stream-graders.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stream-graders.labels" -}}
{{ include "stream-graders.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "stream-graders.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "stream-graders.account" -}}
{{ .Values.serviceAccount.name | default (include "stream-graders.name" .) }}
{{- end }}

{{- define "stream-graders.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "stream-graders.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* How Kafka is spoken to. */}}
{{- define "stream-graders.env" -}}
- name: SG_BOOTSTRAP_SERVERS
  value: {{ required "kafka.bootstrap: name Kafka's addresses, host:port with commas" .Values.kafka.bootstrap | quote }}
- name: SG_APP
  value: {{ .Values.kafka.app | quote }}
{{- range $name, $value := .Values.kafka.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* What judges sign their answers with. */}}
{{- define "stream-graders.judgeKeyEnv" -}}
{{- if .Values.judge.keySecret }}
- name: SG_JUDGE_KEY_FILE
  value: /run/secrets/judge/judge-key
{{- end }}
{{- end }}

{{- define "stream-graders.judgeKeyMount" -}}
{{- if .Values.judge.keySecret }}
- name: judge-key
  mountPath: /run/secrets/judge
  readOnly: true
{{- end }}
{{- end }}

{{- define "stream-graders.judgeKeyVolume" -}}
{{- if .Values.judge.keySecret }}
- name: judge-key
  secret:
    secretName: {{ .Values.judge.keySecret }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "stream-graders.topicArgs" -}}
{{- range $name, $physical := .Values.kafka.names }}
- --topic
- {{ printf "%s=%s" $name $physical | quote }}
{{- end }}
{{- end }}

{{- define "stream-graders.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.kafka.secret }}
- name: kafka
  mountPath: /run/secrets/kafka
  readOnly: true
{{- end }}
{{- end }}

{{- define "stream-graders.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- if .Values.kafka.secret }}
- name: kafka
  secret:
    secretName: {{ .Values.kafka.secret }}
    defaultMode: 0440
{{- end }}
{{- end }}
