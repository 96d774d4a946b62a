// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// goesOn are the files whose controllers act for objects that are suspended, or in whose place the frame does not ask
// for that, each with the reason. The frame has all others do nothing.
var goesOn = map[string]string{
	"failover/controller.go": "a Failover is an order for an election, which needs no operator",
	"names/controller.go":    "who is elected has to be found",
	"names/declare.go":       "sites are told of elections, and of no suspended object that they do not know",
	"names/site.go":          "a site follows elections without the hub",
}

// Whatever acts is held by the frame while its object is suspended; what is not has a reason.
func TestWhatActsForSuspendedObjects(t *testing.T) {
	g := NewWithT(t)
	folders, err := filepath.Glob("*/controller.go")
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, folder := range folders {
		kind := filepath.Dir(folder)
		set, parsed := sources(t, kind)
		for _, file := range parsed {
			if strings.HasPrefix(base(set, file), "plan") {
				continue // a plan makes no controller
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if name := kind + "/" + base(set, file); besideTheFrame(n) && !slices.Contains(found, name) {
					found = append(found, name)
				}
				return true
			})
		}
	}
	for _, name := range found {
		g.Expect(goesOn).To(HaveKey(name), "say why it acts for objects that are suspended")
	}
	g.Expect(found).To(HaveLen(len(goesOn)))
}

// besideTheFrame tells of a controller that is completed with another reconciler than the frame's, and of a kind that
// keeps on.
func besideTheFrame(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.KeyValueExpr:
		key, ok := x.Key.(*ast.Ident)
		return ok && key.Name == "KeepsOn"
	case *ast.CallExpr:
		method, ok := x.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "Complete" || len(x.Args) != 1 {
			return false
		}
		if made, ok := x.Args[0].(*ast.CallExpr); ok {
			fun, ok := made.Fun.(*ast.SelectorExpr)
			return !ok || fun.Sel.Name != "New" && fun.Sel.Name != "Frame"
		}
		frame, ok := x.Args[0].(*ast.Ident)
		return !ok || frame.Name != "frame"
	}
	return false
}
