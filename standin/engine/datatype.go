// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// placedVariable is placed of a variable, whose errors have a state of their own.
func placedVariable(e *sqlerr.Error, number int) *sqlerr.Error {
	told := NumberedTypeError(e, number)
	if told.Number == 2715 {
		told.State = 3
	}
	return told
}

// NumberedTypeError is an error of a data type with the number of the column or variable that has it.
func NumberedTypeError(e *sqlerr.Error, number int) *sqlerr.Error {
	if e.Number != 2715 {
		return e
	}
	told := *e
	told.Message = strings.Replace(e.Message, "#0:", "#"+strconv.Itoa(max(1, number))+":", 1)
	return &told
}
