// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Profile is a kind of load, by the name that a Drill's spec.workload.profile has for it.
type Profile string

const (
	// Insert writes rows and, every fifth time, writes or reads a register.
	Insert Profile = "insert"
	// Bookstore is a shop: six interactions, of which one buys.
	Bookstore Profile = "bookstore"
	// DecisionSupport asks what the shop has sold; one interaction loads more.
	DecisionSupport Profile = "decisionSupport"
	// Append does transactions that append to lists and read whole lists, which are judged without clocks.
	Append Profile = "append"
)

// Profiles are all of them.
func Profiles() []Profile { return []Profile{Insert, Bookstore, DecisionSupport, Append} }

// interaction is one thing that users of a profile do. One that is acknowledged as a row is a transaction that inserts
// into dbo.Recorded beside what it does; the others read.
type interaction struct {
	name string
	// weight of it: how often of the sum of all weights.
	weight int
	// write makes the transaction of a row, nil when it reads; read the query otherwise.
	write func(r tsql.RecordedRow) tsql.Statement
	read  func() tsql.Statement
}

func customer() int { return 1 + rand.IntN(tsql.StoreCustomers) }

func book() int { return 1 + rand.IntN(tsql.StoreBooks) }

// interactions of a profile. The published report of the bookstore names login, browse, search and buy of its six and
// no shares; view, orders and the shares are this project's.
func (p Profile) interactions() []interaction {
	switch p {
	case Bookstore:
		return []interaction{
			{
				name:   "login",
				weight: 10,
				read:   func() tsql.Statement { return tsql.StoreLogin(fmt.Sprintf("customer%d@example.com", customer())) },
			},
			{
				name:   "browse",
				weight: 30,
				read:   func() tsql.Statement { return tsql.StoreBrowse(1 + rand.IntN(tsql.StoreCategories)) },
			},
			{
				name:   "search",
				weight: 20,
				read:   func() tsql.Statement { return tsql.StoreSearch(fmt.Sprintf("Volume %d", rand.IntN(97))) },
			},
			{name: "view", weight: 20, read: func() tsql.Statement { return tsql.StoreView(book()) }},
			{name: "orders", weight: 5, read: func() tsql.Statement { return tsql.StoreOrders(customer()) }},
			{
				name:   "buy",
				weight: 15,
				write:  func(r tsql.RecordedRow) tsql.Statement { return tsql.StoreBuy(r, customer(), book()) },
			},
		}
	case DecisionSupport:
		return []interaction{
			{name: "revenueByCategory", weight: 10, read: tsql.StoreRevenueByCategory},
			{name: "bestSellers", weight: 10, read: tsql.StoreBestSellers},
			{name: "bestCustomers", weight: 10, read: tsql.StoreBestCustomers},
			{name: "revenueByDay", weight: 10, read: tsql.StoreRevenueByDay},
			{name: "unsoldBooks", weight: 10, read: tsql.StoreUnsoldBooks},
			{
				name:   "load",
				weight: 50,
				write:  func(r tsql.RecordedRow) tsql.Statement { return tsql.StoreLoad(r, customer(), loadLines) },
			},
		}
	}
	return nil
}

// loadLines is how many lines a load has.
const loadLines = 20

// prepare are the statements that make what a profile needs beside dbo.Recorded and the registers.
func (p Profile) prepare() []tsql.Statement {
	switch p {
	case Bookstore, DecisionSupport:
		return tsql.PrepareStore()
	case Append:
		return []tsql.Statement{tsql.CreateListTable()}
	}
	return nil
}

// pick chooses by weight.
func pick(list []interaction) interaction {
	sum := 0
	for _, i := range list {
		sum += i.weight
	}
	n := rand.IntN(sum)
	for _, i := range list {
		if n -= i.weight; n < 0 {
			return i
		}
	}
	return list[len(list)-1]
}

// action is one operation that a client has chosen.
type action struct {
	interaction string
	function    history.Function
	key, value  int64
	steps       []listappend.Step
	statement   func(o history.Operation) tsql.Statement
}

// choose what to do next.
func (c *client) choose() action {
	if c.profile == Append {
		return action{
			interaction: "append",
			function:    history.Insert,
			steps:       c.lists.choose(c.run, c.recorder.Next()),
			statement:   c.appendToLists,
		}
	}
	if list := c.profile.interactions(); len(list) > 0 {
		i := pick(list)
		if i.write == nil {
			return action{
				interaction: i.name,
				function:    history.Query,
				statement:   func(history.Operation) tsql.Statement { return i.read() },
			}
		}
		return action{
			interaction: i.name,
			function:    history.Insert,
			statement:   func(o history.Operation) tsql.Statement { return i.write(c.row(o)) },
		}
	}
	n := rand.IntN(10)
	switch {
	case c.registers == 0 || n > 1:
		return action{function: history.Insert, statement: c.insert}
	case n == 0:
		return action{
			function:  history.Read,
			key:       rand.Int64N(int64(c.registers)),
			statement: func(o history.Operation) tsql.Statement { return tsql.ReadRegister(o.Key) },
		}
	}
	// A value is written once: the run's number and the moment within the run.
	return action{
		function:  history.Write,
		key:       rand.Int64N(int64(c.registers)),
		value:     c.run<<22 | c.recorder.Next()&(1<<22-1),
		statement: func(o history.Operation) tsql.Statement { return tsql.WriteRegister(o.Key, o.Value) },
	}
}

func (c *client) insert(o history.Operation) tsql.Statement {
	if c.payload.Table == "" {
		return tsql.InsertRecorded(c.run, o.Number)
	}
	return tsql.InsertRecordedRow(c.row(o))
}

// row of an operation, with its payload.
func (c *client) row(o history.Operation) tsql.RecordedRow {
	r := tsql.RecordedRow{Run: c.run, Op: o.Number, Table: c.payload.Table}
	if r.Table != "" {
		r.PayloadID, r.Payload = PayloadID(o.Invoked.Time()), c.payload.content(history.RowID{Run: c.run, Number: o.Number})
	}
	return r
}
