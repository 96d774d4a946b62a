// SPDX-License-Identifier: Apache-2.0

//go:build integration

package tsql_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// Every statement is one that an engine can parse. With SET PARSEONLY it parses and executes nothing
// (docs/t-sql/statements/set-parseonly-transact-sql.md).
func TestStatementsParse(t *testing.T) {
	g, server := NewWithT(t), engine.Start(t, "web", "tukpub")
	db, err := server.Connector(t).Open(t.Context(), server.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	session, err := db.Handle().Conn(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer session.Close()
	_, err = session.ExecContext(t.Context(), "SET PARSEONLY ON")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = session.ExecContext(t.Context(), "SELEC 1 2")
	g.Expect(err).To(HaveOccurred(), "what does not parse")
	for function, list := range samples {
		for i, s := range list {
			t.Run(function+"/"+strconv.Itoa(i), func(t *testing.T) {
				if _, err := session.ExecContext(t.Context(), declarations(s)+s.Text); err != nil {
					t.Fatalf("%v in\n%s", err, s.Text)
				}
			})
		}
	}
}

// declarations are those of a statement's arguments: without them their names are variables that nobody declared.
func declarations(s tsql.Statement) string {
	var text strings.Builder
	for _, a := range s.Args {
		fmt.Fprintf(&text, "DECLARE @%s nvarchar(max);\n", a.Name)
	}
	return text.String()
}
