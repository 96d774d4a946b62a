// SPDX-License-Identifier: Apache-2.0

package tsql

import "strconv"

// call is an EXEC of a system procedure with named arguments. Names and allowed values are those of the catalog; a test
// checks every call that this package can make against it.
type call struct {
	b     *builder
	first bool
}

// exec begins a call. The procedure has its schema ("sys.sp_addarticle", "msdb.dbo.sp_add_job").
func exec(procedure string) *call {
	b := new(builder).sql("EXEC ", procedure)
	b.procedure = procedure
	return &call{b: b, first: true}
}

// needsNobodyElse marks a call that the server refuses while anybody is connected to the database.
func (c *call) needsNobodyElse() *call {
	c.b.exclusive = true
	return c
}

func (c *call) param(name string) *call {
	if !c.first {
		c.b.sql(",")
	}
	c.first = false
	c.b.sql(" @", name, " = ")
	return c
}

// str gives a string argument.
func (c *call) str(name, value string) *call {
	c.param(name).b.str(value)
	return c
}

// optional gives a string argument unless it is empty.
func (c *call) optional(name, value string) *call {
	if value == "" {
		return c
	}
	return c.str(name, value)
}

// secret gives a string argument that is shown as asterisks.
func (c *call) secret(name, value string) *call {
	c.param(name).b.secret(value)
	return c
}

// command gives an agent's command line, whose passwords are shown as asterisks.
func (c *call) command(name string, value Command) *call {
	c.param(name).b.text.WriteString(String(value.text))
	c.b.shown.WriteString(String(value.shown))
	return c
}

// num gives an integer argument.
func (c *call) num(name string, value int) *call {
	c.param(name).b.sql(strconv.Itoa(value))
	return c
}

// flag gives N'true' or N'false'.
func (c *call) flag(name string, value bool) *call {
	return c.str(name, strconv.FormatBool(value))
}

// raw gives an argument as it is: a literal of another type or a variable.
func (c *call) raw(name, value string) *call {
	c.param(name).b.sql(value)
	return c
}

func (c *call) done(reason string) Statement { return c.b.done(reason) }
