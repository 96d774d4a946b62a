// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// A copy of a publication that is declared so has what an application relies on beside rows, and rows go on to arrive.
func TestCopiesThatCanTakeOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.sql(
		t,
		"tukpub",
		"Content",
		`CREATE TABLE dbo.Article (Id int IDENTITY(1,1) NOT NULL PRIMARY KEY,
		Body nvarchar(100) NOT NULL CONSTRAINT DF_Body DEFAULT N'none yet',
	Price int NOT NULL CONSTRAINT CK_Price CHECK (Price >= 0))`,
	)
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Price) VALUES (1), (2)")
	d, p := published()
	p.Spec.SchemaOptions = v1alpha1.SchemaPublishable
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d, p, s)
	rows := b.rows(t, "dubsub", "SELECT CAST(Id AS nvarchar(10)) + Body FROM dbo.Article ORDER BY Id")
	b.waitFor(t, s, &s.Status.StatusBase, "Delivering")
	g.Eventually(rows, patient).Should(Equal("[1none yet 2none yet]"))
	b.sql(
		t,
		"tukpub",
		"Content",
		"INSERT dbo.Article (Body, Price) VALUES (N'more', 3); UPDATE dbo.Article SET Body = N'new' WHERE Id = 1",
	)
	g.Eventually(rows, patient).Should(Equal("[1new 2none yet 3more]"))
	g.Expect(b.rows(t, "dubsub", `SELECT 'identity ' + name FROM sys.identity_columns
		WHERE object_id = OBJECT_ID(N'dbo.Article')
		UNION ALL SELECT 'default ' + name FROM sys.default_constraints UNION ALL SELECT 'check ' + name
		FROM sys.check_constraints`)()).
		To(
			Equal("[identity Id default DF_Body check CK_Price]"))
}
