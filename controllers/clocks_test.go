// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// now is how plans name the time of a look, which is that of a wall clock: an administrator or NTP can put it forward.
var now = regexp.MustCompile(`(^|\.)[nN]ow$`)

// byTheClock are the functions that measure how long something is so from a time that was written down, and why a clock
// that is put forward does no harm there.
var byTheClock = map[string]string{
	"availabilitygroup.note":            "both times are of this process, by its monotonic clock",
	"availabilitygroup.absence":         "the time that this process has seen counts, too: the lesser of both",
	"availabilitygroup.votesComplete":   "what is told of a vote that is silent; the silence is of this process",
	"availabilitygroup.backupObjective": "what is told of backups, whose times are the servers'",
	"availabilitygroup.bestPlace":       "what is told of stores, whose times are the servers'",

	"publication.claims":        "the right goes back earlier, and is asked for again",
	"publication.right":         "the right goes back earlier, and is asked for again",
	"publication.planTakenBack": "a log reader is told once more to stop, and started again",
	"publication.withoutRight":  "the right is asked for again",
	"publication.newest":        "how often the status is written",
	"publication.outdated":      "tables are measured earlier",
	"publication.planRestored":  "a log reader is disabled, and not deleted",
	"publication.run":           "a run that is due, and that its schedule agrees to, waits less for others",

	"publishermove.estimates": "an estimate is made anew earlier",
	"publishermove.stands":    "a comparison is made anew earlier",

	"sqlserver.comesLast":     "when the next look comes",
	"sqlserver.drainWaits":    "a turn is handed on earlier: a switchover that loses nothing",
	"sqlserver.newestMessage": "which event of a pod is told",
	"sqlserver.stopped":       "from when on a condition says that an update has stopped, which it has by then",
	"sqlserver.unstarted":     "which event of a pod is told",

	"subscription.due":           "the next comparison comes earlier",
	"subscription.differs":       "two comparisons showed one difference, and a person has consented to a new copy then",
	"subscription.lasts":         "a person is asked earlier; a difference is judged by its token besides",
	"subscription.onItsWay":      "a person is asked earlier",
	"subscription.observeTokens": "a token's age, by the clock that it was posted by: when the next one is posted",
	"subscription.stands":        "what is pending is counted earlier",
	"subscription.present":       "for how long a figure is shown",
	"subscription.enter":         "how long a phase of a copy took, which is told and decides nothing",
	"subscription.outlived":      "another backup is taken, which nobody else has",
	"subscription.planInTime":    "a backup that was taken for this alone ends, and a person is asked",
	"subscription.awaited":       "what a sidecar that says nothing may leave is told",
	"subscription.paced":         "how often the figures of a copy are written",
}

// How long something has been so is evidence only by a clock that nobody puts forward. What takes away or changes what
// people have upon a difference of wall clocks asks the time that the process has seen, too; every place that does not
// says why it need not.
func TestNothingIsTakenAwayByTheWallClockAlone(t *testing.T) {
	found := map[string]bool{}
	for _, kind := range destructive {
		set, parsed := sources(t, kind)
		for _, file := range parsed {
			for _, d := range file.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || f.Body == nil {
					continue
				}
				ast.Inspect(f.Body, func(n ast.Node) bool {
					call, is := n.(*ast.CallExpr)
					if !is {
						return true
					}
					s, is := call.Fun.(*ast.SelectorExpr)
					if !is || s.Sel.Name != "Sub" || !now.MatchString(types.ExprString(s.X)) {
						return true
					}
					where := filepath.Base(kind) + "." + f.Name.Name
					if found[where] = true; byTheClock[where] == "" {
						t.Errorf("%s: %s measures by the wall clock", set.Position(call.Pos()), where)
					}
					return true
				})
			}
		}
	}
	for where := range byTheClock {
		NewWithT(t).Expect(found).To(HaveKey(where), "it is listed, and does so no more")
	}
}
