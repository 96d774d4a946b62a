// SPDX-License-Identifier: Apache-2.0

// Command metrics-doc writes docs/metrics.md: a table of the metrics that manager and agents declare, and one of the
// alerts in the chart's rules. `make generate` runs it.
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/metrics"
)

const head = `<!-- Written by make generate from internal/metrics, internal/agent and charts/geosql-operator/rules; change it there. -->
# Metrics and alerts

Two processes have metrics for Prometheus:

- **The manager**, in the hub, tells the status of the objects: HTTPS on port 8443 of Service ` + "`geosql-operator-metrics`" + `, path
  ` + "`/metrics`" + `, for bearer tokens that may ` + "`get`" + ` the non-resource path (ClusterRole ` + "`geosql-operator-metrics-reader`" + `). Its
  certificate is for ` + "`geosql-operator-metrics.<namespace>.svc`" + `, of the CAs in ` + "`ca.crt`" + ` of Secret ` + "`geosql-operator-webhook`" + ` in the
  operator's namespace. Of several managers only the one that works tells of objects.
- **The agent** beside every engine tells what the engine's own views say, what its probes find, and how its elections go: HTTPS on
  port 8443 of each server's pod, path ` + "`/metrics`" + `, for the bearer tokens of a Secret of the pod's namespace, see
  [below](#who-may-read-the-agents). It goes on while the hub is away. Scrape it at its own site.

What is not known has no series: a queue that cannot be seen is not an empty queue. Labels are names of objects, servers and
databases and words of a fixed set, never messages. Sizes are in bytes and times in seconds, though SQL Server counts in KB.

With the Prometheus operator, the chart's values do the rest:

` + "```yaml" + `
metrics:
  readers: [{name: prometheus-k8s, namespace: monitoring}]  # may read the manager's metrics
  labels: {release: kube-prometheus-stack}                  # by which your Prometheus selects
  serviceMonitor: {enabled: true}                           # the manager, in the hub's release
  podMonitor: {enabled: true, namespaces: [web]}            # the agents, in every site's release
  rules: {enabled: true}                                    # the alerts below
  dashboard: {enabled: true}                                # a ConfigMap for Grafana's sidecar
` + "```" + `

Without the Prometheus operator, scrape both with ` + "`honor_labels: true`" + ` for the manager (its label ` + "`namespace`" + ` is that of the object) and the labels
` + "`namespace` and `pod`" + ` for the agents, and load [rules/manager.yaml](../charts/geosql-operator/rules/manager.yaml),
[rules/agent.yaml](../charts/geosql-operator/rules/agent.yaml) and the
[dashboard](../charts/geosql-operator/dashboards/geosql.json). ` + "`make monitoring`" + ` fires every alert with promtool and has every query
of the dashboard answered by a Prometheus.

## Who may read the agents

` + "`/status` and `/metrics`" + ` of an agent are for those who show a token of the Secret ` + "`geosql-agent-reader`" + ` in the pod's namespace. The
manager makes one in each namespace of each site where servers run, so that a token of one site opens nothing at another, and takes it
away with the last server there. It has

- ` + "`token`" + `, made at random, and any key that you add that begins with ` + "`token-`" + `: every one is good (of 16 characters at least), so that
  each reader can have its own and a token can be changed without a gap. Delete the Secret, and all of them open nothing any more as
  soon as the agents hear it from their site's API server; the manager, when it reaches the site, makes another with a new ` + "`token`" + `
  within about 40 seconds.
- ` + "`ca.crt`" + `, the CAs of the servers' certificates. Those that the operator issues are for the name ` + "`localhost`" + ` too, by which a
  Prometheus verifies pods that it knows by address alone. A CA of the operator's that was replaced is taken out once no server of the
  namespace shows a certificate of it at the site, or trusts it. One that you brought stays, and whoever reads goes on trusting it, until
  you take the key out when all servers there have certificates of the next one; the manager writes the CAs that their certificates
  have now within about 40 seconds:
  ` + "`kubectl patch secret geosql-agent-reader -n web --type json -p '[{\"op\": \"remove\", \"path\": \"/data/ca.crt\"}]'`" + `.

` + "```yaml" + `
- job_name: geosql-agents
  scheme: https
  authorization: {credentials_file: /etc/geosql-agent-reader/token}
  tls_config: {ca_file: /etc/geosql-agent-reader/ca.crt, server_name: localhost}
` + "```" + `

` + "```sh" + `
kubectl port-forward -n web pod/tukpub-0 8443 &
TOKEN=$(kubectl get secret geosql-agent-reader -n web -o jsonpath='{.data.token}' | base64 -d)
CA=$(kubectl get secret geosql-agent-reader -n web -o jsonpath='{.data.ca\.crt}' | base64 -d)
curl --cacert <(echo "$CA") -H "Authorization: Bearer $TOKEN" https://localhost:8443/status
` + "```" + `

The agent compares the token itself and asks nobody, neither the hub nor its site's API server, which may be what has failed: its
account may watch that one Secret, digests of the tokens lie on its data volume for a restart, and no right to review tokens is needed.
` + "`/livez` and `/readyz`" + ` are open: the kubelet's probes have no credentials, and of the engine they tell its
state in a word, as ` + "`geosql_agent_engine_state`" + ` does, and nothing else. What agents ask each other in an election wants the certificate of
a server of the namespace; snapshots, the token of their subscription.

**From an earlier release.** Agents of earlier releases answer everybody, and one that is replaced does not: upgrade the manager, which makes the
Secrets before it replaces any agent, and then the sites' releases or your scrape configuration; until then Prometheus gets 401 from
agents that are new. An old agent ignores the token. A manager that went back to an earlier release cannot read from new agents
whether a snapshot has arrived; first copies of subscriptions wait until the agents have gone back too.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "metrics-doc: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: metrics-doc FILE")
	}
	var text strings.Builder
	text.WriteString(head)
	table(&text, "Metrics of the manager", metrics.Hub())
	table(&text, "Metrics of the agents", agent.Families())
	for _, file := range []struct{ title, path string }{
		{"Alerts on the manager's metrics", "charts/geosql-operator/rules/manager.yaml"},
		{"Alerts on the agents' metrics", "charts/geosql-operator/rules/agent.yaml"},
	} {
		if err := alerts(&text, file.title, file.path); err != nil {
			return err
		}
	}
	return os.WriteFile(args[0], []byte(text.String()), 0o644)
}

func table(text *strings.Builder, title string, families []*metrics.Family) {
	fmt.Fprintf(text, "\n## %s\n\n| Metric | Type | Labels | |\n| --- | --- | --- | --- |\n", title)
	for _, f := range families {
		fmt.Fprintf(text, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(f.Labels, ", "), cell(f.Help))
	}
}

// cell is a text as a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func alerts(text *strings.Builder, title, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `json:"alert"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	fmt.Fprintf(text, "\n## %s\n\n| Alert | Severity | After | | Do |\n| --- | --- | --- | --- | --- |\n", title)
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			fmt.Fprintf(text, "| `%s` | %s | %s | %s | %s |\n", rule.Alert, rule.Labels["severity"], rule.For,
				cell(plain(rule.Annotations["summary"])), cell(plain(rule.Annotations["description"])))
		}
	}
	return nil
}

var labels = strings.NewReplacer("{{ $labels.", "*", " }}", "*", "{{ $value | humanizeDuration", "*time",
	"{{ $value", "*value")

// plain shows the places of an annotation that an alert fills in.
func plain(s string) string { return labels.Replace(s) }
