// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/bind"
)

func describe(node any) string {
	return strings.NewReplacer("COLUMN STORE", "COLUMNSTORE", "FULL TEXT", "FULLTEXT", " MODIFICATION", "").
		Replace(strings.TrimSuffix(strings.ToUpper(bind.NodeName(node)), " STATEMENT"))
}
