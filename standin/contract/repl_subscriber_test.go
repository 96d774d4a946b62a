// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// Subscribers are named before they subscribe, as scripts of earlier versions do, and a subscription tells where its
// snapshot and its logins are. By docs/relational-databases/system-stored-procedures/sp-addsubscriber-transact-sql.md,
// sp-changesubscriber, sp-dropsubscriber, sp-browsesnapshotfolder and sp-helpsubscription-properties.
func TestSubscribersThatAreNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(
		t,
		r.pubDB,
		`EXEC sp_addsubscriber @subscriber = N'SUB', @type = 0, @description = N'the other one', @security_mode = 0, @login = N'sa', @frequency_type = 64, @commit_batch_size = 100`,
	)
	g.Expect(failure(t, r.pubDB, `EXEC sp_addsubscriber @subscriber = N'SUB'`).Number).To(BeEquivalentTo(14040))
	g.Expect(failure(t, r.pubDB, `EXEC sp_addsubscriber @subscriber = N'ORA', @type = 3`).Number).To(BeEquivalentTo(21023))
	g.Expect(failure(t, r.pubDB, `EXEC sp_dropsubscriber @subscriber = N'NOBODY'`).Number).To(BeEquivalentTo(14048))
	g.Expect(failure(t, r.pubDB, `EXEC sp_changesubscriber @subscriber = N'NOBODY'`).Number).To(BeEquivalentTo(14048))
	g.Expect(value(t, r.pubDB, `SELECT is_subscriber FROM sys.servers WHERE name = N'SUB'`)).To(BeTrue())
	mustExec(t, r.pubDB, `EXEC sp_changesubscriber @subscriber = N'SUB', @description = N'another'`)
	g.Expect(query(t, r.distDB,
		`SELECT publisher, subscriber, type, login, description, security_mode FROM distribution.dbo.MSsubscriber_info`)).
		To(Equal([][]any{{"PUB", "SUB", int64(0), "sa", "another", int64(0)}}))
	mustExec(t, r.pubDB, `EXEC sp_dropsubscriber @subscriber = N'SUB'`)
	g.Expect(value(t, r.pubDB, `SELECT is_subscriber FROM sys.servers WHERE name = N'SUB'`)).To(BeFalse())
	g.Expect(value(t, r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSsubscriber_info`)).To(BeEquivalentTo(0))

	folder := `EXEC sp_browsesnapshotfolder @publication = N'web'`
	g.Expect(query(t, r.source, folder)).To(BeEmpty())
	r.pull(t)
	r.snapshot(t)
	r.bothSame(t)
	g.Expect(failure(t, r.pubDB, `EXEC sp_dropsubscriber @subscriber = N'SUB'`).Number).To(BeEquivalentTo(14144))
	newest := query(t, r.source, folder)
	g.Expect(newest).To(HaveLen(1))
	files, err := os.ReadDir(newest[0][0].(string))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	g.Expect(query(t, r.source, folder+`, @subscriber = N'SUB', @subscriber_db = N'shopcopy'`)).To(Equal(newest))
	g.Expect(query(t, r.source, folder+`, @subscriber = N'SUB', @subscriber_db = N'othercopy'`)).To(BeEmpty())
	g.Expect(failure(t, r.source, `EXEC sp_browsesnapshotfolder @publication = N'nothing'`).Number).
		To(BeEquivalentTo(20026))

	properties := query(t, r.target, `EXEC sp_helpsubscription_properties @publication = N'web'`)
	g.Expect(properties).To(HaveLen(1))
	g.Expect(properties[0]).To(HaveLen(31))
	g.Expect(properties[0][:4]).To(Equal([]any{"PUB", "shop", "web", int64(0)}))
	g.Expect(properties[0][7:11]).To(Equal([]any{"DIST", "sa", "**********", int64(0)}))
	g.Expect(query(t, r.target, `EXEC sp_helpsubscription_properties @publication_type = 2`)).To(BeEmpty())
}
