// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	testlink "geosql.dev/standin/test/link"
)

// link has an instance at its far end.
type link struct{ *testlink.Link }

func newLink(t *testing.T) *link {
	t.Helper()
	ownProcess(t)
	return &link{testlink.New(t)}
}

// beyond puts an instance that has not begun at the far end.
func (l *link) beyond(i *instance) {
	i.link, i.host = l.Link, l.Far
	i.env = append(i.env, "MSSQL_IP_ADDRESS="+l.Far)
}

// inside opens a database of an instance beyond the link from its own side, cut or not.
func (l *link) inside(t *testing.T, i *instance, database string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector(i.dsn(i.user, i.password, database, nil))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	connector.Dialer = l
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}
