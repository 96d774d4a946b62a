// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/prometheus"
)

// A Prometheus scrapes the manager and the agents of a group as the chart's monitors say. Every rule can be evaluated
// on what they tell, and every query of the dashboard that is about groups and agents has an answer. Nothing alerts
// while the group is well; a copy whose data movement a person suspends does, until it is resumed.
func TestMetrics(t *testing.T) {
	groupB.Beside(t, 1, 120)
	prometheus.Program(t, "prometheus")
	g := NewWithT(t)
	gt := inTurn(t, groupB)
	b := gt.b
	gt.backAt("tukwila")
	gt.patch(func(ag *v1alpha1.AvailabilityGroup) {
		ag.Spec.Objectives = &v1alpha1.Objectives{RPO: seconds(60), RTO: seconds(60), RedoCatchUp: seconds(300)}
	})
	p := prometheus.Start(t, 2*time.Second, append(gt.agentJobs(), managerJob(t, b))...)

	queries := prometheus.Queries(t)
	asked := 0
	for where, query := range queries {
		if !asksFor(query, "geosql_agent_", "geosql_availabilitygroup_", "geosql_sqlserver_", "geosql_site_") ||
			strings.Contains(query, "changes(") || strings.Contains(query, "restorable_timestamp") ||
			strings.Contains(query, "objective_backup_rpo") { // no policy backs the group up
			continue
		}
		asked++
		g.Eventually(func() (int, error) { return p.Count(query) }, time.Minute, time.Second).
			Should(BeNumerically(">", 0), "%s: %s", where, query)
	}
	g.Expect(asked).To(BeNumerically(">=", 20))
	g.Eventually(p.UnhealthyRules, time.Minute, time.Second).Should(BeEmpty())
	alerts := func() ([]string, error) {
		list, err := p.Alerts()
		var names []string
		for _, a := range list {
			// The volumes are folders of the machine's disk: what builds leave of it is told rightly, and is not the group's.
			if strings.HasPrefix(a.Labels["alertname"], "GeoSQLVolume") {
				continue
			}
			if a.Labels["group"] == gt.group.Name || strings.HasPrefix(a.Labels["pod"], gt.group.Name) ||
				strings.HasPrefix(a.Labels["server"], gt.group.Name) {
				names = append(names, a.Labels["alertname"])
			}
		}
		return names, err
	}
	g.Eventually(alerts, time.Minute, time.Second).Should(BeEmpty(), "the group is well")

	secondary := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("quincy"), namespace)),
		gt.servers["quincy"],
		credentials.RoleSA,
		"master",
	)
	g.Expect(secondary.Exec(t.Context(), tsql.Statement{Text: "ALTER DATABASE [Content] SET HADR SUSPEND"})).To(Succeed())
	g.Eventually(alerts, 90*time.Second, time.Second).Should(ContainElement("GeoSQLDataMovementSuspended"))
	g.Expect(secondary.Exec(t.Context(), tsql.Statement{Text: "ALTER DATABASE [Content] SET HADR RESUME"})).To(Succeed())
	g.Eventually(alerts, 90*time.Second, time.Second).ShouldNot(ContainElement("GeoSQLDataMovementSuspended"))
}

func asksFor(query string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.Contains(query, p) {
			return true
		}
	}
	return false
}

type object = map[string]any

// managerJob scrapes the manager as the ServiceMonitor says, with the token of an account that may read metrics.
func managerJob(t *testing.T, b *bed.Bed) object {
	t.Helper()
	g := NewWithT(t)
	hub, system, account := b.Hub(), "geosql-system", "e2e-metrics"
	kubectl := func(ctx context.Context, arguments ...string) string {
		out, said, err := hub.Kubectl(ctx, arguments...)
		g.Expect(err).NotTo(HaveOccurred(), said)
		return strings.TrimSpace(out)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		kubectl(ctx, "delete", "clusterrolebinding", account, "--ignore-not-found")
		kubectl(ctx, "delete", "serviceaccount", "-n", system, account, "--ignore-not-found")
	})
	kubectl(t.Context(), "create", "serviceaccount", "-n", system, account)
	kubectl(
		t.Context(),
		"create",
		"clusterrolebinding",
		account,
		"--clusterrole=geosql-operator-metrics-reader",
		"--serviceaccount="+system+":"+account,
	)
	token := kubectl(t.Context(), "create", "token", "-n", system, account)
	job := scrapes("manager", object{"targets": []string{forward(t, b, hub, system, "service/geosql-operator-metrics")}})
	job["honor_labels"], job["authorization"] = true, object{"credentials": token}
	authority := kubectl(t.Context(), "get", "secret", "-n", system, "geosql-operator-webhook", "-o",
		`go-template={{index .data "ca.crt" | base64decode}}`)
	ca := filepath.Join(t.TempDir(), "manager-ca.crt")
	g.Expect(os.WriteFile(ca, []byte(authority), 0o600)).To(Succeed())
	job["tls_config"] = object{"ca_file": ca, "server_name": "geosql-operator-metrics." + system + ".svc"}
	return job
}

// agentJobs scrape the agents as the PodMonitors say: at each site with a token of that site, and certificates
// verified.
func (gt *groupTest) agentJobs() []object {
	gt.t.Helper()
	g := NewWithT(gt.t)
	var jobs []object
	for name, server := range gt.servers {
		site := gt.b.Site(name)
		pod := credentials.HostName(v1alpha1.ServerName(server.Name))
		read := func(key string) string {
			out, said, err := site.Kubectl(
				gt.t.Context(),
				"get",
				"secret",
				"-n",
				namespace,
				credentials.ReaderName,
				"-o",
				"go-template={{index .data \""+key+"\" | base64decode}}",
			)
			g.Expect(err).NotTo(HaveOccurred(), said)
			return strings.TrimSpace(out)
		}
		address := forward(gt.t, gt.b, site, namespace, "pod/"+pod)
		job := scrapes(
			"agents-"+name,
			object{"targets": []string{address}, "labels": object{"pod": pod, "namespace": namespace}},
		)
		job["authorization"] = object{"credentials": read(credentials.KeyReaderToken)}
		// Debian's Prometheus takes no certificate in its configuration itself.
		ca := filepath.Join(gt.t.TempDir(), "ca.crt")
		g.Expect(os.WriteFile(ca, []byte(read(credentials.KeyCA)), 0o600)).To(Succeed())
		job["tls_config"] = object{"ca_file": ca, "server_name": "localhost"}
		jobs = append(jobs, job)
		gt.refusesOthers(address)
	}
	return jobs
}

// refusesOthers: without a token an agent tells neither status nor metrics, and answers its probes all the same.
func (gt *groupTest) refusesOthers(address string) {
	gt.t.Helper()
	g := NewWithT(gt.t)
	https := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	for path, code := range map[string]int{"/metrics": http.StatusUnauthorized, "/status": http.StatusUnauthorized,
		"/livez": http.StatusOK, "/readyz": http.StatusOK} {
		response, err := https.Get("https://" + address + path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(code), path)
	}
}

func scrapes(job string, targets ...object) object {
	return object{
		"job_name":       job,
		"scheme":         "https",
		"static_configs": targets,
	}
}

var forwarding = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) `)

// forward leads a port of this machine to the port of the metrics, until the test ends.
func forward(t *testing.T, b *bed.Bed, site *bed.Site, namespace, what string) string {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(
		ctx,
		filepath.Join(b.Cache, "bin/kubectl"),
		"--kubeconfig",
		site.Kubeconfig,
		"--context",
		"kind-"+site.Name,
		"-n",
		namespace,
		"port-forward",
		what,
		":8443",
	)
	out, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := forwarding.FindStringSubmatch(lines.Text()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("kubectl port-forward %s at %s ended: %v", what, site.Name, lines.Err())
	return ""
}
