// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"errors"
	"fmt"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// procedures are the names of the well-known procedure numbers ([MS-TDS] 2.2.6.6).
var procedures = map[uint16]string{
	1: "sp_cursor", 2: "sp_cursoropen", 3: "sp_cursorprepare", 4: "sp_cursorexecute", 5: "sp_cursorprepexec",
	6: "sp_cursorunprepare", 7: "sp_cursorfetch", 8: "sp_cursoroption", 9: "sp_cursorclose", 10: "sp_executesql",
	11: "sp_prepare", 12: "sp_execute", 13: "sp_prepexec", 14: "sp_prepexecrpc", 15: "sp_unprepare",
}

// Status flags of a parameter ([MS-TDS] 2.2.6.6).
const (
	parameterByRef     byte = 0x01
	parameterDefault   byte = 0x02
	parameterEncrypted byte = 0x08
)

// optionNoMetadata asks for result sets without the description of their columns.
const optionNoMetadata uint16 = 0x0002

// Separators between the calls of one message. The first was that of versions before TDS 7.2, since when it is the
// length of a parameter's name; whoever sends the last wants the call before it not to be executed ([MS-TDS] 2.2.6.6).
const (
	batchFlag   byte = 0x80
	batchFlag72 byte = 0xFF
	noExecFlag  byte = 0xFE
)

// separator tells whether a byte that may begin a parameter ends the call.
func (v version) separator(b byte) bool {
	if v.atLeast(version72) {
		return b == batchFlag72 || b == noExecFlag
	}
	return b == batchFlag
}

// maxParameterName is the limit of characters of an identifier, which a parameter's name is.
const maxParameterName = 128

// maxParameters is the limit of parameters of a procedure.
const maxParameters = 2100

// calls serves the remote procedure calls of one message in order; the rest is not executed after a broken one.
func (c *conn) calls(r *request, d *decoder, w *response) error {
	for {
		call, more, err := readCall(d, c.parameters)
		if err != nil {
			return err
		}
		c.parameters = len(call.Params)
		if call.skipped {
			w.skipCall(more)
			if !more {
				return nil
			}
			continue
		}
		w.inCall, w.call = true, &call
		err = c.call(r, call, w)
		var told *sqlerr.Error
		if errors.As(err, &told) {
			w.Message(told)
			err = nil
		}
		if err != nil {
			return err
		}
		w.endCall()
		w.followed(more)
		if !more || r.ctx.Err() != nil || w.fatal {
			return nil
		}
	}
}

// endIfCall ends a call that an error cut short.
func (r *response) endIfCall() {
	if r.inCall {
		r.endCall()
	}
}

// readCall reads one call, for whose parameters it makes room for as many as expected; more is set when another
// follows.
func readCall(d *decoder, expected int) (call Call, more bool, err error) {
	call.Params = make([]Param, 0, expected)
	if n := d.u16(); n == 0xFFFF {
		id := d.u16()
		if call.Name = procedures[id]; call.Name == "" && d.err == nil {
			return call, false, malformed("procedure number %d is unknown", id)
		}
	} else {
		call.Name = d.text(int(n))
	}
	// The other options, recompile and metadata used again, are hints.
	call.noMetadata = d.u16()&optionNoMetadata != 0
	for d.err == nil && d.left() > 0 {
		if b := d.buf[d.pos]; d.version.separator(b) {
			d.pos++
			call.skipped = b == noExecFlag
			return call, d.left() > 0, nil
		}
		if len(call.Params) == maxParameters {
			return call, false, sqlerr.New(8003, 1, maxParameters)
		}
		p, err := readParameter(d, len(call.Params)+1)
		if err != nil {
			return call, false, err
		}
		call.Params = append(call.Params, p)
	}
	if d.err != nil {
		return call, false, malformed("remote procedure call %s: %v", call.Name, d.err)
	}
	return call, false, nil
}

func readParameter(d *decoder, position int) (Param, error) {
	length := int(d.u8())
	p := Param{Name: d.text(length)}
	if length > maxParameterName {
		return p, sqlerr.New(8005, 1, position)
	}
	status := d.u8()
	p.Output, p.Default = status&parameterByRef != 0, status&parameterDefault != 0
	if status&parameterEncrypted != 0 {
		return p, malformed("parameter %d (%q) is encrypted, which is not supported", position, p.Name)
	}
	var t wireType
	if d.left() > 0 && d.buf[d.pos] == typeTable {
		d.pos++
		t.token = typeTable
		p.Table = d.table()
		// One without columns (TVP_NULL_TOKEN) may be called a default, which it is: an empty table.
		if p.Output || p.Default && (d.err != nil || len(p.Table.Columns) > 0) {
			return p, sqlerr.New(8006, 1, position)
		}
	} else {
		t = d.typeInfo()
		p.Type = t.sqlType()
		p.Value = d.value(t)
	}
	if d.err == nil {
		return p, nil
	}
	var told *sqlerr.Error
	if errors.As(d.err, &told) {
		return p, told
	}
	if errors.Is(d.err, errNamedDatabase) {
		return p, sqlerr.New(8047, 1, position, p.Name, 0, 0, fmt.Sprintf("0x%02X", typeTable))
	}
	var unknown unknownTypeError
	if errors.As(d.err, &unknown) {
		return p, unknownParameter(position, p.Name, unknown.token)
	}
	var invalid invalidValueError
	if errors.As(d.err, &invalid) {
		return p, &sqlerr.Error{
			Number: 8023,
			Class:  16,
			State:  1,
			Message: fmt.Sprintf(
				"The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. "+
					"Parameter %d (%q): "+
					"The supplied value is not a valid instance of data type %s. Check the source data for invalid values. An "+
					"example of an invalid value is data of numeric type with scale greater than precision.",
				position,
				p.Name,
				invalid.kind,
			),
		}
	}
	return p, protocolError{&sqlerr.Error{Number: 8016, Class: 16, State: 1,
		Message: fmt.Sprintf(
			"The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter %d "+
				"(%q), data type 0x%02X: %v.",
			position,
			p.Name,
			t.token,
			d.err,
		)}}
}

// unknownParameter is error 8009. The stream cannot be read past the parameter, yet the message is known to end there,
// so the connection lives on.
func unknownParameter(position int, name string, token byte) error {
	what := fmt.Sprintf("Data type 0x%02X is unknown", token)
	switch token {
	case typeUDT:
		what = "User-defined types are not supported"
	}
	return &sqlerr.Error{Number: 8009, Class: 16, State: 3,
		Message: fmt.Sprintf(
			"The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter "+
				"%d (%q): %s.",
			position,
			name,
			what,
		)}
}

// bareName strips a procedure's name of brackets and of the schema and database that system procedures may carry.
func bareName(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(p, "[]\"")
	}
	last := strings.ToLower(parts[len(parts)-1])
	for _, p := range parts[:len(parts)-1] {
		switch strings.ToLower(p) {
		case "sys", "dbo", "master", "":
		default:
			return strings.ToLower(name)
		}
	}
	return last
}

func (c *conn) call(r *request, call Call, w *response) error {
	switch name := bareName(call.Name); name {
	case "sp_executesql":
		return c.executeSQL(r, call, w)
	case "sp_prepare":
		return c.prepare(r, call, w)
	case "sp_prepexec":
		return c.prepareAndExecute(r, call, w)
	case "sp_execute":
		return c.executePrepared(r, call, w)
	case "sp_unprepare":
		return c.prepared.unprepare(call)
	case "sp_reset_connection":
		c.prepared.Clear()
		c.cursors.Clear()
		return c.session.Reset(r.ctx, false)
	case "sp_cursoropen", "sp_cursorprepare", "sp_cursorprepexec", "sp_cursorexecute", "sp_cursorunprepare",
		"sp_cursor", "sp_cursorfetch", "sp_cursoroption", "sp_cursorclose":
		return c.cursorCall(r, name, call, w)
	case "sp_prepexecrpc":
		return c.prepareAndCall(r, call, w)
	}
	return c.session.Call(r.ctx, call, w)
}
