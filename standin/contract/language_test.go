// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

// say is a statement and what the server has to answer: the rows of the first result set as "1 x; 2 NULL", "ok" for
// anything but an error, or "!number" for the first error's number, "!number/severity/state/line" for more of it.
type say struct{ text, want string }

// converse runs statements one after another on one connection.
func converse(t *testing.T, db executor, list []say) {
	t.Helper()
	for _, one := range list {
		rows, err := tryQuery(db, one.text)
		got := "ok"
		var e mssql.Error
		switch {
		case errors.As(err, &e):
			if len(e.All) > 0 {
				e = e.All[0]
			}
			got = fmt.Sprintf("!%d/%d/%d/%d", e.Number, e.Class, e.State, e.LineNo)
			if strings.HasPrefix(one.want, "!") {
				parts := strings.Split(got, "/")
				got = strings.Join(parts[:min(len(parts), strings.Count(one.want, "/")+1)], "/")
			} else {
				got += " " + e.Message
			}
		case err != nil:
			got = err.Error()
		case one.want != "ok":
			got = rowsText(rows)
		}
		if got != one.want {
			t.Errorf("%s\nwants %s\ngot   %s", one.text, one.want, got)
		}
	}
}

func rowsText(rows [][]any) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		parts := make([]string, len(row))
		for j, v := range row {
			switch x := v.(type) {
			case nil:
				parts[j] = "NULL"
			case []byte:
				parts[j] = fmt.Sprintf("0x%X", x)
			case interface{ Format(string) string }:
				parts[j] = x.Format("2006-01-02T15:04:05.9999999")
			default:
				parts[j] = fmt.Sprint(x)
			}
		}
		lines[i] = strings.Join(parts, " ")
	}
	return strings.Join(lines, "; ")
}
