// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

const inspectedNodes = `[
 {"Name":"/quincy-control-plane","State":{"Pid":77},"Config":{"Labels":{"io.x-k8s.kind.cluster":"quincy"}},"NetworkSettings":{"Networks":{"geosql-bed":{"IPAddress":"10.100.0.21"}}}},
 {"Name":"/other-control-plane","Config":{"Labels":{"io.x-k8s.kind.cluster":"other"}},"NetworkSettings":{"Networks":{}}},
 {"Name":"/dublin-control-plane","Config":{"Labels":{"io.x-k8s.kind.cluster":"dublin"}},"NetworkSettings":{"Networks":{"geosql-bed":{"IPAddress":"10.100.0.31"}}}}]`

func TestRunningNodes(t *testing.T) {
	g := NewWithT(t)
	run := func(_ context.Context, _ io.Reader, arguments ...string) ([]byte, error) {
		if arguments[0] == "ps" {
			return []byte("a\nb\nc\n"), nil
		}
		g.Expect(arguments).To(Equal([]string{"inspect", "a", "b", "c"}))
		return []byte(inspectedNodes), nil
	}
	nodes, err := RunningNodes(t.Context(), run, threeSites)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(nodes).To(HaveLen(2), "clusters that are no site of the bed are left alone")
	g.Expect(nodes[0]).To(Equal(node("dublin-control-plane", "dublin", "10.100.0.31")))
	g.Expect(nodes[1].process).To(Equal(77))

	none := func(context.Context, io.Reader, ...string) ([]byte, error) { return nil, nil }
	g.Expect(RunningNodes(t.Context(), none, threeSites)).To(BeEmpty())
	broken := func(context.Context, io.Reader, ...string) ([]byte, error) { return nil, errors.New("no engine") }
	_, err = RunningNodes(t.Context(), broken, threeSites)
	g.Expect(err).To(MatchError(ContainSubstring("list the sites' nodes: no engine")))
}

// localEngine stands in for the container engine: "exec" runs on this machine,
// with the programs of a directory before all others, and /usr/local/bin of a
// node is that directory.
type localEngine struct {
	directory string
	mu        sync.Mutex
	calls     []string
}

func (e *localEngine) run(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error) {
	e.mu.Lock()
	e.calls = append(e.calls, arguments[0])
	e.mu.Unlock()
	onNode := func(text string) string { return strings.ReplaceAll(text, "/usr/local/bin", e.directory) }
	if arguments[0] == "cp" {
		_, path, _ := strings.Cut(arguments[2], ":")
		text, err := os.ReadFile(arguments[1])
		if err != nil {
			return nil, err
		}
		return nil, os.WriteFile(onNode(path), text, 0o644)
	}
	words := arguments[1:]
	if words[0] == "--interactive" {
		words = words[1:]
	}
	words = words[1:]
	for i := range words {
		words[i] = onNode(words[i])
	}
	command := exec.CommandContext(
		ctx,
		"env",
		append([]string{"PATH=" + e.directory + ":" + os.Getenv("PATH")}, words...)...)
	command.Stdin = stdin
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("docker exec: %w: %s", err, exit.Stderr)
		}
	}
	return output, err
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestTheProgramIsBroughtToANodeThatDoesNotHaveIt(t *testing.T) {
	g := NewWithT(t)
	engine := &localEngine{directory: t.TempDir()}
	program := filepath.Join(t.TempDir(), "netem")
	// A netem that answers with what it was given.
	script(t, program, `
[ "$1" = stop ] && exit
[ "$1" = show ] && { echo "no emulator runs on the device" >&2; exit 1; }
echo "{\"pid\":0,\"scheduling\":\"fifo\",\"classes\":$(cat)}"`)
	script(t, filepath.Join(engine.directory, "unshare"), "exit 1")
	old := filepath.Join(engine.directory, "geosql-netem-0001")
	force := Force{Run: engine.run, Program: program, ProgramHash: "0002", Choice: Automatic}
	plan := Plan(threeSites, fourNodes[:1], DefaultMatrix(threeSites))

	script(t, old, `echo '{"classes":[{"name":"quincy"}]}'`)
	show := force.Show(t.Context(), threeSites, fourNodes[:1])
	g.Expect(Errors(show)).To(Succeed())
	g.Expect(show[0].Classes).To(HaveLen(1), "the emulator of an older build is asked")
	g.Expect(os.Remove(old)).To(Succeed())
	show = force.Show(t.Context(), threeSites, fourNodes[:1])
	g.Expect(Errors(show)).To(Succeed())
	g.Expect(show[0].Emulator).To(Equal(None))
	script(t, old, "exit 1")
	g.Expect(engine.calls).NotTo(ContainElement("cp"), "looking changes nothing")

	applied := force.Apply(t.Context(), threeSites, fourNodes[:1], plan)
	g.Expect(Errors(applied)).To(Succeed())
	g.Expect(applied[0].Emulator).To(Equal(UserSpace))
	g.Expect(applied[0].Classes).To(HaveLen(2))
	for i, class := range applied[0].Classes {
		g.Expect(class.Class).To(Equal(plan["dublin-control-plane"][i]))
	}
	g.Expect(old).NotTo(BeAnExistingFile(), "the program of an older build goes")
	g.Expect(force.Show(t.Context(), threeSites, fourNodes[:1])[0].Emulator).To(Equal(None))

	engine.calls = nil
	g.Expect(Errors(force.Apply(t.Context(), threeSites, fourNodes[:1], plan))).To(Succeed())
	g.Expect(engine.calls).To(Equal([]string{"exec"}), "one call suffices from then on")
	stopped := force.Apply(t.Context(), threeSites, fourNodes[:1], map[string][]emulator.Class{})
	g.Expect(stopped[0].Emulator).To(Equal(None))
}

func TestANodeThatFailsIsReported(t *testing.T) {
	engine := &localEngine{directory: t.TempDir()}
	program := filepath.Join(t.TempDir(), "netem")
	script(t, program, `echo "Error: find device \"eth0\"" >&2; exit 1`)
	force := Force{Run: engine.run, Program: program, ProgramHash: "1", Choice: UserSpace}
	statuses := force.Apply(
		t.Context(),
		threeSites,
		fourNodes[:1],
		Plan(threeSites, fourNodes[:1], DefaultMatrix(threeSites)),
	)
	NewWithT(
		t,
	).Expect(Errors(statuses)).
		To(MatchError(And(ContainSubstring("shape what leaves node dublin-control-plane"),
			ContainSubstring(`find device "eth0"`))))
}

func TestTheKernelsNetemIsUsedWhereItIs(t *testing.T) {
	g := NewWithT(t)
	engine := &localEngine{directory: t.TempDir()}
	log := filepath.Join(t.TempDir(), "log")
	// A kernel that has netem, as far as tc tells.
	script(t, filepath.Join(engine.directory, "unshare"), "exit 0")
	script(t, filepath.Join(engine.directory, "tc"), `echo "$*" >>`+log+`
case "$*" in
"-s -j qdisc show dev eth0") cat <<E
[{"kind":"htb","handle":"1:","root":true,"options":{"default":"0"}},
 {"kind":"netem","handle":"100:","parent":"1:10","options":{"limit":46875,"delay":{"delay":0.075,"jitter":0.0,"correlation":0},"rate":{"rate":125000000,"packetoverhead":0}},"packets":9,"drops":1,"qlen":2},
 {"kind":"netem","handle":"110:","parent":"1:11","options":{"limit":1000,"loss-random":{"loss":1,"correlation":0}},"packets":0,"drops":4,"qlen":0}]
E
esac`)
	force := Force{Run: engine.run, Program: "/nowhere", ProgramHash: "1", Choice: Automatic}
	asked := DefaultMatrix(threeSites)
	asked.Put(Link{From: "dublin", To: "quincy", Rule: shape.Rule{Delay: 73 * time.Millisecond}, Cut: true})
	statuses := force.Apply(t.Context(), threeSites, fourNodes[:1], Plan(threeSites, fourNodes[:1], asked))
	g.Expect(Errors(statuses)).To(Succeed())
	g.Expect(statuses[0].Emulator).To(Equal(Kernel))
	g.Expect(statuses[0].Classes[0].Counters).To(Equal(emulator.Counters{Sent: 9, Dropped: 1, Queued: 2}))
	for _, link := range Compare(threeSites, asked, statuses) {
		if link.From == "dublin" {
			g.Expect(link.Problem).To(BeEmpty())
		}
	}
	text, err := os.ReadFile(log)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).
		To(ContainSubstring("qdisc replace dev eth0 parent 1:10 handle 100: netem limit 56250 delay 75000us loss 0% rate " +
			"1000000000bit\n"))
	g.Expect(string(text)).
		To(ContainSubstring("qdisc replace dev eth0 parent 1:11 handle 110: netem limit 1000 delay 0us loss 100% " +
			"rate 0bit\n"))
}

// All but netem itself can be tried on a kernel without it: the same script
// with another queue in netem's place, on a device called eth0 of a network
// namespace.
func TestTheKernelScriptSortsTrafficIntoClasses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make a network namespace")
	}
	g := NewWithT(t)
	namespace := fmt.Sprintf("wan-test-%d", os.Getpid())
	sh := func(text string) string {
		command := exec.Command("sh", "-s")
		if strings.HasPrefix(text, "in ") {
			command = exec.Command("ip", "netns", "exec", namespace, "sh", "-s")
			text = strings.TrimPrefix(text, "in ")
		}
		command.Stdin = strings.NewReader(text)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", text, err, output)
		}
		return string(output)
	}
	sh("ip netns add " + namespace)
	t.Cleanup(func() { sh("ip netns del " + namespace) })
	sh(
		"in ip link add eth0 type veth peer name eth1 && ip addr add 10.9.0.1/8 dev eth0 && ip link set eth0 up && ip " +
			"link set eth1 up",
	)
	if command := exec.Command("ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", "eth1", "root", "handle",
		"1:", "htb"); command.Run() != nil {
		t.Skip("the kernel has no htb")
	}
	classes := Plan(threeSites, fourNodes, DefaultMatrix(threeSites))["tukwila-worker"]
	withFIFO := func(classes []emulator.Class) string {
		return "in " + strings.NewReplacer("netem limit", "pfifo limit", " delay", " # ").
			Replace(kernelScript(threeSites, classes))
	}
	sh(withFIFO(classes))
	sh(withFIFO(classes[:1]))
	sh(withFIFO(classes))
	filters := sh("in tc filter show dev eth0 parent 1:")
	g.Expect(strings.Count(filters, "flowid 1:11")).To(Equal(2), filters)
	g.Expect(strings.Count(filters, "flowid 1:12")).To(Equal(2), filters)
	sh(
		"in ip neigh add 10.103.0.7 lladdr 02:00:00:00:00:01 dev eth0; ip neigh add 10.104.0.7 lladdr 02:00:00:00:00:01 " +
			"dev eth0",
	)
	conn := "in exec 3<>/dev/udp/10.103.0.7/9; echo x >&3; exec 3<>/dev/udp/10.104.0.7/9; echo y >&3; echo z >&3"
	command := exec.Command("ip", "netns", "exec", namespace, "bash", "-c", strings.TrimPrefix(conn, "in "))
	output, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	statistics := sh("in tc -s qdisc show dev eth0")
	g.Expect(statistics).To(MatchRegexp(`pfifo 120: parent 1:12 [^\n]*\n Sent \d+ bytes 1 pkt`))
	sh(withFIFO(nil))
	g.Expect(sh("in tc qdisc show dev eth0")).NotTo(ContainSubstring("htb"))
}

func TestProcessOnHost(t *testing.T) {
	g := NewWithT(t)
	proc := t.TempDir()
	process := func(pid, namespace, numbers string) {
		g.Expect(os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755)).To(Succeed())
		g.Expect(os.Symlink("pid:["+namespace+"]", filepath.Join(proc, pid, "ns", "pid"))).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(proc, pid, "status"), []byte("Name:\tx\nNSpid:\t"+numbers+"\nThreads:\t1\n"),
			0o644)).
			To(Succeed())
	}
	process("100", "1", "100\t1")
	process("200", "2", "200\t1")
	process("205", "2", "205\t5")
	process("105", "1", "105\t5")
	g.Expect(os.WriteFile(filepath.Join(proc, "uptime"), nil, 0o644)).To(Succeed())
	g.Expect(processOnHost(proc, 100, 5)).To(Equal(105))
	g.Expect(processOnHost(proc, 200, 5)).To(Equal(205))
	g.Expect(processOnHost(proc, 200, 6)).To(BeZero())
	g.Expect(processOnHost(proc, 999, 5)).To(BeZero())
}

func TestParseEmulator(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ParseEmulator("")).To(Equal(Automatic))
	g.Expect(ParseEmulator("user-space")).To(Equal(UserSpace))
	_, err := ParseEmulator("tc")
	g.Expect(err).To(MatchError(ContainSubstring("use auto, kernel or user-space")))
}
