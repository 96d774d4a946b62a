// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"

	"geosql.dev/standin/sqlerr"
)

// Types of headers among ALL_HEADERS ([MS-TDS] 2.2.5.3). The third, of trace activities, is passed over.
const (
	headerNotification = 1
	headerTransaction  = 2
)

// withoutHeaders reads ALL_HEADERS, which requests have since TDS 7.2, and checks the transaction descriptor that the
// client believes in.
func (c *conn) withoutHeaders(r *request) (*decoder, error) {
	d := &decoder{buf: r.body, version: c.version, held: func(n int) error {
		if !c.srv.hold(n) {
			return c.srv.full()
		}
		r.held += n
		return nil
	}}
	if !c.version.atLeast(version72) {
		return d, nil
	}
	total := int(d.u32())
	if d.err != nil || total < 4 || total > len(r.body) {
		return nil, protocolError{sqlerr.New(4009, 1)}
	}
	described := false
	headers := decoder{buf: r.body[:total], pos: 4}
	for headers.left() > 0 {
		length := int(headers.u32())
		kind := headers.u16()
		data := headers.bytes(length - 6)
		switch {
		case headers.err != nil:
			return nil, protocolError{sqlerr.New(4009, 1)}
		case kind == headerNotification:
			return nil, sqlerr.Unsupported("query notifications")
		case kind != headerTransaction:
			continue
		case len(data) != 12:
			return nil, protocolError{sqlerr.New(4011, 1)}
		}
		described = true
		// A request that resets the session still carries the descriptor of the transaction that the reset ended.
		reset := r.status&(statusReset|statusResetSkipTran) != 0
		if told := binary.LittleEndian.Uint64(data); told != 0 && told != c.session.InTransaction() && !reset {
			return nil, sqlerr.New(3989, 1)
		}
	}
	if !described {
		return nil, protocolError{sqlerr.New(4013, 1)}
	}
	d.pos = total
	return d, nil
}
