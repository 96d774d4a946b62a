// SPDX-License-Identifier: Apache-2.0

// Package stored has what the tables of replication keep in a form of its own: commands and values as bytes and as
// literals, the numbers of states, kinds and parts, and sealed passwords.
package stored

import (
	"encoding/binary"
	"strings"
)

// Types of commands (MSrepl_commands.type).
const (
	// CommandOwn is none: one that the subscriber made itself.
	CommandOwn = 0
	// CommandCall is a call of a procedure or a statement with parameters.
	CommandCall = 30
	// CommandValidate is a validation at the subscriber; the text is a call of sp_table_validation.
	CommandValidate = 37
	// CommandSetUp tells the distributor to set up a subscriber that has the rows already; the text is the number under
	// which MSnosyncsubsetup has how.
	CommandSetUp = 54
	// CommandSchema is a schema change: a script, batches separated by GO. The number is this program's own.
	CommandSchema = 0x40000001
	// CommandPosted is a script of sp_addscriptexec, with a value when its errors are passed over. The number is this
	// program's own.
	CommandPosted = 0x40000002
	// CommandToken is a tracer token; snapshot commands have the high bit set and name a file of a snapshot.
	CommandToken   = 0x4000002F
	CommandScript  = -2147483646
	CommandData    = -2147483645
	CommandIndexes = -2147483644
	// CommandInline is a script itself, for subscribers that have the rows already.
	CommandInline = -2147483643
	// CommandPreScript and CommandPostScript are scripts of the publication, for the whole snapshot (article 0).
	CommandPreScript  = -2147483642
	CommandPostScript = -2147483641
)

// EncodeCommand is a command's bytes: the length of a text, the text with ? for each parameter, and the values. The
// text is "{CALL [proc] (?,?)}" or a statement.
func EncodeCommand(text string, values []byte) []byte {
	buf := binary.AppendUvarint(nil, uint64(len(text)))
	return append(append(buf, text...), values...)
}

// DecodeCommand is the inverse; values are parameters for the driver.
func DecodeCommand(buf []byte) (text string, values []any, err error) {
	n, w := binary.Uvarint(buf)
	if w <= 0 || uint64(len(buf)-w) < n {
		return "", nil, ErrShort
	}
	text, buf = string(buf[w:w+int(n)]), buf[w+int(n):]
	for len(buf) > 0 {
		var v any
		if v, buf, err = ReadValue(buf); err != nil {
			return "", nil, err
		}
		values = append(values, v)
	}
	return text, values, nil
}

// Parameterized cuts a command at its parameters: a question mark within a quoted name is none.
func Parameterized(text string) []string {
	var out []string
	from, quoted := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '[' && !quoted:
			quoted = true
		case c == ']':
			// The second of two within a name begins to quote again.
			quoted = !quoted && i > 0 && text[i-1] == ']'
		case c == '?' && !quoted:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

// ShowCommand is a command as sp_browsereplcmds shows it.
func ShowCommand(kind int64, raw []byte) string {
	if kind != CommandCall {
		text, _, err := DecodeCommand(raw)
		if err != nil {
			return "(" + err.Error() + ")"
		}
		return text
	}
	text, values, err := DecodeCommand(raw)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	parts := Parameterized(text)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 && i < len(values) {
			b.WriteString(LiteralOf(values[i]))
		}
	}
	return b.String()
}
