// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A value that a procedure's page does not list is refused with the error that names what is listed, at the parameter's
// own number, and nothing is written; so is a procedure in the wrong database, and one that is told of nothing that
// exists. By docs/relational-databases/errors-events/database-engine-events-and-errors.md and the procedures' pages.
func TestProceduresOfReplicationRefuseWrongValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	dist := r.dist.open(t, "distribution")
	const more = `@publication = N'other', @independent_agent = N'true', `
	for _, c := range []struct {
		db     executor
		text   string
		number int32
	}{
		{r.distDB, `sp_adddistributiondb @database = N'master'`, 20587},
		{r.distDB, `sp_adddistributiondb @database = N'more', @security_mode = 2`, 14109},
		{r.distDB, `sp_adddistributiondb @database = N'more', @min_distretention = -1`, 14106},
		{r.distDB, `sp_adddistributiondb @database = N'more', @min_distretention = 5, @max_distretention = 5`, 14107},
		{r.pubDB, `sp_replicationdboption @dbname = N'master', @optname = N'publish', @value = N'true'`, 20587},
		{r.pubDB, `sp_replicationdboption @dbname = N'shop', @optname = N'print', @value = N'true'`, 14138},
		{r.pubDB, `sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'perhaps'`, 14137},
		{r.source, `sp_addpublication @publication = NULL`, 14043},
		{r.source, `sp_addpublication @publication = N'all'`, 14034},
		{r.source, `sp_addpublication ` + more + `@repl_freq = N'sometimes'`, 14015},
		{r.source, `sp_addpublication ` + more + `@sync_method = N'by hand'`, 14014},
		{r.source, `sp_addpublication ` + more + `@status = N'asleep'`, 14012},
		{r.source, `sp_addpublication ` + more + `@allow_push = N'perhaps'`, 14148},
		{r.source, `sp_addarticle @publication = N'web', @article = NULL, @source_object = N'orders'`, 14043},
		{r.source, `sp_addarticle @publication = N'web', @article = N'all', @source_object = N'orders'`, 14032},
		{r.source, `sp_addarticle @publication = N'web', @article = N'a', @source_object = N'orders', @type = N'poem'`,
			14023},
		{r.source,
			`sp_addarticle @publication = N'web', @article = N'a', @source_object = N'orders', @pre_creation_cmd = N'burn'`,
			14061},
		{r.source,
			`sp_addarticle @publication = N'web', @article = N'a', @source_object = N'orders', @vertical_partition = N'no'`,
			14029},
		{r.source, `sp_addarticle @publication = N'web', @article = N'a', @source_object = N'orders', @status = 255`, 14097},
		{r.source, `sp_articlecolumn @publication = N'web', @article = N'orders', @column = N'id', @operation = N'paint'`,
			14019},
		{r.source, `sp_changearticle @publication = N'web', @article = N'orders', @property = N'colour', @value = N'red'`,
			14022},
		{r.source, `sp_changepublication @publication = N'web', @property = N'colour', @value = N'red'`, 14078},
		{r.source, `sp_addsubscription @publication = N'web', @subscriber = N'SUB', @sync_type = N'by hand'`, 14052},
		{r.source, `sp_addsubscription @publication = N'web', @subscriber = N'SUB', @subscription_type = N'drag'`, 14128},
		{r.source, `sp_addsubscription @publication = N'web', @subscriber = N'SUB', @status = N'asleep'`, 14065},
		{r.source, `sp_addsubscription @publication = N'web', @subscriber = N'SUB', @update_mode = N'wild'`, 20502},
		{r.source, `sp_changesubstatus @publication = N'web', @subscriber = N'SUB', @status = N'asleep'`, 14065},
		{r.source, `sp_helparticle @publication = N'web', @article = N'nothing'`, 20027},
		{r.source, `sp_helpsubscription @publication = N'nothing'`, 20026},
		{r.source, `sp_help_publication_access @publication = N'nothing'`, 20026},
		{r.source, `sp_grant_publication_access @publication = N'web', @login = N'nobody'`, 15007},
		{r.subDB,
			`sp_addpullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscription_type = N'drag'`, 20016},
		{r.source, `sp_browsereplcmds`, 21482},
		{r.source, `sp_replmonitorhelppublisher`, 21482},
		{r.source, `sp_replmonitorhelpsubscription`, 21482},
		{dist, `sp_browsereplcmds @command_id = 1`, 21110},
		{dist, `sp_browsereplcmds @xact_seqno_start = N'0x00000020000000100001', @publisher_database_id = 1, @command_id = 1`,
			21109},
	} {
		e := failure(t, c.db, "EXEC "+c.text)
		g.Expect(e.Number).To(Equal(c.number), "%s: %s", c.text, e.Message)
		g.Expect(e.Message).NotTo(ContainSubstring("%!"), c.text)
		g.Expect(e.Class).To(BeNumerically(">", 10), c.text)
		g.Expect(e.ProcName).To(HavePrefix("sp_"), c.text)
	}
	g.Expect(query(t, r.source, `SELECT name FROM syspublications`)).To(Equal([][]any{{"web"}}))
	g.Expect(query(t, r.source, `SELECT name FROM sysarticles ORDER BY name`)).To(Equal([][]any{{"orders"}, {"pictures"}}))
	g.Expect(query(t, r.source, `SELECT COUNT(*) FROM syssubscriptions WHERE srvid >= 0`)).To(Equal([][]any{{int64(0)}}))
	g.Expect(query(t, r.distDB, `SELECT name FROM sys.databases WHERE name = N'more'`)).To(BeEmpty())
	g.Expect(query(t, r.distDB, `SELECT is_distributor FROM sys.databases WHERE name = N'master'`)).
		To(Equal([][]any{{false}}))
}
