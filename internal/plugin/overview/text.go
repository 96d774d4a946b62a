// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// width is the number of columns within which text is kept, as far as words allow.
const width = 100

// unknown is shown for what an object does not say.
const unknown = "?"

func newBufferedReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// stripComments takes the lines away that are comments or document marks.
func stripComments(document []byte) string {
	var kept []string
	for line := range strings.Lines(string(document)) {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "#") && text != "---" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n")
}

// table writes aligned columns, with two spaces between them.
type table struct{ w *tabwriter.Writer }

func newTable(out io.Writer, header ...string) *table {
	t := &table{tabwriter.NewWriter(&trimming{out: out, indent: "  "}, 0, 0, 2, ' ', 0)}
	t.row(header...)
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

func (t *table) flush() { _ = t.w.Flush() }

// trimming indents lines and takes trailing spaces away.
type trimming struct {
	out    io.Writer
	indent string
	rest   string
}

// Write writes whole lines on.
func (t *trimming) Write(p []byte) (int, error) {
	t.rest += string(p)
	for {
		line, after, found := strings.Cut(t.rest, "\n")
		if !found {
			return len(p), nil
		}
		t.rest = after
		if _, err := io.WriteString(t.out, t.indent+strings.TrimRight(line, " ")+"\n"); err != nil {
			return 0, err
		}
	}
}

// wrap breaks text at spaces so that no line is longer than the width, if words allow.
func wrap(text, indent string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(indent+line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	lines = append(lines, line)
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}

// ready is an object's Ready and its reason. A condition that speaks of an older spec says nothing.
func ready(base v1alpha1.StatusBase, generation int64) (status, reason string) {
	c := meta.FindStatusCondition(base.Conditions, v1alpha1.ConditionReady)
	switch {
	case c == nil:
		return string(metav1.ConditionUnknown), "NotObserved"
	case base.ObservedGeneration < generation:
		return string(metav1.ConditionUnknown), "SpecNotObserved"
	}
	return string(c.Status), c.Reason
}

// age is how long ago something was, in one unit.
func age(at *metav1.Time, now time.Time) string {
	if at == nil {
		return unknown
	}
	d := max(now.Sub(at.Time), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func duration(d *metav1.Duration) string {
	if d == nil {
		return unknown
	}
	x := d.Duration
	switch {
	case x >= time.Second:
		x = x.Round(time.Second)
	case x >= time.Millisecond:
		x = x.Round(100 * time.Microsecond)
	}
	return x.String()
}

func number[T ~int32 | ~int64](n *T, unit string) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprintf("%d%s", *n, unit)
}

// host is a server's name, whether the object's or the instance's is given.
func host(server string) string {
	if strings.HasSuffix(server, "-0") || server == "" {
		return server
	}
	return server + "-0"
}

// either is the name of a server or group.
func either(x v1alpha1.ServerOrGroup) string {
	if x.Server != "" {
		return host(string(x.Server))
	}
	return "group " + string(x.AvailabilityGroup)
}

// notAsItShouldBe are the conditions that a person may want to read. Reconciling and Stalled say what Ready says.
func notAsItShouldBe(list []metav1.Condition) []metav1.Condition {
	var bad []metav1.Condition
	for _, c := range list {
		if c.Status != conditions.GoodStatus(c.Type) && c.Type != v1alpha1.ConditionReconciling &&
			c.Type != v1alpha1.ConditionStalled {
			bad = append(bad, c)
		}
	}
	return bad
}
