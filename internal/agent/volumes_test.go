// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// fill is a volume of 100 that the test fills, and its clock.
type fill struct {
	free int64
	err  error
	now  time.Time
}

func (f *fill) rooms() *rooms {
	r := newRooms(map[string]string{"data": "/"})
	r.look = func(string) (int64, int64, error) { return 100, f.free, f.err }
	r.now = func() time.Time { return f.now }
	return r
}

// Growth is averaged over the last hour, and told after ten minutes; what was freed is none.
func TestHowAVolumeFills(t *testing.T) {
	g := NewWithT(t)
	f := &fill{free: 90, now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	r := f.rooms()
	g.Expect(r.current()).To(BeEmpty())
	at := func(passed time.Duration, free int64) VolumeRoom {
		f.now, f.free = f.now.Add(passed), free
		r.once("data", "/")
		return r.current()["data"]
	}
	g.Expect(at(0, 90)).To(Equal(VolumeRoom{CapacityBytes: 100, FreeBytes: 90, Measured: f.now}))
	g.Expect(at(9*time.Minute, 80).GrowthBytesPerHour).To(BeZero(), "too early to say")
	g.Expect(at(21*time.Minute, 66).GrowthBytesPerHour).To(BeEquivalentTo(40), "14 in 21 minutes; in all 24 in 30")
	g.Expect(at(10*time.Minute, 56).GrowthBytesPerHour).To(BeEquivalentTo(51), "10 in 10 minutes; in all 34 in 40")
	g.Expect(at(15*time.Minute, 56).GrowthBytesPerHour).To(BeZero(), "it has ended")
	g.Expect(at(20*time.Minute, 95).GrowthBytesPerHour).To(BeZero(), "something was deleted")
	g.Expect(testutil.CollectAndCount(r)).To(Equal(2))

	f.err = errors.New("it is gone")
	at(roomStale, 0)
	g.Expect(r.current()).To(BeEmpty(), "what is not heard of is not told")
	g.Expect(testutil.CollectAndCount(r)).To(BeZero())
}

// A volume that does not answer is asked once, and holds up no other.
func TestAVolumeThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	asked, answer := make(chan string, 10), make(chan struct{})
	r := newRooms(nil)
	r.look = func(dir string) (int64, int64, error) {
		asked <- dir
		if dir == "/hangs" {
			<-answer
		}
		return 100, 50, nil
	}
	done := make(chan struct{})
	go func() { r.once("data", "/hangs"); close(done) }()
	g.Eventually(asked, time.Minute).Should(Receive(Equal("/hangs")))
	r.once("data", "/hangs")
	r.once("log", "/answers")
	g.Expect(r.current()).To(And(HaveKey("log"), Not(HaveKey("data"))))
	g.Expect(asked).To(HaveLen(1))
	close(answer)
	<-done
	g.Expect(r.current()).To(HaveKey("data"))
}
