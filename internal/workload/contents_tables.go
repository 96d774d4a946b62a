// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

// pageBytes is how much a server sums up for one page of payloads.
const pageBytes = 32 << 20

// WrittenTables are the tables that clients of a profile and a payload write.
func WrittenTables(p Profile, payload Payload) []string {
	var names []string
	for _, r := range (Wants{Profile: p, Payload: payload}).readers(nil) {
		names = append(names, r.name)
	}
	return names
}

// readers of all tables that were written. Rows of earlier runs are left out.
func (w Wants) readers(earlier map[int64]bool) []reader {
	list := []reader{{name: history.TableRecorded, noun: "Id", open: w.recorded,
		note: func(c *copied, f found) {
			c.replica.Rows = append(c.replica.Rows, f.id)
			c.spans.Say(f.id, f.server, f.configuration)
		}}}
	of := func(c *copied, f found) { c.spans.Add(f.id) }
	if w.Payload.Table != "" {
		list = append(list, reader{name: string(w.Payload.Table), noun: "Id", each: 1, note: ofSomebody(of),
			open: func(c *copied) pager { return w.payloads(c, earlier) }})
	}
	if w.Profile == Bookstore || w.Profile == DecisionSupport {
		lines := 1
		if w.Profile == DecisionSupport {
			lines = loadLines
		}
		list = append(list,
			reader{name: history.TablePurchase, noun: "line", part: 2, each: lines, note: func(c *copied, f found) {
				of(c, f)
				c.bought[f.value]++
			}, open: func(c *copied) pager { return purchases(c, earlier) }},
			reader{name: history.TableBook, noun: "book", alone: true, open: w.books})
	}
	return append(list, reader{name: history.TableRegister, noun: "register", alone: true, open: registersOf,
		note: func(c *copied, f found) {
			c.replica.Registers = append(c.replica.Registers, history.RegisterValue{Key: f.key[0], Value: f.value})
		}})
}

// ofSomebody leaves out rows that name no row.
func ofSomebody(note func(*copied, found)) func(*copied, found) {
	return func(c *copied, f found) {
		if f.id != (history.RowID{}) {
			note(c, f)
		}
	}
}

// recorded reads dbo.Recorded.
func (w Wants) recorded(c *copied) pager {
	after := w.After
	return func(ctx context.Context) (list []found, err error) {
		err = c.DB.Query(ctx, tsql.ReadRecorded(after, recordedRows), func(row mssql.Row) error {
			var f found
			var at time.Time
			if err := row.Scan(&f.key[0], &f.id.Run, &f.id.Number, &f.server, &f.configuration, &at); err != nil {
				return err
			}
			after = f.key[0]
			f.hash = rowHash(f.key[0], f.id.Run, f.id.Number, f.server, f.configuration, at)
			list = append(list, f)
			return nil
		})
		return list, err
	}
}

// payloads reads those of the run, and compares what the server stored with what the row's name says was sent.
func (w Wants) payloads(c *copied, earlier map[int64]bool) pager {
	after := PayloadFloor(w.Since) - 1
	limit := min(max(pageBytes/max(w.Payload.Bytes, 1), 1), recordedRows)
	return func(ctx context.Context) (list []found, err error) {
		for {
			rows := 0
			err = c.DB.Query(ctx, tsql.ReadPayloads(w.Payload.Table, after, limit), func(row mssql.Row) error {
				f, err := w.payload(row)
				if err != nil {
					return err
				}
				after = f.key[0]
				rows++
				if !earlier[f.id.Run] {
					list = append(list, f)
				}
				return nil
			})
			if err != nil || len(list) > 0 || rows < limit {
				return list, err
			}
		}
	}
}

func (w Wants) payload(row mssql.Row) (found, error) {
	var f found
	var at time.Time
	var mark, digest []byte
	if err := row.Scan(&f.key[0], &at, &mark, &digest); err != nil {
		return f, err
	}
	f.hash = rowHash(f.key[0], at, digest)
	var err error
	if f.id, err = rowOf(string(mark)); err != nil || f.id.Run < 1 {
		f.id, f.odd, f.why = history.RowID{}, history.Nameless, "names no row"
		return f, nil
	}
	if sent := w.Payload.sum(f.id); string(digest) != string(sent[:]) {
		f.odd, f.why = history.Altered, "does not hold the payload that was written"
	}
	return f, nil
}

// sum is the SHA-256 of a row's payload as it was sent.
func (p Payload) sum(id history.RowID) [sha256.Size]byte {
	switch content := p.content(id).(type) {
	case []byte:
		return sha256.Sum256(content)
	case string:
		return sha256.Sum256([]byte(content))
	}
	return [sha256.Size]byte{}
}

// purchases reads those of all runs but earlier ones, run by run.
func purchases(c *copied, earlier map[int64]bool) pager {
	var runs []int64
	asked := false
	var op, line int64
	return func(ctx context.Context) (list []found, err error) {
		if !asked {
			if runs, err = runsOf(ctx, c.DB, tsql.PurchaseRuns()); err != nil {
				return nil, err
			}
			asked = true
			runs = slices.DeleteFunc(runs, func(run int64) bool { return earlier[run] })
		}
		for len(runs) > 0 && len(list) == 0 {
			rows := 0
			err = c.DB.Query(ctx, tsql.ReadPurchases(runs[0], op, line, recordedRows), func(row mssql.Row) error {
				var customer, book int64
				var amount string
				var at time.Time
				if err := row.Scan(&op, &line, &customer, &book, &amount, &at); err != nil {
					return err
				}
				rows++
				list = append(list, found{key: [3]int64{runs[0], op, line}, value: book,
					id: history.RowID{Run: runs[0], Number: op}, hash: rowHash(runs[0], op, line, customer, book, amount, at)})
				return nil
			})
			if err != nil {
				return nil, err
			}
			if rows < recordedRows {
				runs, op, line = runs[1:], 0, 0
			}
		}
		return list, nil
	}
}

// books reads all of them. Each must have been sold as often as there are purchases of it, where clients buy.
func (w Wants) books(c *copied) pager {
	judged := w.Sold != nil && c.replica.Table(history.TablePurchase) != nil
	there := map[int64]bool{}
	read := once(c, tsql.ReadBooks(), func(row mssql.Row) (found, error) {
		var f found
		var price string
		if err := row.Scan(&f.key[0], &price, &f.value); err != nil {
			return f, err
		}
		there[f.key[0]] = true
		f.hash = rowHash(f.key[0], price, f.value)
		bought := int64(0)
		if w.Profile == Bookstore {
			bought = c.bought[f.key[0]]
		}
		if sold := f.value - w.Sold[f.key[0]]; judged && sold != bought {
			f.odd = history.Miscounted
			f.why = fmt.Sprintf("says that %d were sold, and there are %d purchases", sold, bought)
		}
		return f, nil
	})
	return func(ctx context.Context) ([]found, error) {
		list, err := read(ctx)
		if err != nil || len(list) > 0 || !judged {
			return list, err
		}
		for _, book := range slices.Sorted(maps.Keys(c.bought)) {
			if !there[book] {
				c.table.Note(history.OddRow{Oddity: history.Miscounted,
					Text: fmt.Sprintf("book %d is not there, and there are %d purchases of it", book, c.bought[book])})
			}
		}
		return nil, nil
	}
}

func registersOf(c *copied) pager {
	return once(c, tsql.ReadRegisters(), func(row mssql.Row) (found, error) {
		var f found
		var reads int64
		if err := row.Scan(&f.key[0], &f.value, &reads, &f.server, &f.configuration); err != nil {
			return f, err
		}
		f.hash = rowHash(f.key[0], f.value, reads, f.server, f.configuration)
		return f, nil
	})
}

// once reads a small table at once.
func once(c *copied, s tsql.Statement, scan func(mssql.Row) (found, error)) pager {
	asked := false
	return func(ctx context.Context) (list []found, err error) {
		if asked {
			return nil, nil
		}
		asked = true
		err = c.DB.Query(ctx, s, func(row mssql.Row) error {
			f, err := scan(row)
			list = append(list, f)
			return err
		})
		return list, err
	}
}

// ReadSold reads how many of each book have been sold, as BOOK:SOLD without those of which none was; nil where the
// profile has no store.
func ReadSold(ctx context.Context, db *mssql.DB, p Profile) (*string, error) {
	if len(p.prepare()) == 0 {
		return nil, nil
	}
	var list []string
	err := db.Query(ctx, tsql.ReadBooks(), func(row mssql.Row) error {
		var book, sold int64
		var price string
		if err := row.Scan(&book, &price, &sold); err != nil {
			return err
		}
		if sold != 0 {
			list = append(list, fmt.Sprintf("%d:%d", book, sold))
		}
		return nil
	})
	text := strings.Join(list, " ")
	return &text, err
}

// ParseSold reads what ReadSold returned; nil of nil, and of what it cannot have returned.
func ParseSold(text *string) map[int64]int64 {
	if text == nil {
		return nil
	}
	sold := map[int64]int64{}
	for _, one := range strings.Fields(*text) {
		book, n, _ := strings.Cut(one, ":")
		id, err := strconv.ParseInt(book, 10, 64)
		if err != nil {
			return nil
		}
		if sold[id], err = strconv.ParseInt(n, 10, 64); err != nil {
			return nil
		}
	}
	return sold
}
