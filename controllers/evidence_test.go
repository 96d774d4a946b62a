// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// takes are the words of statements that take something away from which somebody may live: a copy, a replica, a login,
// a right, a job, a certificate, a session.
var takes = regexp.MustCompile(`\b(DROP|REMOVE|KILL|DELETE|DISABLE|REVOKE|TRUNCATE|SHUTDOWN)\b|SET HADR OFF|` +
	`sp_drop|sp_delete|sp_subscription_cleanup`)

// planning are the folders where steps are planned: the kinds, and what the kinds of replication share.
func planning(t *testing.T) []string {
	kinds, err := filepath.Glob("*/controller.go")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	folders := []string{filepath.Join("..", "internal", "replication")}
	for _, k := range kinds {
		folders = append(folders, filepath.Dir(k))
	}
	return folders
}

// What the kinds of replication go by is read by the stages before, each of which ends the plan while a server that it
// speaks of has not answered; their steps do not name it in their type yet.
const (
	registered = "the registration, login or job that goes was read and is the object's own"
	gone       = "the server whose word is missing is declared lost, or gone (sites.Gone)"
	unused     = "nothing that is declared or read uses it any more"
	told       = "what is there was compared with what is declared, and the statement says the difference"
)

// unproved are the places that name no evidence, by folder and function, with what stands for it. One that has evidence
// is taken off.
var unproved = map[string]string{
	"replication.EndLogin": registered, "replication.RemoveJob": registered,
	"distributor.planUnlink": registered, "distributor.planTakeAway": unused,
	"publication.planDistributorLost": gone, "publication.dropArticle": told, "publication.planUnsubscribed": registered,
	"publication.planEnd": unused, "publication.unpublish": unused, "publication.planRestored": told,
	"publishermove.planStop": registered,
	"subscription.end":       registered, "subscription.leave": registered, "subscription.planEnds": registered,
	"subscription.planFeeders": told,
}

// Making safe comes before breaking: a statement that takes something away is planned only as the argument of a
// function that asks for reconcile.Evidence, which nobody has without a reading; and a constructor of such a statement
// is found by its text, so that a new one is asked for its evidence, too.
func TestNothingIsTakenAwayWithoutEvidence(t *testing.T) {
	g := NewWithT(t)
	constructors := destructiveStatements(t)
	g.Expect(constructors).To(ContainElements("DropGroup", "RemoveReplica", "DropLogin", "DisableLogin", "DeleteJob",
		"DropSubscription", "EndLoginSession", "DropCertificate", "DropServerRoleMember", "RevokeDatabasePermission"))
	known := map[string]bool{}
	for _, folder := range planning(t) {
		for _, at := range withoutEvidence(t, folder, constructors) {
			where := filepath.Base(folder) + "." + at.function
			if known[where] = true; unproved[where] == "" {
				t.Errorf("%s: %s in %s takes something away, and names no evidence: use Plan.Destroy", at.position, at.what, where)
			}
		}
	}
	for where := range unproved {
		if !known[where] {
			t.Errorf("%s is listed, and takes nothing away without evidence any more", where)
		}
	}
}

// The check finds what it is there to find.
func TestTheCheckOfEvidenceFindsAWrongExample(t *testing.T) {
	g := NewWithT(t)
	var found []string
	for _, at := range withoutEvidence(t, filepath.Join("testdata", "evidence"), destructiveStatements(t)) {
		found = append(found, at.function+" "+at.what)
	}
	g.Expect(found).To(ConsistOf("planWrong tsql.DropGroup", "planWrong tsql.DropLogin",
		"planWrong reconcile.Evidence{}", "planWrong mssql.EndLoginSession"))
}

// taking is a place that takes something away.
type taking struct{ position, function, what string }

// destructiveStatements are the functions of internal/tsql, and the steps of internal/mssql by the same names, whose
// text takes something away.
func destructiveStatements(t *testing.T) (names []string) {
	_, parsed := sources(t, filepath.Join("..", "internal", "tsql"))
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil ||
				types.ExprString(f.Type.Results.List[0].Type) != "Statement" {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if x, ok := n.(*ast.BasicLit); ok && x.Kind == token.STRING {
					if text, err := strconv.Unquote(x.Value); err == nil && takes.MatchString(text) {
						names = append(names, f.Name.Name)
					}
				}
				return true
			})
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withoutEvidence are the places of a folder where such a statement is made, and not for a function that asks for
// evidence; and those that make evidence of nothing.
func withoutEvidence(t *testing.T, folder string, constructors []string) (all []taking) {
	set, parsed := sources(t, folder)
	asking := append(askingForEvidence(parsed), "Destroy", "DestroyBeside")
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			say := func(at ast.Node, what string) {
				all = append(all, taking{set.Position(at.Pos()).String(), f.Name.Name, what})
			}
			inspectEvidence(f.Body, asking, constructors, false, say)
		}
	}
	return all
}

// inspectEvidence walks through a body; proved says that the node is an argument of a function that asks for evidence.
func inspectEvidence(n ast.Node, asking, constructors []string, proved bool, say func(ast.Node, string)) {
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.CompositeLit:
			if types.ExprString(x.Type) == "reconcile.Evidence" {
				say(x, "reconcile.Evidence{}")
			}
		case *ast.CallExpr:
			_, name := callee(x)
			if !proved && slices.Contains(asking, name) {
				for _, argument := range x.Args {
					inspectEvidence(argument, asking, constructors, true, say)
				}
				return false
			}
			from, _ := callee(x)
			if !proved && slices.Contains([]string{"tsql", "mssql"}, from) && slices.Contains(constructors, name) {
				say(x, from+"."+name)
			}
		}
		return true
	})
}

// callee is the package or value, and the name, of what is called.
func callee(x *ast.CallExpr) (of, name string) {
	switch f := x.Fun.(type) {
	case *ast.SelectorExpr:
		return types.ExprString(f.X), f.Sel.Name
	case *ast.Ident:
		return "", f.Name
	}
	return "", fmt.Sprint(x.Fun)
}

// askingForEvidence are the functions of a folder with a parameter of that type.
func askingForEvidence(parsed []*ast.File) (names []string) {
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
				return strings.HasSuffix(types.ExprString(p.Type), "reconcile.Evidence")
			}) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
