// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Summary is what the faults of one name did, over all of them.
type Summary struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Lost  int    `json:"lost"`
	// Samples is the number of RTOs: one per fault and client that was not isolated.
	Samples int `json:"samples"`
	// RTO over the samples.
	RTOp50 time.Duration `json:"rtoP50"`
	RTOp95 time.Duration `json:"rtoP95"`
	RTOMax time.Duration `json:"rtoMax"`
	// RPO and Stall are the greatest.
	RPO   time.Duration `json:"rpo"`
	Stall time.Duration `json:"stall"`
	// CatchUp over the faults after which the replicas were seen synchronized.
	CatchUpP50 time.Duration `json:"catchUpP50"`
	CatchUpMax time.Duration `json:"catchUpMax"`
}

// Summarize sums up the faults of each name, in the order in which the names first come.
func Summarize(faults []FaultFigures) []Summary {
	var names []string
	rto, catchUp := map[string][]time.Duration{}, map[string][]time.Duration{}
	sums := map[string]*Summary{}
	for _, f := range faults {
		s := sums[f.Name]
		if s == nil {
			s = &Summary{Name: f.Name}
			sums[f.Name] = s
			names = append(names, f.Name)
		}
		s.Count++
		s.Lost += f.Lost
		s.RPO = max(s.RPO, f.RPO)
		if f.CatchUp != nil {
			catchUp[f.Name] = append(catchUp[f.Name], *f.CatchUp)
		}
		for _, c := range f.Clients {
			if c.Isolated {
				continue
			}
			s.Stall = max(s.Stall, c.Stall)
			if c.RTO != nil {
				rto[f.Name] = append(rto[f.Name], *c.RTO)
			}
		}
	}
	list := make([]Summary, len(names))
	for i, name := range names {
		s := sums[name]
		s.Samples = len(rto[name])
		s.RTOp50, s.RTOp95, s.RTOMax = Percentile(rto[name], 0.5), Percentile(rto[name], 0.95), Percentile(rto[name], 1)
		s.CatchUpP50, s.CatchUpMax = Percentile(catchUp[name], 0.5), Percentile(catchUp[name], 1)
		list[i] = *s
	}
	return list
}

// WriteTable writes the verdict for people: its result and reasons, the counts, the terms, a line for each kind of
// fault.
func (v Verdict) WriteTable(w io.Writer) error {
	var b strings.Builder
	c := v.Counts
	fmt.Fprintf(&b, "verdict %s\n", v.Result)
	for _, reason := range v.Reasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	fmt.Fprintf(
		&b,
		"rows: %d attempted, %d acknowledged, %d lost; %d failed, %d of them there; %d unknown, %d of them there; %d "+
			"duplicated, %d phantom, %d diverging\n",
		c.Attempted,
		c.Acknowledged,
		c.Lost,
		c.Failed,
		c.FailedPresent,
		c.Unknown,
		c.UnknownPresent,
		c.Duplicated,
		c.Phantom,
		c.Diverging,
	)
	fmt.Fprintf(
		&b,
		"registers: %s, %d operations%s\n",
		v.Registers.Result,
		v.Registers.Operations,
		parenthesis(v.Registers.Reason),
	)
	if v.Order.Used() {
		fmt.Fprintf(&b, "lists: %s, %d transactions%s\n", v.Order.Result, v.Order.Transactions,
			parenthesis(v.Order.Reason))
	}
	fmt.Fprintf(&b, "terms: %d, %d overlaps\n\n", len(v.Terms), len(v.Overlaps))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "FAULT\tCOUNT\tLOST\tRPO\tRTO n\tp50\tp95\tmax\tSTALL\tCATCH-UP p50\tmax\t")
	for _, s := range Summarize(v.Faults) {
		fmt.Fprintf(
			table,
			"%s\t%d\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n",
			s.Name,
			s.Count,
			s.Lost,
			seconds(s.RPO),
			s.Samples,
			seconds(
				s.RTOp50,
			),
			seconds(s.RTOp95),
			seconds(s.RTOMax),
			seconds(s.Stall),
			seconds(s.CatchUpP50),
			seconds(s.CatchUpMax),
		)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	return nil
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
