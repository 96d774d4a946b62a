// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/metrics/metricstest"
	"geosql.dev/operator/internal/testenv"
)

const dashboardFile = "../../charts/geosql-operator/dashboards/geosql.json"

// patience is for a machine that is busy with other things.
const patience = 3 * time.Minute

// Every query of the dashboard has an answer, and every rule can be evaluated, by a Prometheus that scrapes the
// manager's collector and the agent's families.
func TestDashboard(t *testing.T) {
	program := tool(t, "prometheus")
	g := NewWithT(t)
	hub := fake.NewClientBuilder().WithScheme(testenv.Scheme).WithObjects(metricstest.Objects(time.Now())...).WithStatusSubresource(&v1alpha1.AvailabilityGroup{}).Build()
	p := startPrometheus(t, program, managerMetrics(hub), agentMetrics(g))

	queries := queriesOf(g)
	g.Expect(len(queries)).To(BeNumerically(">=", 40))
	for where, query := range queries {
		g.Eventually(func() (int, error) {
			if strings.Contains(query, "changes(") {
				if err := nextTerm(t.Context(), hub); err != nil {
					return 0, err
				}
			}
			return p.count(query)
		}, patience, 200*time.Millisecond).Should(BeNumerically(">", 0), "%s: %s", where, query)
	}
	for name, values := range variablesOf(g) {
		g.Expect(p.labelValues(values[0], values[1])).NotTo(BeEmpty(), name)
	}
	g.Eventually(p.unhealthyRules, patience, 200*time.Millisecond).Should(BeEmpty())
}

// nextTerm lets the group change its term, which the dashboard marks when it has seen both.
func nextTerm(ctx context.Context, hub client.Client) error {
	var group v1alpha1.AvailabilityGroup
	if err := hub.Get(ctx, client.ObjectKey{Namespace: "web", Name: "content"}, &group); err != nil {
		return err
	}
	group.Status.Term++
	return hub.Status().Update(ctx, &group)
}

func managerMetrics(hub client.Reader) http.Handler {
	elected := make(chan struct{})
	close(elected)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewObjects(hub, elected))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// agentMetrics tells one series of each of the agent's families, with a value that engines have for each label.
func agentMetrics(g *WithT) http.Handler {
	words := map[string]string{"group": "content", "server": "tukpub-0", "database": "Content", "role": "PRIMARY", "state": "Ready", "health": "HEALTHY",
		"wait": "LOG_BACKUP", "type": "instance", "component": "system", "voter": "dublin", "result": "ok"}
	registry := prometheus.NewRegistry()
	var more []func()
	for _, f := range agent.Families() {
		var labels []string
		for _, l := range f.Labels {
			g.Expect(words).To(HaveKey(l), f.Name)
			labels = append(labels, words[l])
		}
		switch f.Type {
		case metrics.Gauge:
			v := f.Gauges()
			registry.MustRegister(v)
			v.WithLabelValues(labels...).Set(1)
		case metrics.Counter:
			v := f.Counters()
			registry.MustRegister(v)
			more = append(more, func() { v.WithLabelValues(labels...).Inc() })
		case metrics.Histogram:
			v := f.Histograms()
			registry.MustRegister(v)
			more = append(more, func() { v.WithLabelValues(labels...).Observe(0.01) })
		}
	}
	told := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range more {
			m()
		}
		told.ServeHTTP(w, r)
	})
}

// running is a Prometheus of the test's own.
type running struct{ url string }

func startPrometheus(t *testing.T, program string, manager, agent http.Handler) *running {
	t.Helper()
	g := NewWithT(t)
	mux := http.NewServeMux()
	mux.Handle("/manager", manager)
	mux.Handle("/agent", agent)
	targets := httptest.NewServer(mux)
	t.Cleanup(targets.Close)
	rules, err := filepath.Abs("../../charts/geosql-operator/rules")
	g.Expect(err).NotTo(HaveOccurred())
	target := strings.TrimPrefix(targets.URL, "http://")
	type object = map[string]any
	config, err := yaml.Marshal(object{
		"global":     object{"scrape_interval": "500ms", "evaluation_interval": "500ms", "scrape_timeout": "500ms"},
		"rule_files": []string{filepath.Join(rules, "*.yaml")},
		"scrape_configs": []object{
			{"job_name": "manager", "metrics_path": "/manager", "honor_labels": true, "static_configs": []object{{"targets": []string{target}}}},
			{"job_name": "agent", "metrics_path": "/agent", "static_configs": []object{{"targets": []string{target}, "labels": object{"pod": "tukpub-0", "namespace": "web"}}}},
		}})
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	file := filepath.Join(folder, "prometheus.yaml")
	g.Expect(os.WriteFile(file, config, 0o600)).To(Succeed())
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 20 * time.Second
	log := &strings.Builder{}
	command.Stderr = log
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	p := &running{url: "http://" + address}
	g.Eventually(func() error { _, err := p.ask("/-/ready", nil); return err }, patience, 100*time.Millisecond).Should(Succeed())
	return p
}

var asking = &http.Client{Timeout: 10 * time.Second}

func (p *running) ask(path string, query url.Values) (json.RawMessage, error) {
	response, err := asking.Get(p.url + path + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data  json.RawMessage `json:"data"`
		Error string          `json:"error"`
	}
	if strings.HasPrefix(path, "/api/") {
		err = json.NewDecoder(response.Body).Decode(&answer)
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer.Error)
	}
	return answer.Data, err
}

// count is how many series a query has.
func (p *running) count(query string) (int, error) {
	data, err := p.ask("/api/v1/query", url.Values{"query": {query}})
	if err != nil {
		return 0, err
	}
	var vector struct {
		Result []json.RawMessage `json:"result"`
	}
	err = json.Unmarshal(data, &vector)
	return len(vector.Result), err
}

func (p *running) labelValues(series, label string) ([]string, error) {
	data, err := p.ask("/api/v1/label/"+label+"/values", url.Values{"match[]": {series}})
	if err != nil {
		return nil, err
	}
	var values []string
	err = json.Unmarshal(data, &values)
	return values, err
}

// unhealthyRules are those that have not been evaluated, or could not be.
func (p *running) unhealthyRules() ([]string, error) {
	data, err := p.ask("/api/v1/rules", nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string } `json:"rules"`
		} `json:"groups"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if len(answer.Groups) == 0 {
		return []string{"no rules yet"}, nil
	}
	var bad []string
	for _, one := range answer.Groups {
		for _, r := range one.Rules {
			if r.Health != "ok" {
				bad = append(bad, r.Name+" "+r.Health+" "+r.LastError)
			}
		}
	}
	return bad, nil
}

// concrete replaces the dashboard's variables as Grafana does when all is chosen.
var concrete = strings.NewReplacer("$namespace", ".*", "$group", ".*", "$__rate_interval", "30s")

// queriesOf are the dashboard's queries by where they stand.
func queriesOf(g *WithT) map[string]string {
	queries := map[string]string{}
	var walk func(where string, x any)
	walk = func(where string, x any) {
		switch x := x.(type) {
		case map[string]any:
			if title, ok := x["title"].(string); ok {
				where += " / " + title
			}
			if expr, ok := x["expr"].(string); ok {
				ref, _ := x["refId"].(string)
				queries[where+" "+ref] = concrete.Replace(expr)
			}
			for _, inner := range x {
				walk(where, inner)
			}
		case []any:
			for _, inner := range x {
				walk(where, inner)
			}
		}
	}
	walk("", dashboard(g))
	return queries
}

var labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)

// variablesOf are the dashboard's variables: the series that they take a label of, and the label.
func variablesOf(g *WithT) map[string][2]string {
	variables := map[string][2]string{}
	for _, x := range dashboard(g)["templating"].(map[string]any)["list"].([]any) {
		one := x.(map[string]any)
		if one["type"] == "query" {
			parts := labelValues.FindStringSubmatch(one["definition"].(string))
			g.Expect(parts).To(HaveLen(3))
			variables[one["name"].(string)] = [2]string{concrete.Replace(parts[1]), parts[2]}
		}
	}
	g.Expect(variables).NotTo(BeEmpty())
	return variables
}

func dashboard(g *WithT) map[string]any {
	text, err := os.ReadFile(dashboardFile)
	g.Expect(err).NotTo(HaveOccurred())
	var d map[string]any
	g.Expect(json.Unmarshal(text, &d)).To(Succeed())
	return d
}

// Every metric that rules and dashboard name is declared, by the manager or by the agent.
func TestOnlyDeclaredMetricsAreAskedFor(t *testing.T) {
	g := NewWithT(t)
	declared := map[string]bool{}
	for _, f := range append(metrics.Hub(), agent.Families()...) {
		g.Expect(declared).NotTo(HaveKey(f.Name), "declared once")
		declared[f.Name] = true
		if f.Type == metrics.Histogram {
			declared[f.Name+"_bucket"] = true
		}
	}
	text := ""
	for _, query := range queriesOf(g) {
		text += query + "\n"
	}
	for _, file := range ruleFiles {
		for _, r := range rulesOf(g, "../../charts/geosql-operator/rules/"+file) {
			text += r.Expr + "\n"
		}
	}
	for _, name := range regexp.MustCompile(`geosql_[a-z_]+`).FindAllString(text, -1) {
		g.Expect(declared).To(HaveKey(name))
	}
}
