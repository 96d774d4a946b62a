// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/syntax"
)

// ModuleAlteration is an ALTER VIEW, ALTER PROCEDURE, ALTER FUNCTION or CREATE OR ALTER statement on a view, procedure
// or function whose definition is published (Object.DefinitionPublished).
type ModuleAlteration struct {
	Database *Database
	// Module is the object as it was before the statement.
	Module *metadata.Object
	// Head and Tail are the statement's text before and after the object's name.
	Head, Tail string
}

// AlterModuleFunc carries out a ModuleAlteration: alter does what the statement says.
type AlterModuleFunc func(ctx context.Context, s *Session, a ModuleAlteration, alter func() error) error

// OnAlterModule sets who carries out ALTER of views, procedures and functions whose definitions are published, to send
// it on.
func (r *Registry) OnAlterModule(f AlterModuleFunc) { r.alterModule = f }

// moduleAlteration describes a statement that defines a module, when it alters one that is published; nil otherwise.
func (s *Session) moduleAlteration(
	ctx context.Context,
	name bind.ObjectName,
	st syntax.Statement,
) (*ModuleAlteration, error) {
	if s.inst.registry.alterModule == nil || name.Temporary() || s.db == nil {
		return nil, nil
	}
	o, err := s.ObjectNamed(ctx, s.db, s.schemaNamed(s.db.ID(), name), name.Name)
	if err != nil || o == nil || !o.DefinitionPublished() {
		return nil, err
	}
	head, tail, ok := s.textAround(st.Node, moduleName(st.Node))
	if !ok {
		return nil, errors.New("the text of an ALTER of a published view, procedure or function is not known")
	}
	if st.Terminated {
		tail += ";"
	}
	return &ModuleAlteration{Database: s.db, Module: o, Head: head, Tail: tail}, nil
}

// moduleName is where a statement that defines a view, procedure or function has its name.
func moduleName(node ast.Statement) *ast.SchemaObjectName {
	switch n := node.(type) {
	case *ast.CreateProcedureStatement:
		return n.ProcedureReference.Name
	case *ast.AlterProcedureStatement:
		return n.ProcedureReference.Name
	case *ast.CreateOrAlterProcedureStatement:
		return n.ProcedureReference.Name
	case *ast.CreateFunctionStatement:
		return n.Name
	case *ast.AlterFunctionStatement:
		return n.Name
	case *ast.CreateOrAlterFunctionStatement:
		return n.Name
	}
	return viewName(node)
}

// definingWords are those with which a module's definition begins.
var definingWords = regexp.MustCompile(`(?i)^(create\s+or\s+alter|create|alter)\b`)

// CreateAs is the statement that makes a view, procedure or function under another name, which is quoted where it has
// to be.
func CreateAs(o *metadata.Object, name string) (string, error) {
	batch, node, perr := bind.ParseModule(o)
	if perr != nil {
		return "", fmt.Errorf("read the definition of %s: %w", o.Name, perr)
	}
	named := moduleName(node)
	if named == nil {
		return "", fmt.Errorf("%s is no view, procedure or function", o.Name)
	}
	head, tail, ok := batch.Around(node, named)
	if !ok {
		return "", fmt.Errorf("the definition of %s does not tell where its name stands", o.Name)
	}
	if batch.Statements[0].Terminated {
		tail += ";"
	}
	return definingWords.ReplaceAllString(head, "CREATE") + name + tail, nil
}
