// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

func read(t *testing.T, manifest string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(manifest), into); err != nil {
		t.Fatal(err)
	}
}

func TestMergeServer(t *testing.T) {
	g := NewWithT(t)
	var defaults, server v1alpha1.SQLServerSpec
	read(t, `
acceptEULA: true
image: engine
storage: {data: {size: 20Gi, storageClassName: fast}, log: {size: 10Gi}}
startup: {checkpointThrottleMBps: 750, traceFlags: [1204, 1222]}
mssqlConf: {a.b: "1", c.d: "2"}
`, &defaults)
	read(t, `
site: tukwila
storage: {data: {size: 40Gi}}
startup: {traceFlags: [3226]}
mssqlConf: {c.d: "3"}
`, &server)
	before := server.DeepCopy()
	merged, err := topology.MergeServer(&defaults, &server)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(merged.AcceptEULA).To(BeTrue())
	g.Expect(merged.Site).To(BeEquivalentTo("tukwila"))
	g.Expect(merged.Storage.Data.Size.String()).To(Equal("40Gi"))
	g.Expect(*merged.Storage.Data.StorageClassName).To(Equal("fast"), "merged field by field")
	g.Expect(merged.Storage.Log.Size.String()).To(Equal("10Gi"))
	g.Expect(*merged.Startup.CheckpointThrottleMBps).To(BeEquivalentTo(750))
	g.Expect(merged.Startup.TraceFlags).To(Equal([]int32{3226}), "a list takes the default's place")
	g.Expect(merged.MSSQLConf).To(Equal(map[string]string{"a.b": "1", "c.d": "3"}))
	g.Expect(&server).To(Equal(before))

	var onlyClass v1alpha1.SQLServerSpec
	read(t, `storage: {log: {storageClassName: slow, size: 0}}`, &onlyClass)
	merged, err = topology.MergeServer(&defaults, &onlyClass)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(merged.Storage.Log.Size.String()).To(Equal("10Gi"), "a volume may name its class alone")
	g.Expect(*merged.Storage.Log.StorageClassName).To(Equal("slow"))
}

// A server has one certificate: where it takes its own from takes the place of where the defaults take theirs from.
func TestMergedCertificates(t *testing.T) {
	for name, c := range map[string]struct{ defaults, server, want string }{
		"of the defaults":  {"tls: {issuerRef: {name: corp}}", "{}", "tls: {issuerRef: {name: corp}}"},
		"a Secret instead": {"tls: {issuerRef: {name: corp}}", "tls: {secretName: mine}", "tls: {secretName: mine}"},
		"an issuer instead": {"tls: {secretName: all}", "tls: {issuerRef: {name: corp}}",
			"tls: {issuerRef: {name: corp}}"},
		"another issuer of that kind": {"tls: {issuerRef: {name: corp, kind: ClusterIssuer}}",
			"tls: {issuerRef: {name: lab}}", "tls: {issuerRef: {name: lab, kind: ClusterIssuer}}"},
		"a server's alone": {"{}", "tls: {secretName: mine}", "tls: {secretName: mine}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var defaults, server, want v1alpha1.SQLServerSpec
			read(t, c.defaults, &defaults)
			read(t, c.server, &server)
			read(t, c.want, &want)
			merged, err := topology.MergeServer(&defaults, &server)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(merged.TLS).To(Equal(want.TLS))
		})
	}
}

func TestExpandTheExample(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "msdn.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var declared v1alpha1.Topology
	for _, document := range strings.Split(string(data), "\n---") {
		if strings.Contains(document, "kind: Topology") {
			read(t, document, &declared)
		}
	}
	objects, err := topology.Expand(&declared)
	g.Expect(err).NotTo(HaveOccurred())
	var got []string
	for _, o := range objects.All() {
		g.Expect(o.GetNamespace()).To(Equal("web"))
		g.Expect(o.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelTopology, declared.Name))
		got = append(got, o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName())
	}
	g.Expect(got).
		To(Equal([]string{"SQLServer tukpub", "SQLServer quisec", "SQLServer dubcfg", "SQLServer dist", "SQLServer dubsub",
			"AvailabilityGroup content", "Distributor main", "Publication articles", "Subscription dublin"}))
	objects.Servers[0].Spec.Storage.Data.Size.Neg()
	g.Expect(declared.Spec.ServerDefaults.Storage.Data.Size.Sign()).To(Equal(1), "objects share nothing with the Topology")
}

// A server's databases keep their sources, those of the defaults on every server, and share nothing with the Topology.
func TestExpandKeepsWhereDatabasesComeFrom(t *testing.T) {
	g := NewWithT(t)
	var declared v1alpha1.Topology
	read(t, `
metadata: {namespace: web, name: shop}
spec:
  serverDefaults: {databases: [{name: Archive, from: {restore: {store: s3, path: web/server/old/Archive}}}]}
  servers:
  - {name: one, site: tukwila}
  - name: two
    site: tukwila
    databases: [{name: Blog, from: {restore: {policy: nightly, database: Live, to: {lsn: "7"}}}}]
`, &declared)
	objects, err := topology.Expand(&declared)
	g.Expect(err).NotTo(HaveOccurred())
	from := func(source v1alpha1.BackupSource, to *v1alpha1.RestorePoint) *v1alpha1.DatabaseSource {
		return &v1alpha1.DatabaseSource{Restore: &v1alpha1.DatabaseRestore{BackupSource: source, To: to}}
	}
	g.Expect(objects.Servers[0].Spec.Databases).To(Equal([]v1alpha1.Database{{Name: "Archive",
		From: from(v1alpha1.BackupSource{Store: "s3", Path: "web/server/old/Archive"}, nil)}}))
	blog := objects.Servers[1].Spec.Database("Blog")
	g.Expect(blog.From).To(Equal(from(v1alpha1.BackupSource{Policy: "nightly", Database: "Live"},
		&v1alpha1.RestorePoint{LSN: "7"})))
	blog.From.Restore.To.LSN = "8"
	g.Expect(declared.Spec.Servers[1].Databases[0].From.Restore.To.LSN).To(Equal("7"))
}
