// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// jump is GOTO on its way out to the list of statements that has the label.
type jump struct {
	label string
	line  int32
}

func (j *jump) Error() string { return "GOTO " + j.label }

// target is the place of a jump's label in a list, -1 when the label is not there or err is no jump.
func target(err error, list []ast.Statement) int {
	var j *jump
	if !errors.As(err, &j) {
		return -1
	}
	for i, node := range list {
		if l, ok := node.(*ast.LabelStatement); ok && strings.EqualFold(strings.TrimSuffix(l.Value, ":"), j.label) {
			return i
		}
	}
	return -1
}

// landed turns a jump that found no label in its batch or module into error 133.
func landed(err error) error {
	var j *jump
	if errors.As(err, &j) {
		return sqlerr.New(133, 1, j.label).At(j.line)
	}
	return err
}
