// SPDX-License-Identifier: Apache-2.0

// Package prometheus runs a real Prometheus with the chart's rules for tests, and reads the chart's dashboard.
package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/ports"
)

// patience is for a machine that is busy with other things.
const patience = 3 * time.Minute

// Program finds prometheus or promtool as hack/tool prometheus has unpacked it, or as it is installed. Without it the
// test is left out, unless GEOSQL_REQUIRE_PROMETHEUS says that it must be there.
func Program(t testing.TB, name string) string {
	t.Helper()
	cache := os.Getenv("GEOSQL_BED_CACHE")
	if cache == "" {
		home, _ := os.UserHomeDir()
		cache = filepath.Join(home, ".cache", "geosql-bed")
	}
	if path := filepath.Join(cache, "tools", name); exec.Command(path, "--version").Run() == nil {
		return path
	}
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("GEOSQL_REQUIRE_PROMETHEUS") == "1":
		t.Fatalf("%s is not there: run hack/tool prometheus", name)
	}
	t.Skipf("%s is not there: run hack/tool prometheus", name)
	return ""
}

// Prometheus is one of the test's own; it ends with the test.
type Prometheus struct{ url string }

// Start starts one with the rules of the chart. Jobs are its scrape_configs, interval is between two scrapes and
// between two evaluations of the rules.
func Start(t testing.TB, interval time.Duration, jobs ...map[string]any) *Prometheus {
	t.Helper()
	g := gomega.NewWithT(t)
	program := Program(t, "prometheus")
	type object = map[string]any
	config, err := yaml.Marshal(object{
		"global": object{
			"scrape_interval":     milliseconds(interval),
			"evaluation_interval": milliseconds(interval),
			"scrape_timeout":      milliseconds(interval),
		},
		"rule_files":     []string{filepath.Join(checkout.Root(), "charts", "geosql-operator", "rules", "*.yaml")},
		"scrape_configs": jobs,
	})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	folder := t.TempDir()
	file := filepath.Join(folder, "prometheus.yaml")
	g.Expect(os.WriteFile(file, config, 0o600)).To(gomega.Succeed())
	address := ports.Address(t)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(
		ctx,
		program,
		"--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address,
	)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 20 * time.Second
	log := &strings.Builder{}
	command.Stderr = log
	g.Expect(command.Start()).To(gomega.Succeed())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	p := &Prometheus{url: "http://" + address}
	g.Eventually(func() error { _, err := p.ask("/-/ready", nil); return err }, patience, 100*time.Millisecond).
		Should(gomega.Succeed())
	return p
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

var asking = &http.Client{Timeout: 10 * time.Second}

func (p *Prometheus) ask(path string, query url.Values) (json.RawMessage, error) {
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

// Count is how many series a query has.
func (p *Prometheus) Count(query string) (int, error) {
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

// LabelValues are the values of a label of a series.
func (p *Prometheus) LabelValues(series, label string) ([]string, error) {
	data, err := p.ask("/api/v1/label/"+label+"/values", url.Values{"match[]": {series}})
	if err != nil {
		return nil, err
	}
	var values []string
	err = json.Unmarshal(data, &values)
	return values, err
}

// UnhealthyRules are those that have not been evaluated, or could not be.
func (p *Prometheus) UnhealthyRules() ([]string, error) {
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

// Alert is one whose expression holds, for long enough (firing) or not yet (pending).
type Alert struct {
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"`
}

// Alerts are those whose expressions hold now.
func (p *Prometheus) Alerts() ([]Alert, error) {
	data, err := p.ask("/api/v1/alerts", nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Alerts []Alert `json:"alerts"`
	}
	err = json.Unmarshal(data, &answer)
	return answer.Alerts, err
}
