// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
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
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/checkout"
)

// shellBlocks are the shell blocks of a runbook, in their order, with other names in place of the page's.
func shellBlocks(t *testing.T, page string, names ...string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "runbooks", page))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, strings.NewReplacer(names...).Replace(m[1]))
	}
	return blocks
}

// asAPerson runs the commands of a runbook as a person does whose kubectl is pointed at the hub. What they change they
// have changed when it returns.
func asAPerson(t *testing.T, b *bed.Bed, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	kubectl, programs := filepath.Join(b.Cache, "bin"), filepath.Join(b.Cache, "bin-project")
	if program := os.Getenv("KUBECTL_GEOSQL"); program != "" {
		programs = filepath.Dir(program)
	}
	config := filepath.Join(t.TempDir(), "config")
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c",
		`(umask 077; kubectl config view --flatten >"$1"); export KUBECONFIG=$1; kubectl config use-context "kind-$2" >/dev/null
eval "$3"`, "bash", config, b.Hub().Name, commands)
	command.Env = append(os.Environ(), "PATH="+strings.Join([]string{kubectl, programs, os.Getenv("PATH")}, ":"))
	out, err := command.CombinedOutput()
	t.Logf("%s(%v)\n%s", commands, err, out)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// The site of the server on which a group began is lost. The commands of the runbook put a server of another site in
// its place while a client writes, and nothing acknowledged is lost. What is left of the lost one is taken away as the
// page says, before its site is declared active again.
func TestALostReplicaIsReplacedAtAnotherSite(t *testing.T) {
	onlyInAll(t)
	turn := groupB.Disturbs(t, 9, 150)
	g := NewWithT(t)
	gt := inTurn(t, groupB)
	b := gt.b
	gt.backAt("tukwila")
	turn.Alone()
	b.ResetWan(t)
	gt.backAt("tukwila")
	lost, next := gt.servers["tukwila"], newServer(t, b, "e2ebnext", "dublin", nil)
	g.Expect(gt.group.Spec.InitialPrimary).To(BeEquivalentTo(lost.Name))
	page := shellBlocks(t, "lost-replica.md", "tukpub", lost.Name, "blusec", next.Name, "blueridge", "dublin",
		"availabilitygroup content", "availabilitygroup "+gt.group.Name, "availabilitygroup/content",
		"availabilitygroup/"+gt.group.Name, "-n web", "-n "+namespace, `"web"`, `"`+namespace+`"`,
		"tukwila-admin", "kind-tukwila")
	g.Expect(page).To(HaveLen(7), "a step that is not walked here has a block")
	look, siteIsLost, declare, replace, wait, remove, left := page[0], page[1], page[2], page[3], page[4], page[5], page[6]
	through := gt.wherever(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(through)
	back := loseSite(t, b, "tukwila", "quincy", "dublin")
	gt.electedAt("quincy", "dublin", time.Minute)
	w.more(t, time.Minute)

	g.Expect(asAPerson(t, b, look)).To(ContainSubstring(gt.group.Name))
	asAPerson(t, b, siteIsLost)
	t.Cleanup(func() {
		if t.Failed() {
			deleteServers(t, b, next) // it goes when the group is gone
		}
	})
	began := time.Now()
	asAPerson(t, b, declare)
	asAPerson(t, b, replace)
	asAPerson(t, b, wait)
	t.Logf("a server of another site is promotable %.1f s after it was declared", time.Since(began).Seconds())
	asAPerson(t, b, remove)
	gt.servers["tukwila"] = next
	bed.Wait(t, "the status has the new replica alone", time.Minute, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		named := false
		for _, r := range gt.group.Status.Replicas {
			named = named || r.Server == credentials.HostName(v1alpha1.ServerName(lost.Name))
		}
		return !named && len(gt.group.Status.Replicas) == 3, c.Reason + ": " + c.Message, err
	})
	g.Expect(gt.group.Spec.InitialPrimary).To(BeEquivalentTo(lost.Name))
	g.Expect(gt.group.Status.Primary).To(Equal(credentials.HostName(gt.server("quincy"))))
	w.more(t, time.Minute)
	w.end()
	w.verify(t, through)
	dublin := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	w.verify(t, open(t, dublin, next, credentials.RoleSA, "Content"))
	b.Wan(t, "heal", "tukwila", "quincy", "dublin")
	asAPerson(t, b, left)
	back()
}
