// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"strings"
	"time"
)

// DateOrder is the order of day, month and year in dates of digits, as SET DATEFORMAT names it
// (docs/t-sql/statements/set-dateformat-transact-sql.md). The zero value is mdy.
type DateOrder byte

// dateOrders are the names of the orders.
var dateOrders = [...]string{"mdy", "dmy", "ymd", "ydm", "myd", "dym"}

// ParseDateOrder reads the name of an order; ok is false when there is none of that name.
func ParseDateOrder(name string) (order DateOrder, ok bool) {
	for i, n := range dateOrders {
		if strings.EqualFold(n, name) {
			return DateOrder(i), true
		}
	}
	return 0, false
}

func (o DateOrder) String() string { return dateOrders[o] }

// Style is what Convert takes for a conversion without a style of its own in a session with this order.
func (o DateOrder) Style() int { return -int(o) }

// orderOf is the order that a style of ParseTime stands for.
func orderOf(style int) DateOrder {
	switch style {
	case 3, 4, 5, 103, 104, 105:
		return 1
	case 2, 11, 102, 111:
		return 2
	}
	if style < 0 && -style < len(dateOrders) {
		return DateOrder(-style)
	}
	return 0
}

// order takes three numbers for day, month and year. A year of four digits may come first whatever the order is; date,
// datetime2 and datetimeoffset then read it as ISO 8601 does and do not know ydm.
func (p *timeParser) order(a, b, c string) bool {
	order := orderOf(p.style).String()
	modern := p.to == Date || p.to == DateTime2 || p.to == DateTimeOffset
	switch {
	case len(a) == 4:
		rest := strings.Replace(order, "y", "", 1)
		if modern || strings.HasPrefix(p.rest, "T") {
			rest = "md"
		}
		order = "y" + rest
	case modern && order == "ydm":
		return false
	case len(c) == 4:
		order = strings.Replace(order, "y", "", 1) + "y"
	}
	for i, part := range []string{a, b, c} {
		switch order[i] {
		case 'y':
			p.year = century(part)
		case 'm':
			p.month = time.Month(number(part))
		default:
			p.day = number(part)
		}
	}
	return true
}
