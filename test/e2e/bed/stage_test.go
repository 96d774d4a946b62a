// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"os"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/checkout"
)

// stages runs a script that may use the bed's stages, and returns what it printed.
func stages(t *testing.T, script string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-c", "set -euo pipefail; . hack/bed/lib/stage.sh\n"+script)
	command.Dir = checkout.Root()
	command.Env = append(os.Environ(), "BED_CACHE="+t.TempDir())
	output, err := command.CombinedOutput()
	return string(output), err
}

// A stage that was begun ahead may have ended minutes before its turn. By then the shell has forgotten how, when
// another process has got its number since; disown makes it forget at once.
func TestAStageThatEndedLongAgoIsDone(t *testing.T) {
	g := NewWithT(t)
	output, err := stages(t, `
		quick() { :; }
		stage_ahead early never quick
		while kill -0 "${STAGE_AHEAD[early]}" 2>/dev/null; do sleep 0.05; done
		disown -a
		stage early 1 "What was begun ahead" never quick
		stage next 1 "What comes after it" never quick`)
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(output).To(MatchRegexp("What was begun ahead +done in"))
	g.Expect(output).To(MatchRegexp("What comes after it +done in"))
}

// The first command that fails ends its stage, and the stage the whole.
func TestAStageThatFailsEndsTheWhole(t *testing.T) {
	g := NewWithT(t)
	output, err := stages(t, `
		broken() { false; echo went on; }
		stage broken 1 "What fails" never broken
		echo went on`)
	g.Expect(err).To(HaveOccurred())
	g.Expect(output).To(MatchRegexp("What fails +FAILED after"))
	g.Expect(output).NotTo(ContainSubstring("went on"))
}

// A stage whose process was killed has not succeeded.
func TestAStageThatIsKilledFails(t *testing.T) {
	g := NewWithT(t)
	output, err := stages(t, `
		killed() { kill -KILL 0; sleep 60; }
		stage killed 1 "What is killed" never killed`)
	g.Expect(err).To(HaveOccurred())
	g.Expect(output).To(MatchRegexp("What is killed +FAILED after"))
}

// Another command may be at the same stage, as make test is at that of the binaries beside make demo: its end is not
// this one's.
func TestAStageWaitsForItsOwnProcess(t *testing.T) {
	g := NewWithT(t)
	output, err := stages(t, `
		shared() {
			bash -c '. hack/bed/lib/stage.sh; quick() { :; }; stage shared 1 "That of another" never quick'
			sleep 1
			touch "$BED_CACHE/mine"
		}
		stage shared 1 "Its own" never shared
		[ -e "$BED_CACHE/mine" ] || { echo "it went on without its own"; exit 1; }`)
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(output).To(MatchRegexp("Its own +done in"))
}
