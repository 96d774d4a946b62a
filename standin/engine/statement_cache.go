// SPDX-License-Identifier: Apache-2.0

package engine

import "zombiezen.com/go/sqlite"

// maxStatements bounds the prepared statements that a connection keeps.
const maxStatements = 200

// statementCache bounds the statements that a connection keeps prepared (the connection itself never forgets one). A
// statement that is running, because a procedure calls itself, is prepared a second time.
type statementCache struct {
	busy  map[string]bool
	known map[string]*sqlite.Stmt
	order []string
}

// take gives a statement to its caller, who gives it back with put.
func (c *statementCache) take(conn *sqlite.Conn, text string) (*sqlite.Stmt, error) {
	if c.busy == nil {
		c.busy, c.known = map[string]bool{}, map[string]*sqlite.Stmt{}
	}
	if c.busy[text] {
		stmt, _, err := conn.PrepareTransient(text)
		return stmt, err
	}
	stmt, err := conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	c.busy[text] = true
	if c.known[text] == nil {
		c.order = append(c.order, text)
	}
	c.known[text] = stmt
	return stmt, nil
}

func (c *statementCache) put(text string, stmt *sqlite.Stmt) {
	if c.known[text] != stmt {
		_ = stmt.Finalize() // repeats the error that Step gave
		return
	}
	_ = stmt.Reset()
	_ = stmt.ClearBindings()
	delete(c.busy, text)
	for i := 0; len(c.order) > maxStatements && i < len(c.order); i++ {
		old := c.order[0]
		c.order = c.order[1:]
		if c.busy[old] {
			c.order = append(c.order, old)
			continue
		}
		_ = c.known[old].Finalize()
		delete(c.known, old)
	}
}
