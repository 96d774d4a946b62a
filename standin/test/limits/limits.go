// SPDX-License-Identifier: Apache-2.0

// Package limits reads the lists of settings in docs/limits.md, so that tests hold them to what the stand-in shows.
package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// quoted is a name in a list.
var quoted = regexp.MustCompile("`([^`]+)`")

// Under are the names of each list below a heading of the third level, by what stands before the list's colon. The page
// is looked for from the working directory upwards. A heading that is not there, and a name that is there twice, are
// errors.
func Under(heading string) (map[string][]string, error) {
	page, err := read(filepath.Join("docs", "limits.md"))
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(page, "\n### "+heading+"\n")
	if !found {
		return nil, fmt.Errorf("docs/limits.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n##")
	lists, where := map[string][]string{}, map[string]string{}
	for _, item := range strings.Split(section, "\n- ")[1:] {
		what, names, _ := strings.Cut(item, ":")
		for _, name := range quoted.FindAllStringSubmatch(strings.ReplaceAll(names, "\n ", ""), -1) {
			if before, twice := where[name[1]]; twice {
				return nil, fmt.Errorf("%s: %s is listed as %q and as %q", heading, name[1], before, what)
			}
			where[name[1]] = what
			lists[what] = append(lists[what], name[1])
		}
	}
	return lists, nil
}

// All are the names of all lists below a heading.
func All(heading string) ([]string, error) {
	lists, err := Under(heading)
	var all []string
	for _, names := range lists {
		all = append(all, names...)
	}
	return all, err
}

func read(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			return string(text), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find %s: %w", name, err)
		}
		dir = filepath.Dir(dir)
	}
}
