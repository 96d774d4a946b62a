// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"io"
	"strings"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/tsql/ledger"
)

// untried says which of the statements nobody has seen work on SQL Server, and where SQL Server may do otherwise than
// the operator expects, by the IDs of docs/certification.md.
func untried(out io.Writer, l *ledger.Ledger, statements []tsql.Statement) {
	doubted := l.InDoubt(statements)
	if len(doubted) == 0 {
		return
	}
	fmt.Fprintln(out, "\nNot yet tried on SQL Server, with the doubts that docs/certification.md explains:")
	for _, s := range doubted {
		fmt.Fprintf(out, "  %s: %s\n", s.Name, strings.Join(s.Doubts, ", "))
	}
}
