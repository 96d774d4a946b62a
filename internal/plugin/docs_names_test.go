// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/checkout"
)

// sources is the text of everything in the checkout that is no document: Go, shell, make and YAML.
func sources(t *testing.T) (tests, all string) {
	t.Helper()
	var inTests, everywhere strings.Builder
	err := filepath.WalkDir(checkout.Root(), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && name != checkout.Root() {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || strings.HasSuffix(name, ".md") ||
			filepath.Base(name) == "docs_names_test.go" {
			return err
		}
		data, err := os.ReadFile(name)
		if strings.HasSuffix(name, "_test.go") {
			inTests.Write(data)
		}
		everywhere.Write(data)
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return inTests.String(), everywhere.String()
}

// What a document names is there: tests and benchmarks, annotations and labels, variables of the environment, files and
// folders.
func TestDocumentedNamesExist(t *testing.T) {
	tests, all := sources(t)
	for page, text := range pages(t) {
		g := NewWithT(t)
		for _, name := range regexp.MustCompile("`((?:Test|Benchmark)[A-Z][A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
			g.Expect(tests).To(ContainSubstring("func "+name[1]+"("), "%s: %s", page, name[1])
		}
		for _, name := range regexp.MustCompile(`geosql\.dev/[a-z]+(?:-[a-z]+)*`).FindAllString(text, -1) {
			g.Expect(all).To(ContainSubstring(name), "%s: %s", page, name)
		}
		for _, name := range regexp.MustCompile(`\b(?:GEOSQL|SOAK)_[A-Z_]+`).FindAllString(text, -1) {
			g.Expect(all).To(ContainSubstring(name), "%s: %s", page, name)
		}
		for _, m := range regexp.MustCompile("`((?:api|charts|cmd|config|controllers|docs|examples|hack|images|internal|make|model|standin|test)/[A-Za-z0-9_./-]+)`").FindAllStringSubmatch(text, -1) {
			g.Expect(filepath.Join(home(page), m[1])).To(Or(BeAnExistingFile(), BeADirectory()), "%s: %s", page, m[1])
		}
	}
}

// go test's command lines in documents name a package, and tests or benchmarks that it has.
func TestDocumentedTestsExist(t *testing.T) {
	for page, content := range pages(t) {
		for _, m := range regexp.MustCompile("go test \\./([a-z/]+)([^`\n]*)").FindAllStringSubmatch(content, -1) {
			g := NewWithT(t)
			names, err := filepath.Glob(filepath.Join(home(page), m[1], "*_test.go"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names).NotTo(BeEmpty(), "%s: %s", page, m[0])
			var text strings.Builder
			for _, name := range names {
				data, err := os.ReadFile(name)
				g.Expect(err).NotTo(HaveOccurred())
				text.Write(data)
			}
			for _, flag := range regexp.MustCompile(`-(run|bench) \'?([A-Za-z0-9]+)`).FindAllStringSubmatch(m[2], -1) {
				kind := map[string]string{"run": "Test", "bench": "Benchmark"}[flag[1]]
				if flag[2] != "XXX" {
					g.Expect(text.String()).
						To(MatchRegexp(`(?m)^func `+kind+`\w*`+strings.TrimPrefix(flag[2], kind)), "%s: %s", page, m[0])
				}
			}
		}
	}
}

// Values that a document sets for the chart are values that the chart has, and manifests in documents have no
// unknown field.
func TestDocumentedManifestsAreUnderstood(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "charts", "geosql-operator", "values.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var values map[string]any
	g.Expect(yaml.Unmarshal(data, &values)).To(Succeed())
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	for page, text := range pages(t) {
		for _, m := range regexp.MustCompile(`--set ([A-Za-z.]+)=`).FindAllStringSubmatch(text, -1) {
			at := any(values)
			for key := range strings.SplitSeq(m[1], ".") {
				node, _ := at.(map[string]any)
				g.Expect(node).To(HaveKey(key), "%s: --set %s", page, m[1])
				at = node[key]
			}
		}
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			var content any
			g.Expect(yaml.Unmarshal([]byte(block[1]), &content)).To(Succeed(), page)
			shown, _ := content.(map[string]any)
			switch version, _ := shown["apiVersion"].(string); {
			case version == v1alpha1.GroupVersion.String():
				object, err := scheme.New(v1alpha1.GroupVersion.WithKind(shown["kind"].(string)))
				g.Expect(err).NotTo(HaveOccurred(), page)
				g.Expect(yaml.UnmarshalStrict([]byte(block[1]), object)).To(Succeed(), page)
			case version == "" && shown != nil:
				known(g, page, values, shown)
			}
		}
	}
}

// known looks for what a document sets among the chart's values. What is empty there takes any key.
func known(g Gomega, page string, values, shown map[string]any) {
	for key, value := range shown {
		g.Expect(values).To(HaveKey(key), "%s: %s", page, key)
		has, _ := values[key].(map[string]any)
		if sets, ok := value.(map[string]any); ok && len(has) > 0 {
			known(g, page, has, sets)
		}
	}
}

// Links between documents lead to files that are there, and to headings that they have.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, m := range regexp.MustCompile(`[^\w)\]]\[[^\]]+\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || page == filepath.Join("docs", "reference", "kinds.md") {
				continue
			}
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
				_, err := os.Stat(filepath.Join(checkout.Root(), target))
				NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s: %s", page, m[1])
			}
			if heading != "" {
				NewWithT(t).Expect(headings(all[target])).To(ContainElement(heading), "%s: %s", page, m[1])
			}
		}
	}
}

// Alerts name documents that are there.
func TestAlertsNameDocumentsThatAreThere(t *testing.T) {
	g := NewWithT(t)
	rules, err := filepath.Glob(filepath.Join(checkout.Root(), "charts", "geosql-operator", "rules", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rules).NotTo(BeEmpty())
	for _, name := range rules {
		data, err := os.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		for _, page := range regexp.MustCompile(`docs/[a-z/-]*[A-Za-z-]+\.md`).FindAllString(string(data), -1) {
			g.Expect(filepath.Join(checkout.Root(), page)).To(BeAnExistingFile(), name)
		}
	}
}

// headings of a page as they stand in a link.
func headings(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(strings.TrimSpace(name), " ", "-"))
	}
	return found
}

// A cell of a table is read at a glance; what is longer belongs into the text beside it.
func TestTablesHaveNoWallsOfText(t *testing.T) {
	const most = 300
	for page, text := range pages(t) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") || strings.HasSuffix(page, "-history.md") ||
				strings.HasPrefix(page, "docs/reference/") {
				continue
			}
			for cell := range strings.SplitSeq(line, "|") {
				if strings.Contains(cell, "`SELECT ") {
					continue // a statement is quoted whole
				}
				NewWithT(t).Expect(len([]rune(strings.TrimSpace(cell)))).To(BeNumerically("<=", most), "%s: %s", page, cell)
			}
		}
	}
}
