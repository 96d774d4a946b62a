// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// DataTypeOf is a system type as it is written in a statement.
func DataTypeOf(node ast.DataTypeReference, inCast bool) (sqltype.Type, *sqlerr.Error) {
	switch n := node.(type) {
	case *ast.SqlDataTypeReference:
		if n == nil {
			return sqltype.Type{}, sqlerr.New(102, 1, "")
		}
		name := lower(n.SqlDataTypeOption)
		if written := NameOf(n.Name).Name; written != "" {
			name = written
		}
		args, err := typeArguments(n.Parameters)
		if err != nil {
			return sqltype.Type{}, err
		}
		t, err := sqltype.Named(name, args, inCast)
		if err != nil {
			if alt, e := sqltype.Named(n.SqlDataTypeOption, args, inCast); e == nil {
				return alt, nil
			}
			if err.Number == 243 && !inCast {
				return t, sqlerr.New(2715, 6, 0, name)
			}
		}
		return t, err
	case *ast.XmlDataTypeReference:
		if n.XmlSchemaCollection != nil {
			return sqltype.Type{}, sqlerr.Unsupported("A schema collection of xml")
		}
		return sqltype.Type{Kind: sqltype.XML}, nil
	case *ast.UserDataTypeReference:
		args, err := typeArguments(n.Parameters)
		if err != nil {
			return sqltype.Type{}, err
		}
		name := NameOf(n.Name).Name
		t, err := sqltype.Named(name, args, inCast)
		if err != nil && err.Number == 243 && !inCast {
			return t, sqlerr.New(2715, 6, 0, name)
		}
		return t, err
	}
	return sqltype.Type{}, sqlerr.New(243, 1, "")
}

func typeArguments(nodes []ast.ScalarExpression) ([]string, *sqlerr.Error) {
	var args []string
	for _, p := range nodes {
		switch l := p.(type) {
		case *ast.IntegerLiteral:
			args = append(args, l.Value)
		case *ast.MaxLiteral:
			args = append(args, "max")
		default:
			return nil, sqlerr.New(102, 1, ")")
		}
	}
	return args, nil
}

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
