// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A parameter that this server does nothing with is refused by its name, as soon as its value asks for something.
func TestParametersOfReplicationThatAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newInstance(t).open(t, "master")
	for _, text := range []string{
		`sp_addarticle @publication = N'p', @article = N'a', @fire_triggers_on_snapshot = N'true'`,
		`sp_addarticle @publication = N'p', @article = N'a', @use_default_datatypes = 0`,
		`sp_addpublication @publication = N'p', @add_to_active_directory = N'true'`,
		`sp_addpublication @publication = N'p', @publisher = N'ORACLE'`,
		`sp_addsubscription @publication = N'p', @subscriber = N's', @optional_command_line = N'-Output x'`,
		`sp_addpullsubscription_agent @publisher = N'p', @publisher_db = N'd', @publication = N'p', @use_ftp = N'true'`,
		`sp_removedbreplication @dbname = N'd', @type = N'merge'`,
		`sp_help_publication_access @publication = N'p', @return_granted = 0`,
	} {
		err := failure(t, db, "EXEC "+text)
		g.Expect(err.Number).To(Equal(int32(21023)), text)
		g.Expect(err.Message).To(MatchRegexp(`@\w+ = `), text)
	}
	for text, number := range map[string]int32{
		`sp_addarticle @publication = N'p', @article = N'a', @fire_triggers_on_snapshot = N'false', @use_default_datatypes = 1, @threshold = NULL`: 21023,
		`sp_addsubscription @publication = N'p', @subscriber = N's', @dts_package_location = N'Distributor'`:                                       21023,
	} {
		g.Expect(failure(t, db, "EXEC "+text).Number).NotTo(Equal(number), text)
	}
}
