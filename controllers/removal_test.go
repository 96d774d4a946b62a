// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// deletes are the methods that delete objects of an API server.
var deletes = []string{"Delete", "DeleteAllOf", "DeleteCollection", "Evict"}

// passing are the places that delete objects, and are neither reconcile.Remove nor go by it: by folder and function,
// with what stands for the evidence.
var passing = map[string]string{
	"reconcile.remove":  "the one way: it takes an object that was read, and names its UID",
	"sites.Delete":      "it passes on what it is told, with a deadline, while the site is this hub's",
	"sites.DeleteAllOf": "it passes on what it is told, with a deadline, while the site is this hub's; nobody calls it",
	"archive.sweep":     "ConfigMaps that were listed, by their UID",
	"archive.Delete":    "ConfigMaps that were listed, by their UID",
	"drill.showPlan":    "the Drill that the command made, by its UID",
}

// An object is deleted only as it was read: by its UID, so that another one that has taken its name stays. All of that
// goes by reconcile.Remove.
func TestNoObjectIsDeletedUnread(t *testing.T) {
	known := map[string]bool{}
	for _, folder := range programs(t) {
		for _, at := range deletions(t, folder) {
			where := filepath.Base(folder) + "." + at.function
			if known[where] = true; passing[where] == "" {
				t.Errorf("%s: %s in %s deletes by a name alone: use reconcile.Remove", at.position, at.what, where)
			}
		}
	}
	for where := range passing {
		if !known[where] {
			t.Errorf("%s is listed, and deletes nothing any more", where)
		}
	}
}

// The check finds what it is there to find.
func TestTheCheckOfDeletionsFindsAWrongExample(t *testing.T) {
	var found []string
	for _, at := range deletions(t, filepath.Join("testdata", "evidence")) {
		found = append(found, at.function+" "+at.what)
	}
	NewWithT(t).Expect(found).To(ConsistOf("deleteWrong c.Delete", "deleteWrong c.DeleteAllOf",
		"deleteWrong client.Client.Delete"))
}

// programs are all folders with the operator's own code.
func programs(t *testing.T) (folders []string) {
	for _, root := range []string{".", filepath.Join("..", "internal"), filepath.Join("..", "cmd")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				if d.Name() == "testdata" {
					return filepath.SkipDir
				}
				folders = append(folders, path)
			}
			return err
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	return folders
}

// deletions are the uses of such a method in a folder: its calls, and its value, which somebody else could call. Those
// of packages that delete from lists and maps are none, nor is what takes only a key, nor the name of an operation that
// admission is asked about.
func deletions(t *testing.T, folder string) (all []taking) {
	set, parsed := sources(t, folder)
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			keyed, others := map[ast.Expr]bool{}, []string{"slices", "maps", "admissionv1"}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.CallExpr:
					keyed[x.Fun] = len(x.Args) < 2
				case *ast.SelectorExpr:
					of, name := callee(&ast.CallExpr{Fun: x})
					if slices.Contains(deletes, name) && !keyed[x] && !slices.Contains(others, of) {
						all = append(all, taking{set.Position(x.Pos()).String(), f.Name.Name, of + "." + name})
					}
				}
				return true
			})
		}
	}
	return all
}
