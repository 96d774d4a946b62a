// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// Procedure is a system procedure that is written in Go.
type Procedure struct {
	// Schema is "sys" (found in every database under any schema name, as sp_ procedures are) when empty; else the
	// procedure exists in Database's Schema only (msdb.dbo.sp_add_job).
	Schema, Name, Database string
	// Parameters are those of the catalog's documentation when nil; make it empty, not nil, for none.
	Parameters []Parameter
	// Variadic lets undeclared parameters through (sp_executesql).
	Variadic bool
	// NoTransaction refuses to run within a user transaction (15002).
	NoTransaction bool
	// NotAllowed is the error for a value that is not in a parameter's Allowed; nil, or a nil result, is 15600.
	NotAllowed func(p *Parameter, value string) *sqlerr.Error
	// Run does the work. Parameters are checked and converted before. The return status is 0 unless SetStatus said
	// otherwise; a returned *sqlerr.Error makes it 1 (the engine sends the error).
	Run func(ctx context.Context, call *ProcCall) error
}

// Parameter is a parameter of a procedure.
type Parameter struct {
	// Name has its @.
	Name     string
	Type     sqltype.Type
	Required bool
	// Default is the value when it is not given; nil is NULL.
	Default any
	Output  bool
	// Alias is another name that the parameter has, empty for none.
	Alias string
	// XML lets an argument of type xml in, as its text.
	XML bool
	// Allowed are the values of a string parameter, compared without case; empty allows all.
	Allowed []string
}

// ProcCall is one execution of a Procedure.
type ProcCall struct {
	Session *Session
	// Database is the database in whose context it runs: the session's current one, or that of a three-part name.
	Database *Database
	// Writer takes result sets and messages.
	Writer tds.Writer

	procedure *Procedure
	names     []string // lower case, with @
	extra     []argument
	values    map[string]any
	types     map[string]sqltype.Type
	given     map[string]bool
	status    int32
	// givenTypes are those of the parameters as they were given.
	givenTypes map[string]sqltype.Type
}

// Given tells whether the caller gave the parameter (with its @).
func (c *ProcCall) Given(name string) bool { return c.given[lower(name)] }

// Value is the parameter's value as sqltype.Type says; nil for NULL.
func (c *ProcCall) Value(name string) any { return sqltype.Bare(c.values[lower(name)]) }

// IsNull tells whether it is NULL.
func (c *ProcCall) IsNull(name string) bool { return c.values[lower(name)] == nil }

// String is a character parameter; empty for NULL.
func (c *ProcCall) String(name string) string {
	s, _ := c.Value(name).(string)
	return s
}

// Int is an integer or bit parameter; 0 for NULL.
func (c *ProcCall) Int(name string) int64 {
	switch v := c.Value(name).(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
	case decimal.Decimal:
		return v.IntPart()
	}
	return 0
}

// Bool is a bit parameter, or a character one that says true; false for NULL.
func (c *ProcCall) Bool(name string) bool {
	switch v := c.values[lower(name)].(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case string:
		return lower(v) == "true"
	}
	return false
}

// Bytes is a binary parameter; nil for NULL.
func (c *ProcCall) Bytes(name string) []byte {
	b, _ := c.values[lower(name)].([]byte)
	return b
}

// UUID is a uniqueidentifier parameter; the zero UUID for NULL.
func (c *ProcCall) UUID(name string) uuid.UUID {
	u, _ := c.values[lower(name)].(uuid.UUID)
	return u
}

// Time is a date or time parameter; the zero time for NULL.
func (c *ProcCall) Time(name string) time.Time {
	t, _ := c.values[lower(name)].(time.Time)
	return t
}

// SetOutput sets an output parameter's value (converted to its type when the procedure ends).
func (c *ProcCall) SetOutput(name string, value any) { c.values[lower(name)] = value }

// SetStatus sets the return status.
func (c *ProcCall) SetStatus(status int32) { c.status = status }

// ResultSet sends a whole result set.
func (c *ProcCall) ResultSet(cols []tds.Column, rows [][]any) error {
	return WriteResult(c.Writer, cols, rows)
}

// Exec runs T-SQL in the call's session and passes its results to the caller.
func (c *ProcCall) Exec(ctx context.Context, text string, params ...any) error {
	return c.Session.run(ctx, text, params, c.Writer)
}

// ExecIn does so in the context of db, whether the session may enter it or not.
func (c *ProcCall) ExecIn(ctx context.Context, db *Database, text string, params ...any) error {
	before := c.Session.db
	c.Session.db = db
	defer func() { c.Session.db = before }()
	return c.Exec(ctx, text, params...)
}

// ObjectID is the object_id of the object that a parameter names; 15009 when there is none.
func (c *ProcCall) ObjectID(ctx context.Context, parameter string) (int32, error) {
	name := bind.SplitName(c.String(parameter))
	if name.Database != "" && lower(name.Database) != lower(c.Database.Name()) {
		return 0, sqlerr.New(15250, 1)
	}
	b := newBinder(ctx, c.Session, c.Database.ID())
	var o *metadata.Object
	if e := bind.Safely(func() { _, _, o = b.Resolve(name) }); e != nil {
		return 0, e
	}
	if o == nil {
		return 0, sqlerr.New(15009, 1, c.String(parameter), c.Database.Name())
	}
	return o.ID, nil
}
