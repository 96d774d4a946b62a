// SPDX-License-Identifier: Apache-2.0

package tds

import "geosql.dev/standin/sqltype"

// withoutUTF8 is a type as those see it who do not take texts in UTF-8 ([MS-TDS] 2.2.6.4, UTF8_SUPPORT): Unicode in
// place of a char, varchar or text in that code page. A sql_variant has it for every client.
func withoutUTF8(t sqltype.Type) sqltype.Type {
	if t.Page != sqltype.PageUTF8 {
		return t
	}
	switch t.Kind {
	case sqltype.Text:
		t.Kind = sqltype.NText
	case sqltype.Char, sqltype.VarChar:
		t.Kind = sqltype.NVarChar
	}
	t.Page = 0
	return t
}

// toldType is a type as the client is told it.
func (c *conn) toldType(t sqltype.Type) sqltype.Type {
	if c.utf8 {
		return t
	}
	return withoutUTF8(t)
}

// told are columns as the client is told them.
func (c *conn) told(cols []Column) []Column {
	out := cols
	for i := range cols {
		t := c.toldType(cols[i].Type)
		if t == cols[i].Type {
			continue
		}
		if &out[0] == &cols[0] {
			out = append([]Column{}, cols...)
		}
		out[i].Type = t
	}
	return out
}
