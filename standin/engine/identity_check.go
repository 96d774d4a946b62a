// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// IdentityCheck reads and sets the current identity value of one table (DBCC CHECKIDENT).
type IdentityCheck struct {
	session *Session
	plan    *bind.Modification
}

// IdentityCheck finds the table: error 2501 when there is none of the name, 7997 when it has no identity column.
func (s *Session) IdentityCheck(ctx context.Context, table string) (*IdentityCheck, error) {
	b := newBinder(ctx, s, s.db.ID())
	var d *bind.Modification
	if e := bind.Safely(func() {
		space, sch, o := b.TableToWrite(bind.SplitName(table), 2501)
		if o.Table.IdentityColumn() == nil {
			b.Fail(7997, o.Name)
		}
		d = b.Modification("UPDATE", space, sch, o)
	}); e != nil {
		return nil, e
	}
	return &IdentityCheck{session: s, plan: d}, nil
}

// Reseed sets the current identity value and tells the message about the former one; its error undoes the change.
func (i *IdentityCheck) Reseed(ctx context.Context, value int64, tell func(message string) error) error {
	return i.counted(ctx, func(conn *sqlite.Conn, c *identityCounter) error {
		now, used := current(c)
		if !used {
			value -= c.increment
		}
		if err := i.session.setIdentity(&i.plan.Target, conn, value); err != nil {
			return err
		}
		return tell(fmt.Sprintf("Checking identity information: current identity value '%s'.", now))
	})
}

// Compare tells the message about the current identity value and the column's outermost one; where correct is true, a
// value that lies behind becomes that one. The error of tell undoes the change.
func (i *IdentityCheck) Compare(ctx context.Context, correct bool, tell func(message string) error) error {
	return i.counted(ctx, func(conn *sqlite.Conn, c *identityCounter) error {
		now, _ := current(c)
		message, err := i.compare(conn, c, now, correct)
		if err != nil {
			return err
		}
		return tell(message)
	})
}

// counted runs f with the table's counter in a statement that changes the table.
func (i *IdentityCheck) counted(ctx context.Context, f func(conn *sqlite.Conn, c *identityCounter) error) error {
	return i.session.writing(ctx, i.plan, func(conn *sqlite.Conn) error {
		c, err := i.session.identityCounter(&i.plan.Target, conn)
		if err != nil {
			return err
		}
		return f(conn, c)
	})
}

// current is the identity value that was taken last, in words, and whether there was one.
func current(c *identityCounter) (string, bool) {
	last, used := c.taken()
	if !used {
		return "NULL", false
	}
	return fmt.Sprint(last), true
}

// compare tells the identity's current value beside the column's outermost one, which it is set to when it lies
// behind and correct is true (docs/t-sql/database-console-commands/dbcc-checkident-transact-sql.md).
func (i *IdentityCheck) compare(
	conn *sqlite.Conn,
	c *identityCounter,
	now string,
	correct bool,
) (string, error) {
	column := "NULL"
	found, outermost, err := c.outermost(&i.plan.Target, conn)
	if err != nil {
		return "", err
	}
	if found {
		column = fmt.Sprint(outermost)
	}
	last, _ := c.taken()
	behind := c.increment > 0 && last < outermost || c.increment < 0 && last > outermost
	if found && correct && behind {
		err = i.session.setIdentity(&i.plan.Target, conn, outermost)
	}
	return sqlerr.Text(7998, now, column), err
}
