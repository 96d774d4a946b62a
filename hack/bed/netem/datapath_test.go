// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// send sends count numbered and dated datagrams, pause apart.
func (d datagrams) send(t *testing.T, first, count int, pause time.Duration) {
	t.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var message [16]byte
	for number := first; number < first+count; number++ {
		binary.BigEndian.PutUint64(message[:], uint64(number))
		binary.BigEndian.PutUint64(message[8:], uint64(time.Now().UnixNano()))
		if _, err := d.sender.Write(message[:]); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		<-tick.C
	}
}

type arrival struct {
	number int
	took   time.Duration
}

// receive takes what arrives until nothing came for quiet, or until count. The
// kernel tells the time of arrival: a busy machine may run the test late.
func (d datagrams) receive(count int, quiet time.Duration) []arrival {
	var arrivals []arrival
	var message, control [64]byte
	for len(arrivals) < count {
		_ = d.receiver.SetReadDeadline(time.Now().Add(quiet))
		n, controlled, _, _, err := d.receiver.ReadMsgUDP(message[:], control[:])
		if err != nil || n != 16 {
			break
		}
		sent := int64(binary.BigEndian.Uint64(message[8:]))
		arrivals = append(
			arrivals,
			arrival{int(binary.BigEndian.Uint64(message[:])), time.Duration(arrivedAt(control[:controlled]) - sent)},
		)
	}
	return arrivals
}

// arrivedAt reads the SCM_TIMESTAMPNS message of socket(7).
func arrivedAt(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 || messages[0].Header.Type != unix.SCM_TIMESTAMPNS {
		panic(fmt.Sprintf("no time of arrival: %v", err))
	}
	seconds := binary.NativeEndian.Uint64(messages[0].Data)
	return int64(seconds)*1e9 + int64(binary.NativeEndian.Uint64(messages[0].Data[8:]))
}

func (d datagrams) exchange(t *testing.T, count int, pause, quiet time.Duration) []arrival {
	t.Helper()
	result := make(chan []arrival)
	go func() { result <- d.receive(10*count, quiet) }()
	d.send(t, 0, count, pause)
	return <-result
}

func sortedTimes(arrivals []arrival) []time.Duration {
	times := make([]time.Duration, 0, len(arrivals))
	for _, a := range arrivals {
		times = append(times, a.took)
	}
	slices.Sort(times)
	return times
}

func TestConnectTakesTheDelayOfBothDirections(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	listener := w.listen(t)
	w.shapeNear(t, "--delay", "75ms")
	w.netem(t, w.far, "set", "--to", "10.77.0.0/24", "--delay", "75ms")
	var times []time.Duration
	for range 9 {
		_, took := w.dial(t, listener.Addr())
		times = append(times, took)
	}
	slices.Sort(times)
	t.Logf("connect: median %s, best %s, worst %s", times[len(times)/2], times[0], times[len(times)-1])
	g.Expect(times[0]).To(BeNumerically(">=", 150*time.Millisecond))
	g.Expect(times[0]).To(BeNumerically("<", 155*time.Millisecond))
}

func TestJitterAndLossKeepToTheirBounds(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	flow := w.datagrams(t)
	w.shapeNear(t, "--delay", "40ms", "--jitter", "10ms", "--loss", "20%")
	arrivals := flow.exchange(t, 1000, time.Millisecond, 300*time.Millisecond)
	times := sortedTimes(arrivals)
	p90 := times[len(times)*90/100]
	t.Logf(
		"%d of 1000 arrived, %s to %s, median %s, p90 %s",
		len(times),
		times[0],
		times[len(times)-1],
		times[len(times)/2],
		p90,
	)
	// Six standard deviations of a binomial of 1000 at 20 % are 76.
	g.Expect(len(times)).To(BeNumerically("~", 800, 76))
	g.Expect(times[0]).To(BeNumerically(">=", 30*time.Millisecond))
	g.Expect(times[0]).To(BeNumerically("<", 35*time.Millisecond))
	g.Expect(times[len(times)/2]).To(BeNumerically("~", 40*time.Millisecond, 4*time.Millisecond))
	g.Expect(p90).To(BeNumerically("~", 48*time.Millisecond, 2*time.Millisecond))
	class := w.onlyClass(t)
	g.Expect(class.Sent + class.Dropped).To(BeEquivalentTo(1000))
	g.Expect(class.Sent).To(BeEquivalentTo(len(times)))
}

func TestDuplicatesArriveTwiceAndCorruptPacketsNever(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	flow := w.datagrams(t)
	w.shapeNear(t, "--duplicate", "100%")
	g.Expect(flow.exchange(t, 100, time.Millisecond, 200*time.Millisecond)).To(HaveLen(200))
	// A flipped bit must meet a checksum that was there before it.
	w.shapeNear(t, "--corrupt", "100%")
	g.Expect(flow.exchange(t, 100, time.Millisecond, 200*time.Millisecond)).To(BeEmpty())
	g.Expect(w.onlyClass(t).Sent).To(BeEquivalentTo(300))
}

// transfer sends bytes over one connection and returns the goodput in Mbit/s
// from the first byte's departure to the last one's arrival.
func (w wire) transfer(t *testing.T, bytes int64) float64 {
	t.Helper()
	listener := w.listen(t)
	type result struct {
		end time.Time
		err error
	}
	received := make(chan result, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			received <- result{err: err}
			return
		}
		defer connection.Close()
		n, err := io.Copy(io.Discard, connection)
		if err == nil && n != bytes {
			err = fmt.Errorf("%d bytes arrived of %d", n, bytes)
		}
		received <- result{time.Now(), err}
	}()
	connection, _ := w.dial(t, listener.Addr())
	start := time.Now()
	if _, err := io.CopyN(connection, zeros{}, bytes); err != nil {
		t.Fatal(err)
	}
	connection.Close()
	outcome := <-received
	if outcome.err != nil {
		t.Fatal(outcome.err)
	}
	return float64(bytes) * 8 / outcome.end.Sub(start).Seconds() / 1e6
}

type zeros struct{}

func (zeros) Read(buffer []byte) (int, error) { return len(buffer), nil }

func TestRateBoundsAStream(t *testing.T) {
	w := newWire(t)
	for _, link := range []struct {
		rate  string
		mbit  float64
		bytes int64
	}{{"10mbit", 10, 1 << 20}, {"100mbit", 100, 10 << 20}} {
		w.shapeNear(t, "--rate", link.rate)
		rate := w.transfer(t, link.bytes)
		t.Logf("%s: %.1f Mbit/s of payload", link.rate, rate)
		// Headers take 4.4 % of a full frame of 1514 bytes. A busy machine may
		// make it slower, nothing faster.
		NewWithT(t).Expect(rate).To(And(BeNumerically(">", link.mbit*0.85), BeNumerically("<", link.mbit*0.97)))
	}
}

func TestOneStreamFillsALongLink(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 300 MB")
	}
	w := newWire(t)
	w.shapeNear(t, "--delay", "75ms")
	w.netem(t, w.far, "set", "--to", nearAddress, "--delay", "75ms")
	rate := w.transfer(t, 300<<20)
	class := w.onlyClass(t)
	t.Logf(
		"%.0f Mbit/s over a round trip of 150 ms; frames late p99 %s, worst %s, refused %d",
		rate,
		class.LateP99,
		class.LateWorst,
		class.Refused,
	)
	NewWithT(t).Expect(rate).To(BeNumerically(">", 300))
	NewWithT(t).Expect(class.Refused).To(BeZero())
}

func TestCutAndHeal(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	flow := w.datagrams(t)
	w.shapeNear(t, "--delay", "2s")
	flow.send(t, 0, 20, time.Millisecond)
	w.shapeNear(t, "--cut")
	flow.send(t, 20, 20, time.Millisecond)
	class := w.onlyClass(t)
	g.Expect(class.Queued).To(BeZero(), "a cut link delivers nothing, not even what was under way")
	g.Expect(class.Dropped).To(BeEquivalentTo(40))
	w.shapeNear(t, "--delay", "10ms")
	flow.send(t, 40, 20, time.Millisecond)
	arrivals := flow.receive(20, time.Second)
	g.Expect(arrivals).To(HaveLen(20))
	for _, a := range arrivals {
		g.Expect(a.number).To(BeNumerically(">=", 40), "datagram sent before the link was healed")
		g.Expect(a.took).To(BeNumerically(">=", 10*time.Millisecond))
	}
}

func TestAChangeKeepsWhatIsUnderWay(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	flow := w.datagrams(t)
	w.shapeNear(t, "--delay", "500ms")
	pid := w.status(t, w.near).PID
	flow.send(t, 0, 50, time.Millisecond)
	w.shapeNear(t, "--delay", "5ms")
	flow.send(t, 50, 50, time.Millisecond)
	w.netem(t, w.near, "clear", "--to", farAddress)
	arrivals := flow.receive(100, 2*time.Second)
	g.Expect(arrivals).To(HaveLen(100))
	for _, a := range arrivals {
		if a.number < 50 {
			g.Expect(a.took).To(BeNumerically(">=", 500*time.Millisecond))
		}
	}
	g.Expect(arrivals[0].number).To(Equal(50))
	g.Expect(w.status(t, w.near).PID).To(Equal(pid))
	flow.send(t, 100, 1, time.Millisecond)
	g.Expect(flow.receive(1, time.Second)[0].took).
		To(BeNumerically("<", 5*time.Millisecond), "a cleared class still delays")
	g.Eventually(func() string {
		links, _ := exec.Command("ip", "-n", w.near, "link").Output()
		return string(links)
	}, "5s", "20ms").ShouldNot(MatchRegexp(`: netem\d+c\d`), "the TAP of a cleared class stays")
}

func TestOnlyTheClassIsShapedAndTheLongestPrefixWins(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	ip(t, "-n", w.far, "addr", "add", "10.77.0.3/24", "dev", "eth0")
	ip(t, "-n", w.far, "addr", "add", "10.77.0.4/24", "dev", "eth0")
	w.netem(t, w.near, "set", "--name", "site", "--to", "10.77.0.2,10.77.0.4", "--delay", "50ms")
	w.netem(t, w.near, "set", "--name", "wide", "--to", "10.77.0.0/30", "--delay", "150ms")
	for address, expected := range map[string]time.Duration{"10.77.0.2": 50 * time.Millisecond,
		"10.77.0.3": 150 * time.Millisecond, "10.77.0.4": 50 * time.Millisecond} {
		var listener net.Listener
		w.inside(t, w.far, func() (err error) {
			listener, err = net.Listen("tcp4", address+":0")
			return err
		})
		took := w.quickest(t, listener.Addr())
		listener.Close()
		g.Expect(took).To(BeNumerically("~", expected+5*time.Millisecond, 5*time.Millisecond), address)
	}
	w.netem(t, w.near, "clear", "--name", "site")
	_, took := w.dial(t, w.listen(t).Addr())
	g.Expect(took).To(BeNumerically(">=", 150*time.Millisecond), "the wider class takes over")
}

func TestStartingTwiceIsOneEmulatorThatRestsAndGoesWithItsDevice(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	w.netem(t, w.near, "run")
	first := w.status(t, w.near)
	w.netem(t, w.near, "run")
	w.shapeNear(t, "--delay", "75ms")
	g.Expect(w.status(t, w.near).PID).To(Equal(first.PID))
	session, err := unix.Getsid(first.PID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(session).To(Equal(first.PID), "the emulator ends with its caller's session")
	before := processorTime(t, first.PID)
	quiet := time.NewTimer(time.Second)
	<-quiet.C
	g.Expect(processorTime(t, first.PID)-before).
		To(BeNumerically("<=", 20*time.Millisecond), "an idle emulator uses the processor")
	ip(t, "-n", w.near, "link", "del", "eth0")
	g.Eventually(func() error { return syscall.Kill(first.PID, 0) }, "5s", "10ms").Should(MatchError(syscall.ESRCH))
}

func TestAnEmulatorWithoutItsTAPEndsAndSaysSo(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	log := t.TempDir() + "/log"
	w.netem(t, w.near, "run", "--log", log)
	w.shapeNear(t, "--delay", "75ms")
	pid := w.status(t, w.near).PID
	links, err := exec.Command("ip", "-n", w.near, "-br", "link").Output()
	g.Expect(err).NotTo(HaveOccurred())
	tap := regexp.MustCompile(`(?m)^netem\d+c\d+`).FindString(string(links))
	g.Expect(tap).NotTo(BeEmpty())
	ip(t, "-n", w.near, "link", "del", tap)
	g.Eventually(func() error { return syscall.Kill(pid, 0) }, "5s", "10ms").Should(MatchError(syscall.ESRCH))
	g.Expect(os.ReadFile(log)).To(ContainSubstring("interface " + tap + " of class 10.77.0.2/32 is gone"))
	g.Expect(w.quickest(t, w.listen(t).Addr())).To(BeNumerically("<", 50*time.Millisecond), "traffic passes unshaped then")
}

// processorTime reads utime and stime of proc_pid_stat(5), in ticks of 10 ms.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func TestStopLetsTrafficPass(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	w.shapeNear(t, "--cut")
	w.netem(t, w.near, "stop")
	w.netem(t, w.near, "stop")
	g.Expect(w.quickest(t, w.listen(t).Addr())).To(BeNumerically("<", 100*time.Millisecond))
}

func TestBadInputIsRefused(t *testing.T) {
	w := newWire(t)
	for _, bad := range []struct {
		arguments string
		message   string
	}{
		{"set --to 10.0.0.0/8 --delay 75", `--delay: "75" is not a duration`},
		{"set --to 10.0.0.0/8 --loss 0.01", `--loss: "0.01" is not a percentage`},
		{"set --to 10.0.0.0/8 --rate 1g", `--rate: "1g" is not a rate`},
		{"set --to 10.0.0.0/8 --jitter 1ms", "jitter 1ms is larger than the delay 0"},
		{"set --to fd00::/8 --delay 1ms", `"fd00::/8" is not an IPv4 prefix`},
		{"set --to nowhere --delay 1ms", `"nowhere" is not an IPv4 prefix`},
		{"set --delay 1ms", `required flag(s) "to" not set`},
		{"set --dev eth9 --to 10.0.0.0/8 --delay 1ms", `find device "eth9"`},
		{"set --dev lo --to 10.0.0.0/8 --delay 1ms", "lo is no Ethernet device"},
		{"show", "no emulator runs on the device"},
	} {
		output, err := w.tryNetem(w.near, strings.Fields(bad.arguments)...)
		NewWithT(t).Expect(err).To(HaveOccurred(), bad.arguments)
		NewWithT(t).Expect(output).To(ContainSubstring(bad.message))
	}
}

func TestOnlyRootControls(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	w.shapeNear(t, "--delay", "5ms")
	// The program must be one that an ordinary user can run.
	g.Expect(os.Chmod(program[:strings.LastIndexByte(program, '/')], 0o755)).To(Succeed())
	command := exec.Command("ip", "netns", "exec", w.near, "setpriv", "--reuid=65534", "--clear-groups", program, "clear")
	output, err := command.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(output)).To(ContainSubstring("user 65534 may not control the emulator"))
	g.Expect(w.onlyClass(t).Rule.Delay).To(Equal(5 * time.Millisecond))
}
