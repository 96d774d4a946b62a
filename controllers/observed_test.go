// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// destructive are the kinds whose plans take something away that has data, or lets somebody at data.
var destructive = []string{
	"availabilitygroup", "distributor", "login", "publication", "publishermove", "sqlserver", "subscription",
}

const (
	hub     = "from the hub: where that does not answer the look itself fails"
	counted = "counted by this process"
	atSite  = "Observed.Site says why nothing of the site was read"
)

// bare are the observed values that do not say whether they were read, each with why nothing is wrongly taken for
// "there is none".
var bare = map[string]string{
	"availabilitygroup.Missing": hub, "availabilitygroup.NotReady": hub, "availabilitygroup.Outdated": hub,
	"availabilitygroup.AwayFor": counted, "availabilitygroup.UnseededFor": counted,
	"availabilitygroup.FirstPod":       "without it no first term is believed to be the first primary's",
	"availabilitygroup.Configuration":  "concluded from Voters, which say it",
	"availabilitygroup.Orders":         "what is to be told",
	"availabilitygroup.ListenerIP":     "without it a listener is waited for",
	"availabilitygroup.accounts.voter": "beside the error in accounts",

	"login.FormerUsers.Outside": hub, "login.Former.Place": hub, "login.Former.Name": hub,

	"publication.LogReaderJob": "AtErr says it", "publication.SnapshotJob": "AtErr says it",

	"publishermove.Answering": "who answered; who did not is no reason for a move to begin",
	"publishermove.ReadOnly":  "empty is no reason for a move to begin",

	"sqlserver.Names": hub, "sqlserver.HubPasswords": hub, "sqlserver.HubCertificate": hub, "sqlserver.Authority": hub,
	"sqlserver.SiteIsHub": hub, "sqlserver.Partners.Server": hub,
	"sqlserver.UserCertificate": "UserCertificateError says it",
	"sqlserver.Cluster":         atSite, "sqlserver.Claims": atSite, "sqlserver.Bound": atSite,
	"sqlserver.SitePasswords":   atSite,
	"sqlserver.SiteCertificate": atSite, "sqlserver.ForeignSecrets": atSite, "sqlserver.Readers": atSite,
	"sqlserver.Account": atSite, "sqlserver.ConfigMap": atSite, "sqlserver.StatefulSet": atSite, "sqlserver.Pod": atSite,
	"sqlserver.Refusal": atSite, "sqlserver.Budget": atSite, "sqlserver.BudgetDenied": atSite,
	"sqlserver.left.Set": atSite, "sqlserver.left.Ending": atSite, "sqlserver.left.Pod": atSite,

	"subscription.Agent": "AtErr says it", "subscription.LogReaderJob": "JobsErr says it",
	"subscription.Pending": "nil is not known", "subscription.PendingSeconds": "nil is not known",
	"subscription.Former":         "HereErr says it",
	"subscription.FormerLogin":    "JobsErr says it",
	"subscription.FormerSessions": "JobsErr says it",
}

// Whoever plans by what was observed has to see whether it was read at all: "not asked" is not "there is none". So a
// value of an engine or a site is a Reading, or stands beside the error that says why it was not read.
func TestObservedValuesSayWhetherTheyWereRead(t *testing.T) {
	g := NewWithT(t)
	known := map[string]bool{}
	for _, kind := range destructive {
		types := structsOf(t, kind)
		g.Expect(types).To(HaveKey("Observed"))
		var look func(name, path string, seen []string)
		look = func(name, path string, seen []string) {
			s := types[name]
			if s == nil || slices.Contains(seen, name) {
				return
			}
			seen = append(seen, name)
			errs := errorsOf(s)
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					at := path + "." + n.Name
					text := textOf(field.Type)
					switch {
					case n.Name == "Now", text == "error", strings.Contains(text, "reconcile.Reading["),
						strings.HasSuffix(text, "replication.Server"), errs["Err"], errs[n.Name+"Err"]:
					case bare[at] != "":
						known[at] = true
					case types[elementOf(field.Type)] != nil && hasErrors(types, types[elementOf(field.Type)]):
						look(elementOf(field.Type), at, seen)
					default:
						t.Errorf("%s (%s) does not say whether it was read", at, text)
					}
				}
			}
		}
		look("Observed", kind, nil)
	}
	for at := range bare {
		if !known[at] {
			t.Errorf("%s is listed and is not there any more", at)
		}
	}
}

func structsOf(t *testing.T, folder string) map[string]*ast.StructType {
	t.Helper()
	types := map[string]*ast.StructType{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return types
}

// errorsOf are the names of a struct's fields that are errors.
func errorsOf(s *ast.StructType) map[string]bool {
	errs := map[string]bool{}
	for _, field := range s.Fields.List {
		for _, n := range field.Names {
			if textOf(field.Type) == "error" {
				errs[n.Name] = true
			}
		}
	}
	return errs
}

func hasErrors(types map[string]*ast.StructType, s *ast.StructType) bool {
	for _, field := range s.Fields.List {
		text := textOf(field.Type)
		if text == "error" || strings.Contains(text, "reconcile.Reading[") ||
			len(field.Names) == 0 && types[text] != nil && hasErrors(types, types[text]) {
			return true
		}
	}
	return false
}

// elementOf names the type of a field, of its elements or of what it points to.
func elementOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return elementOf(x.X)
	case *ast.ArrayType:
		return elementOf(x.Elt)
	case *ast.MapType:
		return elementOf(x.Value)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func textOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return "*" + textOf(x.X)
	case *ast.ArrayType:
		return "[]" + textOf(x.Elt)
	case *ast.MapType:
		return "map[" + textOf(x.Key) + "]" + textOf(x.Value)
	case *ast.SelectorExpr:
		return textOf(x.X) + "." + x.Sel.Name
	case *ast.IndexExpr:
		return textOf(x.X) + "[" + textOf(x.Index) + "]"
	case *ast.Ident:
		return x.Name
	}
	return "?"
}
