// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// cursor is a declared cursor. Its rows are those of the moment when it is opened, as a STATIC cursor's are, whatever
// kind was asked for.
type cursor struct {
	name       string
	definition *ast.CursorDefinition
	// variables are the values that the query's variables had when the cursor was declared.
	variables map[string]*variable
	scroll    bool

	// readOnly cursors are no way to change rows; updates are the columns of FOR UPDATE OF, none where all may be changed.
	readOnly bool
	updates  []string
	open     bool
	// tables are the base tables of the query, numbers the row numbers in them of each of its rows.
	tables  []*bind.Source
	numbers [][]int64
	columns []tds.Column
	rows    [][]any
	// at is the row that was fetched last, from 0; -1 is before the first.
	at int
}

// fetchOutcomes are the values of @@FETCH_STATUS.
const (
	fetched        = 0
	fetchedNothing = -1
)

// installCursors registers cursors (docs/t-sql/language-elements/cursors-transact-sql.md).
func installCursors(r *Registry) {
	on(r, (*Session).declareCursor)
	on(r, func(s *Session, ctx context.Context, n *ast.OpenCursorStatement, w tds.Writer) error {
		c, err := s.namedCursor(n.Cursor)
		if err != nil {
			return err
		}
		if c.open {
			return sqlerr.New(16905, 1)
		}
		return s.openCursor(ctx, c)
	})
	on(r, (*Session).fetch)
	on(r, func(s *Session, ctx context.Context, n *ast.CloseCursorStatement, w tds.Writer) error {
		c, err := s.namedCursor(n.Cursor)
		if err != nil {
			return err
		}
		if !c.open {
			return sqlerr.New(16917, 1)
		}
		c.open, c.rows, c.numbers = false, nil, nil
		return nil
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DeallocateCursorStatement, w tds.Writer) error {
		c, err := s.namedCursor(n.Cursor)
		if err != nil {
			return err
		}
		if v := s.cursorVariable(n.Cursor); v != nil {
			v.cursor = nil
			return nil
		}
		for _, m := range []map[string]*cursor{s.frame().cursors, s.cursors} {
			if m[lower(c.name)] == c {
				delete(m, lower(c.name))
			}
		}
		return nil
	})
	addBuiltins(
		map[string]*builtinFunction{
			"cursor_status": systemFunction(
				2,
				2,
				sqltype.SmallIntType,
				[]sqltype.Type{nmax, nmax},
				func(s *Session, a []any) any {
					scope, _ := a[0].(string)
					name, _ := a[1].(string)
					c := s.cursors[lower(name)]
					switch v := s.variable(name); {
					case strings.EqualFold(scope, "local") && s.frame() != nil:
						c = s.frame().cursors[lower(name)]
					case strings.EqualFold(scope, "variable"):
						if v == nil || !v.isCursor {
							return int64(-3)
						}
						if c = v.cursor; c == nil {
							return int64(-2)
						}
					}
					switch {
					case c == nil:
						return int64(-3)
					case !c.open:
						return int64(-1)
					case len(c.rows) == 0:
						return int64(0)
					}
					return int64(1)
				},
			),
		},
	)
}

func (s *Session) declareCursor(_ context.Context, n *ast.DeclareCursorStatement, _ tds.Writer) error {
	c, local, err := s.newCursor(n.Name.Value, n.CursorDefinition)
	if err != nil {
		return err
	}
	where := &s.cursors
	if local {
		where = &s.frame().cursors
	}
	if (*where)[lower(c.name)] != nil {
		return sqlerr.New(16915, 1, c.name)
	}
	if *where == nil {
		*where = map[string]*cursor{}
	}
	(*where)[lower(c.name)] = c
	return nil
}

// setCursor is SET @variable = CURSOR ... FOR ..., = cursor and = @other.
func (s *Session) setCursor(v *variable, n *ast.SetVariableStatement) error {
	if n.CursorDefinition != nil {
		c, _, err := s.newCursor(v.name, n.CursorDefinition)
		v.cursor = c
		return err
	}
	switch from := n.Expression.(type) {
	case *ast.VariableReference:
		other := s.variable(from.Name)
		if other == nil {
			return sqlerr.New(137, 1, from.Name)
		}
		if !other.isCursor {
			return sqlerr.New(206, 2, other.typ.Kind, "cursor")
		}
		v.cursor = other.cursor
		return nil
	case *ast.ColumnReferenceExpression:
		if parts := bind.Identifiers(from.MultiPartIdentifier); len(parts) == 1 {
			c, err := s.cursorNamed(parts[0], false)
			v.cursor = c
			return err
		}
	}
	return sqlerr.New(206, 2, "int", "cursor")
}

// isCursorType tells whether a declaration has the type cursor.
func isCursorType(node ast.DataTypeReference) bool {
	n, ok := node.(*ast.SqlDataTypeReference)
	return ok && n != nil &&
		(strings.EqualFold(n.SqlDataTypeOption, "cursor") || n.Name != nil &&
			strings.EqualFold(bind.NameOf(n.Name).Name, "cursor"))
}

// checkCursorParameters refuses parameters of type cursor that are not VARYING OUTPUT
// (docs/t-sql/statements/create-procedure-transact-sql.md, VARYING).
func checkCursorParameters(params []*ast.ProcedureParameter) error {
	for _, p := range params {
		if isCursorType(p.DataType) && (!p.IsVarying || !strings.EqualFold(p.Modifier, "Output")) {
			return sqlerr.New(102, 1, p.VariableName.Value)
		}
	}
	return nil
}

// cursorArgument is a procedure's parameter of type cursor: its caller's variable gets the cursor when the procedure
// ends.
func cursorArgument(name string, a *argument) (*variable, error) {
	switch {
	case a.output == nil || !a.output.isCursor:
		return nil, sqlerr.New(206, 2, a.typ.Kind, "cursor")
	case a.output.cursor != nil:
		return nil, sqlerr.New(16951, 1, a.output.name)
	}
	return &variable{name: name, typ: a.output.typ, isCursor: true}, nil
}

// newCursor makes a cursor of a definition; local tells where it belongs.
func (s *Session) newCursor(name string, definition *ast.CursorDefinition) (*cursor, bool, error) {
	c := &cursor{name: name, definition: definition, variables: map[string]*variable{}}
	if c.definition == nil || c.definition.Select == nil {
		return nil, false, sqlerr.New(102, 1, name)
	}
	forward, local := false, s.db.Info().Options["CURSOR_DEFAULT"] == "LOCAL"
	for _, o := range c.definition.Options {
		switch strings.ToUpper(strings.ReplaceAll(o.OptionKind, "_", "")) {
		case "LOCAL":
			local = true
		case "GLOBAL":
			local = false
		case "STATIC", "INSENSITIVE":
			c.scroll, c.readOnly = true, true
		case "SCROLL", "KEYSET", "DYNAMIC":
			c.scroll = true
		case "FASTFORWARD":
			forward, c.readOnly = true, true
		case "FORWARDONLY":
			forward = true
		case "READONLY":
			c.readOnly = true
		case "SCROLLLOCKS", "OPTIMISTIC", "TYPEWARNING":
		default:
			return nil, false, unsupported("The option " + strings.ToUpper(o.OptionKind) + " of a cursor")
		}
	}
	c.scroll = c.scroll && !forward
	if err := c.forUpdate(); err != nil {
		return nil, false, err
	}
	for name, v := range s.frame().variables {
		copied := *v
		c.variables[name] = &copied
	}
	return c, local, nil
}

// forUpdate judges FOR UPDATE, which is none of cursors that are read-only
// (docs/t-sql/language-elements/declare-cursor-transact-sql.md, FOR UPDATE and FAST_FORWARD).
func (c *cursor) forUpdate() error {
	q, ok := c.definition.Select.QueryExpression.(*ast.QuerySpecification)
	if !ok {
		return nil
	}
	update, ok := q.ForClause.(*ast.UpdateForClause)
	if !ok {
		return nil
	}
	for _, o := range c.definition.Options {
		if strings.EqualFold(strings.ReplaceAll(o.OptionKind, "_", ""), "FastForward") {
			return sqlerr.New(1048, 1, "FAST_FORWARD", "FOR UPDATE")
		}
	}
	if c.readOnly {
		return sqlerr.New(16957, 1)
	}
	for _, ref := range update.Columns {
		parts := bind.Identifiers(ref.MultiPartIdentifier)
		c.updates = append(c.updates, lower(parts[len(parts)-1]))
	}
	return nil
}

// namedCursor finds a local cursor first, then a global one.
func (s *Session) namedCursor(id *ast.CursorId) (*cursor, error) {
	if v := s.cursorVariable(id); v != nil {
		return v.allocated()
	}
	name, err := s.nameOrVariable(id.Name)
	if err != nil {
		return nil, err
	}
	return s.cursorNamed(name, id.IsGlobal)
}

// cursorVariable is the cursor variable that a statement names; nil when it names none.
func (s *Session) cursorVariable(id *ast.CursorId) *variable {
	if id.Name == nil {
		return nil
	}
	if ref, ok := id.Name.ValueExpression.(*ast.VariableReference); ok {
		if v := s.variable(ref.Name); v != nil && v.isCursor {
			return v
		}
	}
	return nil
}

// allocated is the cursor of a cursor variable.
func (v *variable) allocated() (*cursor, error) {
	if v.cursor == nil {
		// It is listed with severity 10, and an error all the same: what it was said to do was not done.
		err := sqlerr.New(16950, 2, v.name)
		err.Class = 16
		return nil, err
	}
	return v.cursor, nil
}

func (s *Session) cursorNamed(name string, global bool) (*cursor, error) {
	if !global {
		if c := s.frame().cursors[lower(name)]; c != nil {
			return c, nil
		}
	}
	if c := s.cursors[lower(name)]; c != nil {
		return c, nil
	}
	return nil, sqlerr.New(16916, 1, name)
}

func (s *Session) openCursor(ctx context.Context, c *cursor) error {
	f := *s.frame()
	f.variables = c.variables
	s.frames = append(s.frames, &f)
	settings := s.settings
	s.settings.rowCount, s.settings.fmtOnly = 0, false
	counted := s.rowCount
	err := s.readCursor(ctx, c)
	s.frames, s.settings, s.rowCount = s.frames[:len(s.frames)-1], settings, counted
	if err != nil {
		return err
	}
	c.open, c.at = true, -1
	s.cursorRows = int64(len(c.rows))
	return nil
}

func (s *Session) fetch(ctx context.Context, n *ast.FetchCursorStatement, w tds.Writer) error {
	c, err := s.namedCursor(n.Cursor)
	if err != nil {
		return err
	}
	if !c.open {
		return sqlerr.New(16917, 2)
	}
	if len(n.IntoVariables) > 0 && len(n.IntoVariables) != len(c.columns) {
		return sqlerr.New(16924, 1)
	}
	if err := s.move(ctx, c, n.FetchType); err != nil {
		return err
	}
	s.fetchStatus = fetchedNothing
	found := c.at >= 0 && c.at < len(c.rows)
	if found {
		s.fetchStatus = fetched
	}
	if len(n.IntoVariables) == 0 {
		rows := [][]any{}
		if found {
			rows = append(rows, c.rows[c.at])
		}
		s.rowCount = int64(len(rows))
		return WriteResult(w, c.columns, rows)
	}
	if !found {
		return nil
	}
	for i, node := range n.IntoVariables {
		ref, ok := node.(*ast.VariableReference)
		if !ok {
			return sqlerr.New(102, 1, "INTO")
		}
		v := s.variable(ref.Name)
		if v == nil {
			return sqlerr.New(137, 1, ref.Name)
		}
		value, e := s.Convert(c.rows[c.at][i], c.columns[i].Type, v.typ, sqltype.Implicit)
		if e != nil {
			copied := *e
			return &copied
		}
		v.value = value
	}
	return nil
}

// move changes the row that a cursor is at (docs/t-sql/language-elements/fetch-transact-sql.md).
func (s *Session) move(ctx context.Context, c *cursor, t *ast.FetchType) error {
	kind, offset := "Next", int64(0)
	if t != nil && t.Orientation != "" {
		kind = t.Orientation
		if t.RowOffset != nil {
			v, err := s.evaluateInt(ctx, t.RowOffset)
			if err != nil {
				return err
			}
			offset = v
		}
	}
	if kind != "Next" && !c.scroll {
		return sqlerr.New(16911, 1, "fetch", strings.ToLower(kind))
	}
	last := len(c.rows)
	switch kind {
	case "Next":
		c.at++
	case "Prior":
		c.at--
	case "First":
		c.at = 0
	case "Last":
		c.at = last - 1
	case "Absolute":
		c.at = int(offset) - 1
		if offset < 0 {
			c.at = last + int(offset)
		}
	case "Relative":
		c.at += int(offset)
	}
	c.at = max(-1, min(c.at, last))
	return nil
}
