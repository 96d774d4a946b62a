// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"
)

// markdown writes what the page says without its pictures.
func (r Report) markdown() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s: drill %s\n\n%s\n\n", r.Verdict, escape(r.Drill), escape(r.subtitle()))
	if lead := r.lead(); lead != "" {
		fmt.Fprintf(&out, "%s\n\n", escape(lead))
	}
	for _, w := range r.warnings() {
		fmt.Fprintf(&out, "> **%s**\n\n", escape(w))
	}
	for _, t := range append([]table{r.objectives()}, r.tables()...) {
		t.markdown(&out)
	}
	out.WriteString("## Evidence\n\n")
	for _, e := range r.evidence() {
		fmt.Fprintf(&out, "%s\n\n", escape(e))
	}
	return out.Bytes()
}

func (t table) markdown(out *bytes.Buffer) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(out, "## %s\n\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(out, "%s\n\n", t.Note)
	}
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)))
	for _, r := range t.Rows {
		cells := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			cells[i] = escape(c)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	out.WriteString("\n")
}

// escape keeps text from being markup: messages may come from servers.
var escape = strings.NewReplacer(
	"\\",
	"\\\\",
	"|",
	"\\|",
	"<",
	"&lt;",
	">",
	"&gt;",
	"*",
	"\\*",
	"_",
	"\\_",
	"`",
	"\\`",
	"[",
	"\\[",
	"]",
	"\\]",
	"\r\n",
	"<br>",
	"\n",
	"<br>",
	"\r",
	"<br>",
).Replace
