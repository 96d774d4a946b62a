// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backuppolicy

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/test/support/engine"
)

// What the controller asks an engine, and the statements of its plans, go together: once they are carried out nothing
// is left to do. A read-only database is left alone.
func TestTheAgentsRightsAtAnEngine(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	connector := e.Connector(t)
	asked := engines{connector}
	db, err := connector.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{
		"IF SUSER_ID('geosql_agent') IS NULL CREATE LOGIN geosql_agent WITH PASSWORD = 'One-longpass.word1'",
		"CREATE DATABASE Content", "ALTER DATABASE Content SET RECOVERY FULL",
		"CREATE DATABASE Archive", "ALTER DATABASE Archive SET RECOVERY SIMPLE", "ALTER DATABASE Archive SET READ_ONLY"} {
		_, err := db.Handle().ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred(), text)
	}
	g.Expect(asked.Models(t.Context(), "web", "tukpub")).To(And(
		HaveKeyWithValue("content", mssql.BackupModel{Recovery: "FULL"}),
		HaveKeyWithValue("archive", mssql.BackupModel{Recovery: simple, ReadOnly: true})))
	g.Expect(asked.Edition(t.Context(), "web", "tukpub")).To(Equal(mssql.EngineEditionEnterprise))

	d := desired()
	d.Servers, d.Databases = []v1alpha1.ServerName{"tukpub"}, []v1alpha1.DatabaseName{"Content", "Archive"}
	look := func() Observed {
		o := Observed{Now: noon, Users: map[v1alpha1.DatabaseName]reconcile.Reading[*mssql.UserState]{}}
		o.Models = reconcile.Asked(asked.Models(t.Context(), "web", "tukpub"))
		o.Servers = map[v1alpha1.ServerName]Server{"tukpub": told(t, noon)}
		s := o.Servers["tukpub"]
		s.History = reconcile.Asked(asked.User(t.Context(), "web", "tukpub", "msdb"))
		o.Servers["tukpub"] = s
		for _, name := range d.Databases {
			o.Users[name] = reconcile.Asked(asked.User(t.Context(), "web", "tukpub", string(name)))
		}
		return o
	}
	p := plan(d, look())
	g.Expect(p.Steps).To(HaveLen(6))
	g.Expect((&Reconciler{connector: connector}).apply(t.Context(), d, Observed{}, p)).To(Succeed())
	p = plan(d, look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonBackupFailing),
		HaveField("Message", ContainSubstring("Archive is read-only"))))
}
