// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// lua is the interpreter of the version that Argo CD embeds, 5.1. Where it is not installed, the test is skipped unless
// GEOSQL_REQUIRE_LUA is set.
func lua(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err == nil {
		return path
	}
	if os.Getenv("GEOSQL_REQUIRE_LUA") != "" {
		t.Fatal("lua5.1 is not installed, and GEOSQL_REQUIRE_LUA asks for it: make test-report installs it")
	}
	t.Skip("lua5.1 is not installed")
	return ""
}

// health runs a health check as Argo CD does, with the object in the variable obj, and returns status and message.
func health(t *testing.T, kind, object string) (status, message string) {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile("argocd-health.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var config struct {
		Data map[string]string `json:"data"`
	}
	g.Expect(yaml.Unmarshal(data, &config)).To(Succeed())
	check := config.Data["resource.customizations.health.geosql.dev_"+kind]
	g.Expect(check).NotTo(BeEmpty())
	script := fmt.Sprintf(
		"obj = %s\nlocal hs = (function()\n%s\nend)()\nprint(hs.status)\nprint(hs.message)\n",
		object,
		check,
	)
	command := exec.CommandContext(t.Context(), lua(t), "-")
	command.Stdin = strings.NewReader(script)
	out, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	status, message, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return status, message
}

func TestArgoCDTakesNothingButAPassForHealthy(t *testing.T) {
	for _, c := range []struct{ name, kind, object, status, message string }{
		{"new", "Drill", `{spec={runID="2"}}`, "Progressing", "run 2: not begun"},
		{"running", "Drill", `{spec={runID="2"}, status={runID="2", phase="Running"}}`, "Progressing", "run 2: Running"},
		{"an earlier run has passed", "Drill", `{spec={runID="2"}, status={runID="1", phase="Completed", verdict="Passed"}}`,
			"Progressing", "run 2: Completed"},
		{"passed", "Drill", `{spec={runID="2"}, status={runID="2", phase="Completed", verdict="Passed", message="all met"}}`,
			"Healthy", "Passed: all met"},
		{"failed", "Drill",
			`{spec={runID="2"}, status={runID="2", phase="Completed", verdict="Failed", reason="ObjectivesMissed"}}`, "Degraded",
			"Failed: ObjectivesMissed"},
		{"inconclusive", "Drill",
			`{spec={runID="2"}, status={runID="2", phase="Completed", verdict="Inconclusive", message="too few rows"}}`,
			"Degraded", "Inconclusive: too few rows"},
		{"dry run", "Drill", `{spec={runID="2", dryRun=true}, status={runID="2", phase="Completed"}}`, "Suspended",
			"a dry run: nothing was broken"},
		{"schedule without a drill", "DrillSchedule", `{spec={}}`, "Healthy", "no drill is over yet"},
		{"schedule after a failure", "DrillSchedule", `{spec={}, status={lastVerdict="Failed"}}`, "Degraded",
			"the newest drill: Failed"},
		{"schedule after a pass", "DrillSchedule", `{spec={}, status={lastVerdict="Passed"}}`, "Healthy",
			"the newest drill has passed"},
		{"suspended schedule", "DrillSchedule", `{spec={suspend=true}, status={lastVerdict="Failed"}}`, "Suspended",
			"suspended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			status, message := health(t, c.kind, c.object)
			g.Expect(status).To(Equal(c.status))
			g.Expect(message).To(Equal(c.message))
		})
	}
}
