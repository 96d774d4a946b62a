// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/topology"
	"geosql.dev/operator/test/support/terminal"
)

const examples = "../../../examples/"

func TestPlanOffline(t *testing.T) {
	g := NewWithT(t)
	text, err := terminal.Run(t, NewCommand(), "", "-f", examples+"sites.yaml", "-f", examples+"msdn.yaml", "--offline")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix("Topology web/msdn: 9 to create, 0 to change, 0 to adopt, 0 to remove, of 9 objects\n"))
	for _, want := range []string{
		"+ create SQLServer dubsub: it is declared and does not exist",
		"CREATE LOGIN [geosql_operator] WITH PASSWORD = N'***'",
		"CREATE AVAILABILITY GROUP [content]",
		"ADD LISTENER N'content'",
		"EXEC sys.sp_adddistpublisher @publisher = N'quisec-0'",
		"EXEC sys.sp_addarticle @publication = N'articles', @article = N'dbo.Attachment'",
		"EXEC sys.sp_redirect_publisher @original_publisher = N'tukpub-0'",
		"+ create Subscription dublin",
	} {
		g.Expect(text).To(ContainSubstring(want))
	}
}

// Replicas that one node could take along are said to keep apart, before anything is made.
func TestPlanSaysWhatKeepsApart(t *testing.T) {
	g := NewWithT(t)
	manifest, err := os.ReadFile(examples + "msdn.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := terminal.Run(t, NewCommand(), strings.ReplaceAll(string(manifest), "site: quincy", "site: tukwila"),
		"-f", examples+"sites.yaml", "-f", "-", "--offline")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(
		ContainSubstring("its pod prefers another node than quisec of the same site (group content)"),
		ContainSubstring("its pod prefers another node than tukpub of the same site (group content)")))
}

// What a manifest has beside its Topologies is named and passed over, of whatever kind it is.
func TestPlanPassesOverWhatIsNotOfATopology(t *testing.T) {
	g := NewWithT(t)
	manifest, err := os.ReadFile(examples + "msdn.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	others := "\n---\n"
	for _, kind := range []string{"AgentProfile", "Drill", "DrillSchedule", "Failover", "Login", "Publication",
		"PublisherMove", "SQLServer"} {
		others += "apiVersion: geosql.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: other}\n---\n"
	}
	others += "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Secret\nmetadata: " +
		"{name: other, namespace: shop}\nstringData: {password: hunter2}\n"
	text, err := terminal.Run(
		t,
		NewCommand(),
		string(manifest)+others,
		"-f",
		examples+"sites.yaml",
		"-f",
		"-",
		"-f",
		"../../../config/samples/login.yaml",
		"--offline",
		"-n",
		"shop",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix("Topology web/msdn: 9 to create, "))
	g.Expect(text).
		To(And(
			ContainSubstring("\n\nPassed over Site "),
			ContainSubstring("\nPassed over Site quincy: it is taken as it is declared here, and not compared with the hub\n"),
			ContainSubstring("\nPassed over PublisherMove shop/other: only what Topologies declare is planned\n"),
			ContainSubstring(
				"\nPassed over Namespace shop: it is of v1, which is not the operator's\nPassed over Secret shop/other: "+
					"it is of v1",
			),
			Not(ContainSubstring("hunter2")),
			HaveSuffix("\nPassed over Login web/webapp: only what Topologies declare is planned\n"),
		))
	g.Expect(strings.Count(text, "\nPassed over ")).To(Equal(3 + 8 + 2 + 1))
	g.Expect(text).NotTo(ContainSubstring("Passed over Topology"))
}

func TestPlanRefusesWhatItCannotPlan(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"--offline"}, "say with -f"},
		{[]string{"--offline", "-f", examples + "sites.yaml"}, "there is no Topology in"},
		{[]string{"--offline", "-f", "absent.yaml"}, "absent.yaml"},
	} {
		_, err := terminal.Run(t, NewCommand(), "", c.arguments...)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
	}
}

// world is a hub in which the example has been applied and expanded.
func world(t *testing.T) (client.WithWatch, *v1alpha1.Topology) {
	t.Helper()
	g := NewWithT(t)
	snapshot, err := cli.DecodeFiles(NewCommand(), []string{examples + "msdn.yaml"})
	g.Expect(err).NotTo(HaveOccurred())
	declared := &snapshot.Topologies[0]
	objects, err := topology.Expand(declared)
	g.Expect(err).NotTo(HaveOccurred())
	return terminal.Hub(append(objects.All(), declared)...).Build(), declared
}

// A plan against a hub shows what differs and leaves the hub as it is.
func TestPlanAgainstAHub(t *testing.T) {
	g := NewWithT(t)
	hub, topology := world(t)
	manifest := topology.DeepCopy()
	manifest.Spec.ServerDefaults.Image = "mssql:next"
	manifest.Spec.Subscriptions = nil
	manifest.Spec.Servers = append(
		manifest.Spec.Servers,
		v1alpha1.TopologyServer{Name: "another", SQLServerSpec: v1alpha1.SQLServerSpec{Site: "dublin"}},
	)
	var out bytes.Buffer
	p := planner{out: &out, topology: manifest, agentImage: "geosql", now: time.Now()}
	g.Expect(p.observe(t.Context(), hub)).To(Succeed())
	g.Expect(p.print()).To(Succeed())
	text := out.String()
	g.Expect(text).To(HavePrefix("Topology web/msdn: 1 to create, "))
	g.Expect(text).To(And(ContainSubstring("~ change SQLServer tukpub: spec.image differs from the manifest"),
		ContainSubstring("+ create SQLServer another"), ContainSubstring("- remove Subscription dublin")))
	var now v1alpha1.Topology
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(topology), &now)).To(Succeed())
	g.Expect(now.Spec.Subscriptions).To(HaveLen(1))
	g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "another"}, &v1alpha1.SQLServer{})).
		NotTo(Succeed())
}

// A publication of a group that is there is made at its primary: the server on which the group began may be gone.
func TestPlanOfAPublicationOfAGroupThatIsThere(t *testing.T) {
	g := NewWithT(t)
	_, topology := world(t)
	manifest := topology.DeepCopy()
	group := manifest.Spec.AvailabilityGroups[0].AvailabilityGroupSpec
	group.InitialPrimary = "gone"
	manifest.Spec.AvailabilityGroups[0].AvailabilityGroupSpec = group
	there := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content",
		Labels: map[string]string{v1alpha1.LabelTopology: manifest.Name}}, Spec: group}
	there.Status.GroupID, there.Status.Primary = "1", "quisec-0"
	var out bytes.Buffer
	p := planner{out: &out, topology: manifest, agentImage: "geosql", now: time.Now(),
		observed: topologies.Observed{Objects: map[topologies.Key]client.Object{
			{Kind: "AvailabilityGroup", Name: "content"}: there}}}
	g.Expect(p.print()).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("@original_publisher = N'quisec-0'"),
		Not(ContainSubstring("gone-0"))))
}

// A group that nobody could make has no steps: no API server has refused it.
func TestPlanOfAGroupThatNobodyMakes(t *testing.T) {
	g := NewWithT(t)
	manifest, err := os.ReadFile(examples + "msdn.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	wrong := strings.Replace(string(manifest), "initialPrimary: tukpub", "initialPrimary: nobody", 1)
	text, err := terminal.Run(t, NewCommand(), wrong, "-f", examples+"sites.yaml", "-f", "-", "--offline")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(ContainSubstring("+ create AvailabilityGroup content"),
		Not(ContainSubstring("CREATE AVAILABILITY GROUP"))))
}

// Backups are planned like all else: what a new policy asks of its servers, in T-SQL too, and what an entry that is
// changed or taken away does with the objects that are there.
func TestPlanOfBackups(t *testing.T) {
	g := NewWithT(t)
	manifest, err := os.ReadFile(examples + "msdn.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	const backups = `
  backupStores:
  - {name: s3, s3: {endpoint: "https://s3.example", bucket: sql, credentialsSecretRef: {name: keys}}}
  backupPolicies:
  - {name: all, full: {schedule: 0 1 * * 0}, stores: [s3]}
  - {name: copy, target: {server: dubsub}, full: {schedule: 0 1 * * 0}, stores: [s3]}
  - {name: theirs, target: {availabilityGroup: elsewhere}, full: {schedule: 0 1 * * 0}, stores: [s3]}
`
	text, err := terminal.Run(t, NewCommand(), string(manifest)+backups,
		"-f", examples+"sites.yaml", "-f", "-", "--offline")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix("Topology web/msdn: 13 to create"))
	g.Expect(text).To(And(
		ContainSubstring("+ create BackupStore s3: it is declared and does not exist\n    1. write an object to "+
			"https://s3.example/sql"),
		ContainSubstring("+ create BackupPolicy all-content: it is declared and does not exist\n    1. tell tukpub-0 which "+
			"backups to take"),
		ContainSubstring("tell quisec-0 which backups to take"),
		ContainSubstring("on tukpub-0 in Content: the server's agent takes backups: IF DATABASE_PRINCIPAL_ID"),
		ContainSubstring("ALTER ROLE [db_backupoperator] ADD MEMBER [geosql_agent]"),
		ContainSubstring("tell dubsub-0 which backups to take"),
		ContainSubstring("+ create BackupPolicy theirs: it is declared and does not exist\n\nNot yet tried"),
		Not(ContainSubstring("dubcfg-0 which backups"))))

	hub, declared := world(t)
	g.Expect(yaml.Unmarshal([]byte(string(manifest)+backups), declared)).To(Succeed())
	objects, err := topology.Expand(declared)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects.Policies {
		g.Expect(hub.Create(t.Context(), object)).To(Succeed())
	}
	g.Expect(hub.Create(t.Context(), objects.Stores[0])).To(Succeed())
	declared.Spec.BackupPolicies[0].Full.Schedule = "0 3 * * 0"
	declared.Spec.BackupPolicies = declared.Spec.BackupPolicies[:2]
	var out bytes.Buffer
	p := planner{out: &out, topology: declared, agentImage: "geosql", now: time.Now()}
	g.Expect(p.observe(t.Context(), hub)).To(Succeed())
	g.Expect(p.print()).To(Succeed())
	g.Expect(out.String()).To(And(HavePrefix("Topology web/msdn: 0 to create, 1 to change, 0 to adopt, 1 to remove"),
		ContainSubstring("~ change BackupPolicy all-content: spec.full differs from the manifest"),
		ContainSubstring("- remove BackupPolicy theirs: the manifest does not have it; what was backed up stays")))
}

// What the hub would refuse is said, not planned.
func TestPlanOfAManifestThatIsRefused(t *testing.T) {
	g := NewWithT(t)
	hub, topology := world(t)
	refusing := interceptor.NewClient(
		hub,
		interceptor.Funcs{
			Update: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.UpdateOption) error {
				g.Expect(options).To(ContainElement(client.DryRunAll))
				return apierrors.NewBadRequest("spec.servers[0].site is immutable")
			},
		},
	)
	p := planner{out: &bytes.Buffer{}, topology: topology.DeepCopy(), now: time.Now()}
	g.Expect(p.observe(t.Context(), refusing)).
		To(MatchError(ContainSubstring("the hub does not take Topology web/msdn: spec.servers[0].site is immutable")))
}
