// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// collate picks the collation for a comparison of character values: an explicit one, else a column's, else the default.
func (b *Binder) collate(operation string, list ...Expr) string {
	return b.collatedBy(operation, list...).collation
}

// collatedBy is the expression whose collation collate picks.
func (b *Binder) collatedBy(operation string, list ...Expr) Expr {
	chosen, other := precedingCollation(list)
	if other != nil {
		b.FailWith(sqlerr.New(468, 9, other.collationShown(), chosen.collationShown(), operation+" operation"))
	}
	return chosen
}

// collateResult is collate for what an operator gives: a conflict is 457 for varchar, 451 for nvarchar, as its result
// cannot be sent unless a COLLATE clause around it says how.
func (b *Binder) collateResult(operator string, t sqltype.Type, list ...Expr) Expr {
	chosen, other := precedingCollation(list)
	switch {
	case other == nil, b.collated > 0 && t.Kind != sqltype.VarChar && t.Kind != sqltype.Char && t.Kind != sqltype.Text:
	case b.sensitive != "":
		b.FailWith(sqlerr.New(446, 9, other.collationShown(), chosen.collationShown(), operator, b.sensitive))
	case t.Kind == sqltype.NVarChar || t.Kind == sqltype.NChar || t.Kind == sqltype.NText:
		b.Fail(451, other.collationShown(), chosen.collationShown(), operator, "SELECT", 1)
	default:
		b.Fail(457, t.Kind, t.Kind, other.collationShown(), chosen.collationShown(), operator)
	}
	return chosen
}

// collationSensitive are the functions that take no text whose collation is unresolved, and comparesTexts those of them
// that compare two (docs/t-sql/statements/collation-precedence-transact-sql.md, Functions and Collation).
var (
	collationSensitive = map[string]bool{
		"charindex":  true,
		"replace":    true,
		"difference": true,
		"reverse":    true,
		"isnumeric":  true,
		"right":      true,
		"left":       true,
		"soundex":    true,
		"len":        true,
		"stuff":      true,
		"lower":      true,
		"substring":  true,
		"patindex":   true,
		"upper":      true,
	}
	comparesTexts = map[string]bool{"charindex": true, "patindex": true, "replace": true}
)

// collateOnce refuses a COLLATE clause around another.
func (b *Binder) collateOnce(e Expr) {
	if e.explicit {
		b.Fail(445)
	}
}

// precedingCollation is the expression whose collation goes before those of the others
// (docs/t-sql/statements/collation-precedence-transact-sql.md), and one that is its equal and has another.
func precedingCollation(list []Expr) (chosen Expr, other *Expr) {
	for i, e := range list {
		if e.collation == "" {
			continue
		}
		switch {
		case chosen.collation == "", e.explicit && !chosen.explicit, e.implicit && !chosen.implicit && !chosen.explicit:
			chosen = e
		case (e.explicit && chosen.explicit || e.explicit == chosen.explicit && e.implicit && chosen.implicit) &&
			differentCollations(e, chosen):
			return chosen, &list[i]
		}
	}
	if chosen.collation == "" {
		chosen.collation = "tsql_ci_as"
	}
	return chosen, nil
}

func differentCollations(l, r Expr) bool {
	if l.CollationName == "" || r.CollationName == "" {
		return l.collation != r.collation
	}
	return !strings.EqualFold(l.CollationName, r.CollationName)
}

// collationShown is what messages call an expression's collation.
func (e Expr) collationShown() string {
	if e.CollationName == "" {
		return sqltype.DefaultCollation
	}
	return e.CollationName
}

// collated is e's SQL with its collation, for ORDER BY, GROUP BY, DISTINCT and comparisons.
func (e Expr) collated() string {
	if e.Type.Kind.IsCharacter() && e.collation != "" {
		return e.SQL + " COLLATE " + e.collation
	}
	return e.SQL
}
