// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"geosql.dev/operator/test/support/checkout"
)

// documented is what Microsoft's documentation says of procedures, views, tables and DDL: the part of
// standin/catalog/tsql_catalog.json that these tests ask for. Each entry of the file names its page.
type documented struct {
	procedures map[string]*procedure
	views      map[string]*relation
	tables     map[string]*relation
	ddl        map[string]json.RawMessage
}

// procedure is a system stored procedure; its name has no schema.
type procedure struct {
	Name       string       `json:"name"`
	Parameters []*parameter `json:"params"`
}

// parameter of a procedure. Its name has its @. Any value is allowed when Allowed is empty.
type parameter struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Allowed  values `json:"allowed"`
}

// values are literals that the file has as text or numbers.
type values []string

// UnmarshalJSON keeps each value's text.
func (l *values) UnmarshalJSON(text []byte) error {
	var listed []any
	if err := json.Unmarshal(text, &listed); err != nil {
		return err
	}
	for _, value := range listed {
		*l = append(*l, fmt.Sprint(value))
	}
	return nil
}

// relation is a view or a table.
type relation struct {
	Columns []column `json:"columns"`
}

type column struct {
	Name string `json:"name"`
}

// catalog reads the file once; it panics when the file is not as these types say, since no test could then be believed.
var catalog = sync.OnceValue(func() *documented {
	text, err := os.ReadFile(filepath.Join(checkout.Root(), "standin", "catalog", "tsql_catalog.json"))
	if err != nil {
		panic(fmt.Sprintf("read the catalog: %v", err))
	}
	var file struct {
		Procedures []*procedure               `json:"procedures"`
		Views      map[string]*relation       `json:"dmvs"`
		Tables     map[string]*relation       `json:"replication_tables"`
		DDL        map[string]json.RawMessage `json:"ddl"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		panic(fmt.Sprintf("parse the catalog: %v", err))
	}
	d := &documented{
		procedures: map[string]*procedure{},
		views:      lowered(file.Views),
		tables:     lowered(file.Tables),
		ddl:        file.DDL,
	}
	for _, p := range file.Procedures {
		d.procedures[strings.ToLower(p.Name)] = p
	}
	return d
})

// lowered has the names in lower case: SQL Server's own names are asked for in any.
func lowered[T any](named map[string]T) map[string]T {
	out := make(map[string]T, len(named))
	for name, value := range named {
		out[strings.ToLower(name)] = value
	}
	return out
}

func (d *documented) procedure(name string) (*procedure, bool) {
	p, ok := d.procedures[strings.ToLower(name)]
	return p, ok
}

// view asks for a view by its name with schema, such as sys.databases.
func (d *documented) view(name string) (*relation, bool) {
	v, ok := d.views[strings.ToLower(name)]
	return v, ok
}

// replicationTable asks for a table by its name without a schema.
func (d *documented) replicationTable(name string) (*relation, bool) {
	t, ok := d.tables[strings.ToLower(name)]
	return t, ok
}

func (p *procedure) parameter(name string) (*parameter, bool) {
	for _, known := range p.Parameters {
		if strings.EqualFold(known.Name, name) {
			return known, true
		}
	}
	return nil, false
}
