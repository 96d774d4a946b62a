// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"fmt"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// prepared is a statement that sp_prepare or sp_prepexec keeps for the connection.
type prepared struct{ text, declaration string }

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
func definition(procedure string, call Call, names ...string) (fixed, rest []Param, p prepared, err error) {
	if len(call.Params) < 3 {
		return nil, nil, p, sqlerr.New(201, 10, procedure, names[min(len(call.Params), len(names)-1)])
	}
	fixed, rest = leading(call.Params, names...)
	if p.declaration, err = textOf(fixed[1], procedure, names[1]); err != nil {
		return nil, nil, p, err
	}
	p.text, err = textOf(fixed[2], procedure, names[2])
	return fixed, rest, p, err
}

func (c *conn) keep(p prepared) (int32, error) {
	if len(c.prepared) >= maxPrepared {
		return 0, &sqlerr.Error{Number: 701, Class: 19, State: 123,
			Message: fmt.Sprintf("There is insufficient memory for more than %d prepared statements of a connection; unprepare some.", maxPrepared)}
	}
	c.nextHandle++
	c.prepared[c.nextHandle] = p
	return c.nextHandle, nil
}

func (c *conn) prepare(call Call, w *response) error {
	_, _, p, err := definition("sp_prepare", call, "@handle", "@params", "@stmt", "@options")
	if err != nil {
		return err
	}
	handle, err := c.keep(p)
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
		delete(c.prepared, int32(old))
	}
	handle, err := c.keep(p)
	if err != nil {
		return err
	}
	err = c.session.Execute(r.ctx, p.text, p.declaration, rest, w)
	w.returnHandle(handle)
	return err
}

func handleOf(p Param) (int32, bool) {
	n, ok := p.Value.(int64)
	return int32(n), ok && n == int64(int32(n))
}

func (c *conn) executePrepared(r *request, call Call, w *response) error {
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, "sp_execute", "@handle")
	}
	handle, ok := handleOf(call.Params[0])
	p, known := c.prepared[handle]
	if !ok || !known {
		return sqlerr.New(8179, 2, handle)
	}
	return c.session.Execute(r.ctx, p.text, p.declaration, call.Params[1:], w)
}

func (c *conn) unprepare(call Call) error {
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, "sp_unprepare", "@handle")
	}
	handle, ok := handleOf(call.Params[0])
	if _, known := c.prepared[handle]; !ok || !known {
		return sqlerr.New(8179, 5, handle)
	}
	delete(c.prepared, handle)
	return nil
}
