// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"go/ast"
	"go/types"
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
	"availabilitygroup.UnheardFor": counted, "availabilitygroup.Restarted": counted,
	"availabilitygroup.FirstPod":       "without it no first term is believed to be the first primary's",
	"availabilitygroup.Configuration":  "concluded from Voters, which say it",
	"availabilitygroup.Orders":         "what is to be told",
	"availabilitygroup.ListenerIP":     "without it a listener is waited for",
	"availabilitygroup.accounts.voter": "beside the error in accounts",

	"login.Unasked": hub, "login.FormerUsers.Outside": hub, "login.Former.Place": hub, "login.Former.Name": hub,

	"publication.LogReaderJob": "AtErr says it", "publication.SnapshotJob": "AtErr says it",
	"publication.LogReaderBeside": "AtErr says it", "publication.SnapshotBeside": "AtErr says it",
	"publication.Pending": "AtErr says it",

	"publishermove.Answering": "who answered; who did not is no reason for a move to begin",
	"publishermove.ReadOnly":  "empty is no reason for a move to begin",

	"sqlserver.Names": hub, "sqlserver.HubPasswords": hub, "sqlserver.HubCertificate": hub, "sqlserver.Authority": hub,
	"sqlserver.SiteIsHub": hub, "sqlserver.Partners.Server": hub,
	"sqlserver.Clocks":          "without any, nothing is issued",
	"sqlserver.UserCertificate": "UserCertificateError says it",
	"sqlserver.Issue":           atSite,
	"sqlserver.Cluster":         atSite, "sqlserver.Claims": atSite, "sqlserver.Bound": atSite,
	"sqlserver.SitePasswords":   atSite,
	"sqlserver.SiteCertificate": atSite, "sqlserver.ForeignSecrets": atSite, "sqlserver.Readers": atSite,
	"sqlserver.Account": atSite, "sqlserver.ConfigMap": atSite, "sqlserver.StatefulSet": atSite, "sqlserver.Pod": atSite,
	"sqlserver.Refusal": atSite, "sqlserver.Unstarted": atSite,
	"sqlserver.Budget": atSite, "sqlserver.BudgetDenied": atSite,
	"sqlserver.Policy": atSite, "sqlserver.PolicyDenied": atSite,
	"sqlserver.DeclaredSA": hub, "sqlserver.DeclaredKey": hub, "sqlserver.ProductKey": atSite,
	"sqlserver.Rooms":    "State says it; nothing is planned by them",
	"sqlserver.TCP":      "State says it; nothing is planned by it",
	"sqlserver.Measured": "State says it; nothing is planned by them",
	"sqlserver.Staging":  "State says it; nothing is planned by it",
	"sqlserver.Orders":   atSite,
	"sqlserver.left.Set": atSite, "sqlserver.left.Ending": atSite, "sqlserver.left.Pod": atSite,

	"subscription.Agent": "AtErr says it", "subscription.LogReaderJob": "JobsErr says it",
	"subscription.Snapshot": "AtErr says it",
	"subscription.Pending":  "nil is not known", "subscription.PendingSeconds": "nil is not known",
	"subscription.Counted":        "how long a count took, also one that came to nothing",
	"subscription.Former":         "HereErr says it",
	"subscription.Declared":       "nil is not known",
	"subscription.Compared":       "when it was over, also one that failed",
	"subscription.FormerLogin":    "JobsErr says it",
	"subscription.FormerSessions": "JobsErr says it",
}

// Whoever plans by what was observed has to see whether it was read at all: "not asked" is not "there is none". So a
// value of an engine or a site is a Reading, or stands beside the error that says why it was not read.
func TestObservedValuesSayWhetherTheyWereRead(t *testing.T) {
	g := NewWithT(t)
	known := map[string]bool{}
	for _, kind := range destructive {
		structs := structsOf(t, kind)
		g.Expect(structs).To(HaveKey("Observed"))
		for _, at := range unsaid(structs, "Observed", kind, nil) {
			if known[at] = true; bare[at] == "" {
				t.Errorf("%s does not say whether it was read", at)
			}
		}
	}
	for at := range bare {
		if !known[at] {
			t.Errorf("%s is listed and is not there any more", at)
		}
	}
}

// unsaid are the paths of the fields, and of the fields of what they hold, that do not say whether they were read.
func unsaid(structs map[string]*ast.StructType, name, path string, seen []string) (all []string) {
	s := structs[name]
	if s == nil || slices.Contains(seen, name) {
		return nil
	}
	errs := errorsOf(s)
	for _, field := range s.Fields.List {
		text, held := types.ExprString(field.Type), elementOf(field.Type)
		for _, n := range field.Names {
			at := path + "." + n.Name
			switch {
			case n.Name == "Now", text == "error", strings.Contains(text, "reconcile.Reading["),
				strings.HasSuffix(text, "replication.Server"), errs["Err"], errs[n.Name+"Err"]:
			case bare[at] == "" && structs[held] != nil && hasErrors(structs, structs[held]):
				all = append(all, unsaid(structs, held, at, append(seen, name))...)
			default:
				all = append(all, at)
			}
		}
	}
	return all
}

// structsOf are the structures that a kind's folder declares.
func structsOf(t *testing.T, kind string) map[string]*ast.StructType {
	structs := map[string]*ast.StructType{}
	_, parsed := sources(t, kind)
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return structs
}

// errorsOf are the names of a struct's fields that are errors.
func errorsOf(s *ast.StructType) map[string]bool {
	errs := map[string]bool{}
	for _, field := range s.Fields.List {
		for _, n := range field.Names {
			if types.ExprString(field.Type) == "error" {
				errs[n.Name] = true
			}
		}
	}
	return errs
}

func hasErrors(structs map[string]*ast.StructType, s *ast.StructType) bool {
	for _, field := range s.Fields.List {
		text := types.ExprString(field.Type)
		if text == "error" || strings.Contains(text, "reconcile.Reading[") ||
			len(field.Names) == 0 && structs[text] != nil && hasErrors(structs, structs[text]) {
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
