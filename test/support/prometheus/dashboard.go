// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"geosql.dev/operator/test/support/checkout"
)

// concrete replaces the dashboard's variables as Grafana does when all is chosen.
var concrete = strings.NewReplacer("$namespace", ".*", "$group", ".*", "$__rate_interval", "30s")

// Queries are the dashboard's queries by where they stand.
func Queries(t testing.TB) map[string]string {
	queries := map[string]string{}
	var walk func(where string, x any)
	walk = func(where string, x any) {
		switch x := x.(type) {
		case map[string]any:
			if title, ok := x["title"].(string); ok {
				where += " / " + title
			}
			if expr, ok := x["expr"].(string); ok {
				ref, _ := x["refId"].(string)
				queries[where+" "+ref] = concrete.Replace(expr)
			}
			for _, inner := range x {
				walk(where, inner)
			}
		case []any:
			for _, inner := range x {
				walk(where, inner)
			}
		}
	}
	walk("", dashboard(t))
	return queries
}

var labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)

// Variables are the dashboard's variables: the series that they take a label of, and the label.
func Variables(t testing.TB) map[string][2]string {
	g := gomega.NewWithT(t)
	variables := map[string][2]string{}
	for _, x := range dashboard(t)["templating"].(map[string]any)["list"].([]any) {
		one := x.(map[string]any)
		if one["type"] == "query" {
			parts := labelValues.FindStringSubmatch(one["definition"].(string))
			g.Expect(parts).To(gomega.HaveLen(3))
			variables[one["name"].(string)] = [2]string{concrete.Replace(parts[1]), parts[2]}
		}
	}
	g.Expect(variables).NotTo(gomega.BeEmpty())
	return variables
}

func dashboard(t testing.TB) map[string]any {
	g := gomega.NewWithT(t)
	text, err := os.ReadFile(filepath.Join(checkout.Root(), "charts", "geosql-operator", "dashboards", "geosql.json"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	var d map[string]any
	g.Expect(json.Unmarshal(text, &d)).To(gomega.Succeed())
	return d
}
