// SPDX-License-Identifier: Apache-2.0

//go:build drivers

package drivers_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// mappers are object mappers and tools of migrations, and the programs that lead them through their ordinary life.
var mappers = []struct {
	name    string
	command func(installed string) []string
}{
	{"sqlalchemy-pymssql", python("mappers.py", "sqlalchemy-pymssql")},
	{"sqlalchemy-pyodbc", python("mappers.py", "sqlalchemy-pyodbc")},
	{"django", python("mappers.py", "django")},
	{"typeorm", javascript("typeorm")},
	{"sequelize", javascript("sequelize")},
	{"knex", javascript("knex")},
}

func javascript(name string) func(string) []string {
	return func(string) []string { return []string{"node", filepath.Join("javascript", "mappers.mjs"), name} }
}

// TestMappers gives each mapper an empty database, in which it makes tables, writes and reads rows, takes a transaction
// back, reads the schema and takes migrations up and down. docs/drivers.md names them.
func TestMappers(t *testing.T) {
	dir := installed(t)
	s := start(t)
	env := s.prepareEnvironment(t, dir)
	for _, m := range mappers {
		t.Run(m.name, func(t *testing.T) {
			g := NewWithT(t)
			database := strings.ReplaceAll(m.name, "-", "_")
			s.emptyDatabase(t, database)
			r := runProgram(t, m.command(dir), append(env, "DRV_DATABASE="+database))
			for _, check := range []string{"tables", "rows", "transactions", "reflection", "migration"} {
				g.Expect(r.checks).To(HaveKeyWithValue(check, HaveField("Result", "pass")), check)
			}
		})
	}
}

func (s *server) emptyDatabase(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := sql.Open("sqlserver", s.dsn("", nil))
	g.Expect(err).NotTo(HaveOccurred())
	defer admin.Close()
	_, err = admin.ExecContext(ctx, "CREATE DATABASE ["+name+"]")
	g.Expect(err).NotTo(HaveOccurred())
}
