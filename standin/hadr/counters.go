// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/replica"
)

// counters are the object Database Replica of a server with secondary copies
// (docs/relational-databases/performance-monitor/sql-server-database-replica.md): of them what is counted here. There
// is no FILESTREAM, and redo waits for no reader. While a copy is REVERTING nobody knows how much log that takes.
func (e *Extension) counters() []engine.Counter {
	m := e.replicas()
	if m == nil {
		return nil
	}
	var out []engine.Counter
	for _, g := range m.Groups() {
		if g.Role() != replica.Secondary || g.Distributed() {
			continue
		}
		st := g.States()
		for i := range st.Databases {
			d := &st.Databases[i]
			db := (host{e}).Database(d.Name)
			if !d.Local || db == nil {
				continue
			}
			add := func(name string, value int64) {
				out = append(out, engine.Counter{Object: "Database Replica", Name: name, Instance: d.Name, Value: value})
			}
			log := db.Log()
			add("File Bytes Received/sec", 0)
			add("Log Bytes Received/sec", int64(log.Bytes(log.End())))
			add("Log Send Queue", d.SendQueue)
			add("Recovery Queue", d.RedoQueue)
			add("Redo blocked/sec", 0)
			add("Redone Bytes/sec", int64(log.Bytes(db.AppliedEnd())))
			if d.State != replica.Reverting {
				add("Log remaining for undo", 0)
				add("Redo Bytes Remaining", 0)
				add("Total Log requiring undo", 0)
			}
		}
	}
	return out
}
