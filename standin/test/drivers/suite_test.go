// SPDX-License-Identifier: Apache-2.0

//go:build drivers

package drivers_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// suiteList has a line for each test of go-mssqldb's own suite: its name, then pass, or fail and why.
const suiteList = "go-mssqldb.txt"

// TestGoMSSQLDBSuite builds go-mssqldb's own tests from the module cache and runs them. A test that the list has as
// passing must pass; GEOSQL_WRITE_DRIVERS adds what passes now.
func TestGoMSSQLDBSuite(t *testing.T) {
	installed(t)
	g := NewWithT(t)
	s := start(t)
	listed := readList(t)
	binary, dir := buildSuite(t)
	out, err := exec.Command(binary, "-test.list", ".").Output()
	g.Expect(err).NotTo(HaveOccurred())
	names := regexp.MustCompile(`(?m)^Test\w+$`).FindAllString(string(out), -1)
	if os.Getenv("GEOSQL_WRITE_DRIVERS") == "" {
		// What is known to fail or was never run takes time, and tells nothing.
		names = slices.DeleteFunc(names, func(name string) bool { return listed[name] != "pass" })
	}
	g.Expect(names).NotTo(BeEmpty())
	verdicts := map[string]string{}
	for left := names; len(left) > 0; {
		round := runSuite(t, s, binary, dir, left)
		g.Expect(round).NotTo(BeEmpty(), "no test of %q ended", left)
		for name, verdict := range round {
			verdicts[name] = verdict
		}
		left = slices.DeleteFunc(slices.Clone(left), func(name string) bool { return verdicts[name] != "" })
	}
	count := map[string]int{}
	for _, name := range names {
		count[verdicts[name]]++
		if listed[name] == "pass" && verdicts[name] != "PASS" {
			t.Errorf("%s is listed as passing and now says %s", name, verdicts[name])
		}
	}
	for name, reason := range listed {
		if reason == "pass" && verdicts[name] == "" {
			t.Errorf("%s is in %s and is not in the suite", name, suiteList)
		}
	}
	t.Logf("go-mssqldb's own suite: %v of %d tests", count, len(names))
	if os.Getenv("GEOSQL_WRITE_DRIVERS") != "" {
		writeList(t, names, verdicts, listed)
	}
}

// buildSuite copies the module out of the cache, which is read-only, and builds its tests there: go.mod is its own.
func buildSuite(t *testing.T) (binary, dir string) {
	t.Helper()
	g := NewWithT(t)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/microsoft/go-mssqldb").Output()
	g.Expect(err).NotTo(HaveOccurred())
	dir = filepath.Join(t.TempDir(), "go-mssqldb")
	g.Expect(os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out))))).To(Succeed())
	g.Expect(filepath.WalkDir(dir,
		func(path string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chmod(path, 0o755)) })).
		To(Succeed())
	binary = filepath.Join(dir, "suite.test")
	build := exec.Command("go", "test", "-c", "-mod=mod", "-o", binary, ".")
	build.Dir = dir
	text, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", text)
	return binary, dir
}

var (
	runLine     = regexp.MustCompile(`(?m)^=== RUN +(Test\w+)$`)
	verdictLine = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (Test\w+) `)
)

// runSuite runs tests in a database of their own and gives the verdicts of those that ended; one that takes the process
// down has failed.
func runSuite(t *testing.T, s *server, binary, dir string, tests []string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	admin, err := sql.Open("sqlserver", s.dsn("", nil))
	g.Expect(err).NotTo(HaveOccurred())
	defer admin.Close()
	name := fmt.Sprintf("suite_%d", time.Now().UnixNano())
	_, err = admin.Exec("CREATE DATABASE [" + name + "]")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(
		ctx,
		binary,
		"-test.v",
		"-test.timeout",
		"8m",
		"-test.run",
		"^("+strings.Join(tests, "|")+")$",
	)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SQLSERVER_DSN="+s.dsn(name, map[string]string{"encrypt": "disable"}))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	failed := cmd.Run()
	verdicts := map[string]string{}
	for _, m := range verdictLine.FindAllStringSubmatch(out.String(), -1) {
		verdicts[m[2]] = m[1]
	}
	if failed != nil {
		// The test that ran when the process ended: the last one that began and has no verdict, or the last one.
		begun := runLine.FindAllStringSubmatch(out.String(), -1)
		for i := len(begun) - 1; i >= 0; i-- {
			if name := begun[i][1]; verdicts[name] == "" {
				verdicts[name] = "FAIL"
				break
			}
		}
	}
	if len(verdicts) == 0 {
		t.Logf("%v\n%s", failed, out.String())
	}
	return verdicts
}

func readList(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(suiteList)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, verdict, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			out[name] = verdict
		}
	}
	return out
}

func writeList(t *testing.T, names []string, verdicts, listed map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(
		"# Tests of go-mssqldb's own suite against the stand-in: pass, skip (the suite's own condition), or fail and " +
			"the reason.\n",
	)
	slices.Sort(names)
	for _, name := range names {
		switch reason := listed[name]; {
		case verdicts[name] == "PASS":
			fmt.Fprintf(&b, "%s pass\n", name)
		case verdicts[name] == "SKIP":
			fmt.Fprintf(&b, "%s skip\n", name)
		case strings.HasPrefix(reason, "fail "):
			fmt.Fprintf(&b, "%s %s\n", name, reason)
		default:
			fmt.Fprintf(&b, "%s fail (a reason is missing)\n", name)
		}
	}
	NewWithT(t).Expect(os.WriteFile(suiteList, []byte(b.String()), 0o644)).To(Succeed())
}
