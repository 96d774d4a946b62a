// SPDX-License-Identifier: Apache-2.0

//go:build integration

package monitoring_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/metrics/metricstest"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/test/support/apiserver"
	testprometheus "geosql.dev/operator/test/support/prometheus"
)

// patience is for a machine that is busy with other things.
const patience = 3 * time.Minute

// Every query of the dashboard has an answer, and every rule can be evaluated, by a Prometheus that scrapes the
// manager's collector and the agent's families.
func TestDashboard(t *testing.T) {
	g := NewWithT(t)
	hub := fake.NewClientBuilder().
		WithScheme(apiserver.Scheme).
		WithObjects(metricstest.Objects(time.Now())...).
		WithStatusSubresource(&v1alpha1.AvailabilityGroup{}).
		Build()
	p := startPrometheus(t, managerMetrics(hub), agentMetrics(g))

	queries := testprometheus.Queries(t)
	g.Expect(len(queries)).To(BeNumerically(">=", 40))
	for where, query := range queries {
		g.Eventually(func() (int, error) {
			if strings.Contains(query, "changes(") {
				if err := nextTerm(t.Context(), hub); err != nil {
					return 0, err
				}
			}
			return p.Count(query)
		}, patience, 200*time.Millisecond).Should(BeNumerically(">", 0), "%s: %s", where, query)
	}
	for name, values := range testprometheus.Variables(t) {
		g.Expect(p.LabelValues(values[0], values[1])).NotTo(BeEmpty(), name)
	}
	g.Eventually(p.UnhealthyRules, patience, 200*time.Millisecond).Should(BeEmpty())
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
	registry.MustRegister(metrics.NewObjects(hub, elected, &confirmed.Log{},
		func() map[v1alpha1.SiteName]int { return map[v1alpha1.SiteName]int{"dublin": 25} }, metricstest.Authorities))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// agentMetrics tells one series of each of the agent's families, with a value that engines have for each label.
func agentMetrics(g *WithT) http.Handler {
	words := map[string]string{
		"group":     "content",
		"server":    "tukpub-0",
		"database":  "Content",
		"role":      "PRIMARY",
		"state":     "Ready",
		"health":    "HEALTHY",
		"wait":      "LOG_BACKUP",
		"type":      "instance",
		"component": "system",
		"voter":     "dublin",
		"result":    "ok",
		"volume":    "agent",
		"site":      "quincy",
	}
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

func startPrometheus(t *testing.T, manager, agent http.Handler) *testprometheus.Prometheus {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/manager", manager)
	mux.Handle("/agent", agent)
	targets := httptest.NewServer(mux)
	t.Cleanup(targets.Close)
	target := strings.TrimPrefix(targets.URL, "http://")
	type object = map[string]any
	return testprometheus.Start(
		t,
		500*time.Millisecond,
		object{
			"job_name":       "manager",
			"metrics_path":   "/manager",
			"honor_labels":   true,
			"static_configs": []object{{"targets": []string{target}}},
		},
		object{
			"job_name":       "agent",
			"metrics_path":   "/agent",
			"static_configs": []object{{"targets": []string{target}, "labels": object{"pod": "tukpub-0", "namespace": "web"}}},
		},
	)
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
	for _, query := range testprometheus.Queries(t) {
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
