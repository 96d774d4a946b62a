// SPDX-License-Identifier: Apache-2.0

package tds

import "geosql.dev/standin/sqlerr"

// Transaction manager requests ([MS-TDS] 2.2.6.9).
const (
	requestDTCAddress uint16 = 0
	requestPropagate  uint16 = 1
	requestBegin      uint16 = 5
	requestPromote    uint16 = 6
	requestCommit     uint16 = 7
	requestRollback   uint16 = 8
	requestSave       uint16 = 9
)

// transactionRequest serves a driver's begin, commit, rollback and save.
func (c *conn) transactionRequest(r *request, d *decoder, w *response) error {
	kind := d.u16()
	switch kind {
	case requestBegin:
		isolation, name := d.u8(), d.byteText()
		if d.err != nil {
			return malformed("begin transaction: %v", d.err)
		}
		return c.begin(r, isolation, name)
	case requestCommit, requestRollback:
		name := d.byteText()
		flags := d.u8()
		again, isolation, next := flags&1 != 0, byte(0), ""
		if again {
			isolation, next = d.u8(), d.byteText()
		}
		if d.err != nil {
			return malformed("end of transaction: %v", d.err)
		}
		if kind == requestCommit {
			if err := c.session.Commit(r.ctx); err != nil {
				return err
			}
		} else if err := c.session.Rollback(r.ctx, name); err != nil {
			return err
		}
		w.ended(kind == requestRollback)
		if again {
			return c.begin(r, isolation, next)
		}
		return nil
	case requestSave:
		name := d.byteText()
		if d.err != nil {
			return malformed("save transaction: %v", d.err)
		}
		return c.session.Save(r.ctx, name)
	case requestDTCAddress, requestPropagate, requestPromote:
		return &sqlerr.Error{
			Number:  8501,
			Class:   16,
			State:   1,
			Message: "Distributed transactions (MSDTC) are not supported on server '" + c.srv.cfg.Backend.ServerName() + "'.",
		}
	}
	return malformed("transaction manager request %d is unknown", kind)
}

func (c *conn) begin(r *request, isolation byte, name string) error {
	if isolation > 5 {
		return malformed("isolation level %d is unknown", isolation)
	}
	_, err := c.session.Begin(r.ctx, isolation, name)
	return err
}

// ended tells the client how its transaction ended, which the descriptor alone does not say.
func (r *response) ended(rolledBack bool) {
	failed := r.failed
	r.failed = rolledBack
	r.transaction()
	r.failed = failed
}
