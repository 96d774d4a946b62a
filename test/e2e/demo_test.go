// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/checkout"
)

// demoRows is how many rows of 1 KB the demonstration writes: in full what `make demo` writes.
func demoRows() int {
	if inAll() {
		return 10_000
	}
	return 2_000
}

// unsteadyKubectl stands before kubectl in hack/demo: every seventh call is refused, as by an API server that is being
// restarted.
const unsteadyKubectl = `() {
	local calls
	calls=$(($(cat "$DEMO_RESULTS/calls" 2>/dev/null || echo 0) + 1))
	echo "$calls" >"$DEMO_RESULTS/calls"
	if [ $((calls % 7)) -eq 0 ]; then
		echo 'The connection to the server was refused - did you specify the right host or port?' >&2
		return 1
	fi
	command kubectl "$@"
}`

// The demonstration runs as a person runs it, and what it shows is so: everything declared is ready, rows that were
// written in Tukwila are whole in every copy, and they crossed the WAN. An API server that does not
// answer for a moment changes none of that.
func TestDemo(t *testing.T) {
	bed.Beside(t, 230)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	t.Cleanup(func() { removeTopology(t, b) })
	results := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(checkout.Root(), "hack", "demo"))
	// The operator is installed already; other tests use the namespace, and the objects have names of their own.
	command.Env = append(
		os.Environ(),
		"DEMO_INSTALL=no",
		"DEMO_NAMESPACE="+namespace,
		"DEMO_RESULTS="+results,
		fmt.Sprint("DEMO_ROWS=", demoRows()),
		"BASH_FUNC_kubectl%%="+unsteadyKubectl,
	)
	out, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	screen := string(out)
	g.Expect(screen).To(ContainSubstring("done: everything declared is ready and all copies are equal"))
	g.Expect(screen).To(ContainSubstring("flowchart LR"))

	var topology v1alpha1.Topology
	read(t, results, "topology.json", &topology)
	g.Expect(topology.Status.Summary).To(Equal("9 of 9 ready"))

	copies := readCopies(t, results)
	g.Expect(copies).To(HaveLen(3))
	servers := map[string]bool{}
	for _, c := range copies {
		servers[c.Server] = true
		g.Expect(c.Article).To(Equal(copies[0].Article))
		g.Expect(c.Attachment).To(Equal(copies[0].Attachment))
		g.Expect(c.Article.Damaged + c.Attachment.Damaged).To(BeZero())
		g.Expect(c.Article.Rows).To(BeNumerically(">=", demoRows()))
		g.Expect(c.Attachment.Rows).To(BeNumerically(">=", 100))
	}
	g.Expect(servers).To(And(HaveKey("tukpub-0"), HaveKey("quisec-0"), HaveKey("dubsub-0")))

	var arrived workload.Arrived
	read(t, results, "arrived.json", &arrived)
	g.Expect(arrived.Rows).To(Equal(demoRows()))
	// Light needs half of the 146 ms from Quincy to Dublin; what comes sooner did not cross the WAN.
	g.Expect(arrived.Arrival.P50).To(BeNumerically(">=", 73))
	g.Expect(arrived.Arrival.P99).To(BeNumerically("<", 60_000))
}

func read(t *testing.T, folder, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(json.Unmarshal(data, into)).To(Succeed(), "%s: %s", name, data)
}

// readCopies reads the lines of copies.json.
func readCopies(t *testing.T, folder string) []workload.Copy {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "copies.json"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var copies []workload.Copy
	for line := range strings.Lines(string(data)) {
		var c workload.Copy
		NewWithT(t).Expect(json.Unmarshal([]byte(line), &c)).To(Succeed(), line)
		copies = append(copies, c)
	}
	return copies
}

// removeTopology deletes the example, waits until all its objects are gone, and takes away what stays by design:
// volumes, Secrets and the group's votes.
func removeTopology(t *testing.T, b *bed.Bed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "msdn"}}
	if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, topology)); err != nil {
		t.Errorf("delete Topology msdn: %v", err)
		return
	}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(topology), &v1alpha1.Topology{}))
	}, 3*time.Minute, time.Second).Should(BeTrue(), "Topology msdn goes")
	for _, site := range b.Sites {
		for _, what := range [][]string{{"pvc,secret", "-l", v1alpha1.LabelTopology + "=msdn"}, {"lease", "geosql-content"},
			{"job", "-l", "app.kubernetes.io/part-of=geosql-demo"}} {
			arguments := append([]string{"-n", namespace, "delete", "--ignore-not-found", "--wait=false"}, what...)
			if _, _, err := site.Kubectl(ctx, arguments...); err != nil {
				t.Error(err)
			}
		}
	}
}
