// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"fmt"
	"regexp"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Prepared is a statement that sp_prepare or sp_prepexec keeps for the connection, with the declaration of its
// parameters, or the call of a Procedure, which sp_prepexecrpc keeps.
type Prepared struct{ Text, Declaration, Procedure string }

// PreparedStatements are those of a connection by their handles, which count from 1. The protocol and the procedures of
// a batch share them.
type PreparedStatements struct {
	all  map[int32]Prepared
	last int32
}

// Keep gives a statement its handle; error 701 when there are too many.
func (s *PreparedStatements) Keep(p Prepared) (int32, error) {
	if len(s.all) >= maxPrepared {
		return 0, &sqlerr.Error{Number: 701, Class: 19, State: 123,
			Message: fmt.Sprintf(
				"There is insufficient memory for more than %d prepared statements of a connection; unprepare some.",
				maxPrepared,
			)}
	}
	if s.all == nil {
		s.all = map[int32]Prepared{}
	}
	s.last++
	s.all[s.last] = p
	return s.last, nil
}

// Find is the statement of a handle; error 8179 when there is none.
func (s *PreparedStatements) Find(handle int32) (Prepared, error) {
	p, ok := s.all[handle]
	if !ok {
		return p, sqlerr.New(8179, 2, handle)
	}
	return p, nil
}

// Drop forgets the statement of a handle, and tells whether there was one.
func (s *PreparedStatements) Drop(handle int32) bool {
	_, ok := s.all[handle]
	delete(s.all, handle)
	return ok
}

// Clear forgets all.
func (s *PreparedStatements) Clear() { clear(s.all) }

// maxPrepared bounds the statements of a connection, whose texts are held in memory.
const maxPrepared = 10000

var intType = sqltype.Type{Kind: sqltype.Int}

// leading takes the fixed parameters of the prepare family, by name or by position, and gives the others. Drivers name
// the fixed ones as they please (@stmt, @statement) or not at all: then position decides.
func leading(params []Param, names ...string) (fixed, rest []Param) {
	fixed = make([]Param, len(names))
	n := min(len(names), len(params))
	for taken, p := range params[:n] {
		at := taken
		for i, name := range names {
			if equalFold(name, p.Name) || (equalFold(p.Name, "@stmt") && name == "@statement") {
				at = i
			}
		}
		fixed[at] = p
	}
	return fixed, params[n:]
}

// textOf is a parameter that must be a Unicode text (error 214).
func textOf(p Param, procedure, name string) (string, error) {
	switch v := p.Value.(type) {
	case string:
		return v, nil
	case nil:
		return "", nil
	}
	return "", &sqlerr.Error{Number: 214, Class: 16, State: 2, Procedure: procedure,
		Message: fmt.Sprintf("Procedure expects parameter '%s' of type 'ntext/nchar/nvarchar'.", name)}
}

func (c *conn) executeSQL(r *request, call Call, w *response) error {
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, "sp_executesql", "@statement")
	}
	fixed, rest := leading(call.Params, "@statement", "@params")
	text, err := textOf(fixed[0], "sp_executesql", "@statement")
	if err != nil {
		return err
	}
	declaration, err := textOf(fixed[1], "sp_executesql", "@params")
	if err != nil {
		return err
	}
	return c.session.Execute(r.ctx, text, declaration, rest, w)
}

// definition reads handle, declaration and statement of sp_prepare and sp_prepexec.
func definition(procedure string, call Call, names ...string) (fixed, rest []Param, p Prepared, err error) {
	if len(call.Params) < 3 {
		return nil, nil, p, sqlerr.New(201, 10, procedure, names[min(len(call.Params), len(names)-1)])
	}
	fixed, rest = leading(call.Params, names...)
	if p.Declaration, err = textOf(fixed[1], procedure, names[1]); err != nil {
		return nil, nil, p, err
	}
	p.Text, err = textOf(fixed[2], procedure, names[2])
	return fixed, rest, p, err
}

// returnMetadata is the option of sp_prepare by which a client asks for the columns of the statement
// (docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md).
const returnMetadata = 0x0001

func (c *conn) prepare(r *request, call Call, w *response) error {
	fixed, _, p, err := definition("sp_prepare", call, "@handle", "@params", "@stmt", "@options")
	if err != nil {
		return err
	}
	options, _ := fixed[3].Value.(int64)
	if err := c.session.Prepare(r.ctx, p, options&returnMetadata != 0, w); err != nil {
		return err
	}
	handle, err := c.prepared.Keep(p)
	if err != nil {
		return err
	}
	return w.returnHandle(handle)
}

// returnHandle gives the handle under the name that the client itself used for it.
func (r *response) returnHandle(handle int32) error {
	name := ""
	if r.call != nil && len(r.call.Params) > 0 {
		name = r.call.Params[0].Name
	}
	r.values = append([]returned{{name, intType, int64(handle)}}, r.values...)
	return r.err
}

func (c *conn) prepareAndExecute(r *request, call Call, w *response) error {
	fixed, rest, p, err := definition("sp_prepexec", call, "@handle", "@params", "@stmt")
	if err != nil {
		return err
	}
	if old, ok := fixed[0].Value.(int64); ok {
		c.prepared.Drop(int32(old))
	}
	if err := c.session.Prepare(r.ctx, p, false, w); err != nil {
		return err
	}
	handle, err := c.prepared.Keep(p)
	if err != nil {
		return err
	}
	err = c.session.Execute(r.ctx, p.Text, p.Declaration, rest, w)
	w.returnHandle(handle)
	return err
}

func handleOf(p Param) (int32, bool) {
	n, ok := p.Value.(int64)
	return int32(n), ok && n == int64(int32(n))
}

// as is the statement whose handle a parameter has.
func (s *PreparedStatements) as(p Param) (Prepared, error) {
	handle, ok := handleOf(p)
	if !ok {
		return Prepared{}, sqlerr.New(8179, 2, handle)
	}
	return s.Find(handle)
}

func (c *conn) executePrepared(r *request, call Call, w *response) error {
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, "sp_execute", "@handle")
	}
	p, err := c.prepared.as(call.Params[0])
	if err != nil {
		return err
	}
	if p.Procedure != "" {
		return c.call(r, Call{Name: p.Procedure, Params: call.Params[1:]}, w)
	}
	return c.session.Execute(r.ctx, p.Text, p.Declaration, call.Params[1:], w)
}

// callSyntax is ODBC's canonical form of a call whose arguments are all parameters: {[? =] call procedure[(?, ...)]}.
var callSyntax = regexp.MustCompile(
	`^\s*\{\s*(?:\?\s*=\s*)?(?i:call)\s+((?:\[(?:[^\]]|\]\])*\]|"[^"]*"|[^\s("\[{}])+)\s*(?:\((\s*\?\s*(?:,\s*\?\s*)*)?\)\s*)?\}\s*$`,
)

// prepareAndCall is sp_prepexecrpc: it keeps the call of a procedure and makes it at once
// (docs/relational-databases/system-stored-procedures/sp-prepexecrpc-transact-sql.md).
func (c *conn) prepareAndCall(r *request, call Call, w *response) error {
	if len(call.Params) < 2 {
		return sqlerr.New(201, 10, "sp_prepexecrpc", []string{"@handle", "@RPCCall"}[len(call.Params)])
	}
	text, err := textOf(call.Params[1], "sp_prepexecrpc", "@RPCCall")
	if err != nil {
		return err
	}
	parts := callSyntax.FindStringSubmatch(text)
	if parts == nil {
		return sqlerr.Unsupported("a call of sp_prepexecrpc other than {? = call procedure(?, ...)}")
	}
	handle, err := c.prepared.Keep(Prepared{Text: text, Procedure: parts[1]})
	if err != nil {
		return err
	}
	err = c.call(r, Call{Name: parts[1], Params: call.Params[2:]}, w)
	w.returnHandle(handle)
	return err
}

func (s *PreparedStatements) unprepare(call Call) error {
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, "sp_unprepare", "@handle")
	}
	if handle, ok := handleOf(call.Params[0]); !ok || !s.Drop(handle) {
		return sqlerr.New(8179, 5, handle)
	}
	return nil
}
