// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// A publisher that is its own distributor and a subscriber, in two network namespaces with a link between them that
// an emulator makes long and narrow: the program that GEOSQL_NETEM names.
const (
	wanPassword   = "Pr0cess-Under-Test"
	nearAddress   = "10.79.0.1"
	farAddress    = "10.79.0.2"
	wanPort       = "1433"
	window        = 16 << 20
	rowBytes      = 1 << 10
	bufferBytes   = 40 << 10
	rowsOfOne     = 10 // rows of a transaction
	wanStep       = 90 * time.Second
	publicationOf = "pub_"
)

// text is a row's but for the eight bytes of its key.
var text = strings.Repeat("0123456789abcdef", 64)[:rowBytes-8]

// far is one server in a namespace of its own.
type far struct {
	namespace, name, address string
	db                       *sql.DB
}

// inside runs do on a thread in the namespace; sockets that it opens belong there for good.
func inside(namespace string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so it ends with this goroutine.
		runtime.LockOSThread()
		file, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = do()
		}
		result <- err
	}()
	return <-result
}

// DialContext connects from within the namespace.
func (f *far) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	e := inside(f.namespace, func() error {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return nil
	})
	if e != nil {
		err = e
	}
	return c, err
}

// open connects to a database of the server from its own side of the link.
func (f *far) open(b *testing.B, database string) *sql.DB {
	u := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", wanPassword),
		Host:     net.JoinHostPort(f.address, wanPort),
		RawQuery: url.Values{"database": {database}, "encrypt": {"disable"}, "dial timeout": {"60"}}.Encode(),
	}
	c, err := mssql.NewConnector(u.String())
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	c.Dialer = f
	db := sql.OpenDB(c)
	b.Cleanup(func() { db.Close() })
	return db
}

func command(b *testing.B, name string, arguments ...string) {
	b.Helper()
	if out, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		b.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
}

// wan is the link and its two ends.
type wan struct {
	near, far *far
	netem     string
	// agents is how many jobs were made.
	agents int
}

// newWAN makes the namespaces and starts the servers, or skips the benchmark where that is impossible.
func newWAN(b *testing.B, y way) *wan {
	if os.Getuid() != 0 {
		b.Skip("needs root to make network namespaces")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		b.Skipf("needs /dev/net/tun: %v", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		b.Skip("needs the ip command (Debian package iproute2)")
	}
	netem := os.Getenv("GEOSQL_NETEM")
	if netem == "" {
		b.Skip("needs an emulator of links in GEOSQL_NETEM: make bench builds it")
	}
	w := &wan{near: &far{namespace: fmt.Sprintf("speed%da", os.Getpid()), name: "NEAR", address: nearAddress},
		far: &far{namespace: fmt.Sprintf("speed%db", os.Getpid()), name: "FAR", address: farAddress}, netem: netem}
	for _, f := range []*far{w.near, w.far} {
		command(b, "ip", "netns", "add", f.namespace)
		b.Cleanup(func() { _ = exec.Command("ip", "netns", "del", f.namespace).Run() })
	}
	command(
		b,
		"ip",
		"link",
		"add",
		"eth0",
		"netns",
		w.near.namespace,
		"type",
		"veth",
		"peer",
		"name",
		"eth0",
		"netns",
		w.far.namespace,
	)
	for _, f := range []*far{w.near, w.far} {
		command(b, "ip", "-n", f.namespace, "addr", "add", f.address+"/24", "dev", "eth0")
		command(b, "ip", "-n", f.namespace, "link", "set", "lo", "up")
		command(b, "ip", "-n", f.namespace, "link", "set", "eth0", "up")
		for file, text := range map[string]string{"tcp_wmem": fmt.Sprintf("4096 1048576 %d", 2*window),
			"tcp_rmem": fmt.Sprintf("4096 1048576 %d", 2*window), "tcp_slow_start_after_idle": "0"} {
			NewWithT(b).Expect(f.set(file, text)).To(Succeed())
		}
		f.congestion(b, y)
		f.start(b)
	}
	for _, f := range []*far{w.near, w.far} {
		b.Cleanup(func() { _ = exec.Command("ip", "netns", "exec", f.namespace, w.netem, "stop").Run() })
	}
	for _, f := range []*far{w.near, w.far} {
		other := w.far
		if f == w.far {
			other = w.near
		}
		_, err := f.db.Exec(
			`EXEC sp_addlinkedserver @server = @p1, @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = @p2`,
			other.name,
			other.address+","+wanPort,
		)
		NewWithT(b).Expect(err).NotTo(HaveOccurred())
	}
	return w
}

// set sets one of the namespace's parameters of TCP.
func (f *far) set(name, value string) error {
	return inside(f.namespace, func() error { return os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0) })
}

// congestion chooses CUBIC, Linux's own default, or where the kernel lets no namespace have it the one of the others
// that suits the way. BBR spreads each buffer of a sender that waits for answers over a part of the round trip more.
// Reno does not notice in time that a link is full: a stream fills the queue before it, and stands still until what was
// lost of that is there.
func (f *far) congestion(b *testing.B, y way) {
	second := "reno"
	if y.here {
		second = "bbr"
	}
	if f.set("tcp_congestion_control", "cubic") != nil {
		NewWithT(b).Expect(f.set("tcp_congestion_control", second)).To(Succeed())
	}
}

// start starts the server in its namespace.
func (f *far) start(b *testing.B) {
	// In memory where there is room: the link is measured, not the disk that others may be using.
	folder, err := os.MkdirTemp("/dev/shm", "speed")
	if err != nil {
		folder = b.TempDir()
	}
	b.Cleanup(func() { _ = os.RemoveAll(folder) })
	root := filepath.Join(folder, f.name)
	NewWithT(b).Expect(os.MkdirAll(root, 0o755)).To(Succeed())
	cmd := exec.Command("ip", "netns", "exec", f.namespace, binary, "--root", root, "--server-name", f.name)
	cmd.Env = []string{
		"ACCEPT_EULA=Y",
		"MSSQL_SA_PASSWORD=" + wanPassword,
		"MSSQL_TCP_PORT=" + wanPort,
		"MSSQL_IP_ADDRESS=" + f.address,
		"MSSQL_AGENT_ENABLED=true",
		"PATH=" + os.Getenv("PATH"),
	}
	out, err := os.Create(root + ".output")
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	cmd.Stdout, cmd.Stderr = out, out
	NewWithT(b).Expect(cmd.Start()).To(Succeed())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		out.Close()
		if text, err := os.ReadFile(root + ".output"); err == nil && b.Failed() {
			b.Log(string(text))
		}
	})
	f.db = f.open(b, "master")
	NewWithT(b).Eventually(func() error { return f.db.Ping() }, wanStep, "100ms").Should(Succeed())
}

// shape makes the link's round trip and rate; no rate is a link as it is.
func (w *wan) shape(b *testing.B, rtt time.Duration, rate string) {
	for _, f := range []*far{w.near, w.far} {
		to := farAddress
		if f == w.far {
			to = nearAddress
		}
		if rate == "" {
			_ = exec.Command("ip", "netns", "exec", f.namespace, w.netem, "clear", "--to", to).Run() // there may be no rule yet
			continue
		}
		command(
			b,
			"ip",
			"netns",
			"exec",
			f.namespace,
			w.netem,
			"set",
			"--dev",
			"eth0",
			"--to",
			to,
			"--delay",
			(rtt / 2).String(),
			"--rate",
			rate,
		)
	}
}

// way is where the subscription and its agent are.
type way struct {
	name string
	kind int
	// here tells whether the agent runs at the subscriber.
	here bool
}

var ways = []way{{"push", 0, false}, {"push, agent at the subscriber", 0, true}, {"pull", 1, true}}

func (y way) table() string { return fmt.Sprintf("t%d%v", y.kind, y.here) }

func run(b *testing.B, db *sql.DB, text string, arguments ...any) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wanStep)
	defer cancel()
	if _, err := db.ExecContext(ctx, text, arguments...); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
}

func number(b *testing.B, db *sql.DB, text string, arguments ...any) int64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wanStep)
	defer cancel()
	var n int64
	if err := db.QueryRowContext(ctx, text, arguments...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
	return n
}

// job makes a job with one step of an agent.
func job(b *testing.B, db *sql.DB, name, subsystem, text string) {
	run(
		b,
		db,
		`EXEC msdb.dbo.sp_add_job @job_name = @p1; EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Run agent.', @subsystem = @p2, @command = @p3;
		EXEC msdb.dbo.sp_add_jobserver @job_name = @p1`,
		name,
		subsystem,
		text,
	)
}

func login(role string) string {
	return fmt.Sprintf("-%[1]sSecurityMode 0 -%[1]sLogin [sa] -%[1]sPassword [%[2]s] ", role, wanPassword)
}

// publish sets up replication over the link.
func (w *wan) publish(b *testing.B, y way) (source, target *sql.DB) {
	near, subscriber := w.near.db, w.far.db
	run(b, near, `EXEC sp_adddistributor @distributor = N'NEAR', @password = N'Distr1bute-Me'`)
	run(b, near, `EXEC sp_adddistributiondb @database = N'distribution'`)
	run(
		b,
		near,
		`EXEC sp_adddistpublisher @publisher = N'NEAR', @distribution_db = N'distribution', @security_mode = 0, @login = N'sa', @password = @p1, @working_directory = @p2`,
		wanPassword,
		b.TempDir(),
	)
	// What was delivered is counted while it is there.
	run(b, near, `EXEC msdb.dbo.sp_update_job @job_name = N'Distribution clean up: distribution', @enabled = 0`)
	run(b, near, `CREATE DATABASE shop`)
	run(b, subscriber, `CREATE DATABASE shop`)
	source, target = w.near.open(b, "shop"), w.far.open(b, "shop")
	run(b, near, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
	job(
		b,
		near,
		"logreader",
		"LogReader",
		"-Publisher [NEAR] -PublisherDB [shop] -Distributor [NEAR] "+login("Distributor")+login("Publisher"),
	)
	run(
		b,
		source,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @job_name = N'logreader'`,
		wanPassword,
	)
	const definition = ` (id bigint NOT NULL PRIMARY KEY, v varchar(1016) NOT NULL)`
	run(b, source, `CREATE TABLE dbo.`+y.table()+definition)
	run(b, target, `CREATE TABLE dbo.`+y.table()+definition)
	publication := publicationOf + y.table()
	run(
		b,
		source,
		`EXEC sp_addpublication @publication = @p1, @status = N'active', @allow_push = N'true', @allow_pull = N'true', @independent_agent = N'true', @repl_freq = N'continuous', @immediate_sync = N'false'`,
		publication,
	)
	run(
		b,
		source,
		`EXEC sp_addarticle @publication = @p1, @article = @p2, @source_owner = N'dbo', @source_object = @p2, @ins_cmd = N'SQL', @upd_cmd = N'SQL', @del_cmd = N'SQL'`,
		publication,
		y.table(),
	)
	kind := map[int]string{0: "push", 1: "pull"}[y.kind]
	run(
		b,
		source,
		`EXEC sp_addsubscription @publication = @p1, @subscriber = N'FAR', @destination_db = N'shop', @subscription_type = @p2, @sync_type = N'replication support only', @article = N'all'`,
		publication,
		kind,
	)
	if y.kind == 1 {
		run(
			b,
			target,
			`EXEC sp_addpullsubscription @publisher = N'NEAR', @publisher_db = N'shop', @publication = @p1, @subscription_type = N'pull'`,
			publication,
		)
	}
	return source, target
}

// agent makes the job of an agent of a way with a number of streams, and returns its name and where it is. It commits
// each buffer, so that what arrives can be seen.
func (w *wan) agent(b *testing.B, y way, streams int) (string, *sql.DB) {
	at := w.near.db
	if y.here {
		at = w.far.db
	}
	w.agents++
	name := fmt.Sprintf("agent %d", w.agents)
	job(
		b,
		at,
		name,
		"Distribution",
		fmt.Sprintf(
			"-Publisher [NEAR] -PublisherDB [shop] -Publication [%s] -Distributor [NEAR] %s-Subscriber [FAR] -SubscriberDB "+
				"[shop] %s-SubscriptionType %d -SubscriptionStreams %d -CommitBatchSize %d -EncryptionLevel 0",
			publicationOf+y.table(),
			login("Distributor"),
			login("Subscriber"),
			y.kind,
			streams,
			bufferBytes/rowBytes/rowsOfOne,
		),
	)
	return name, at
}

// fill inserts rows and waits until the distributor has them.
func (w *wan) fill(b *testing.B, source *sql.DB, y way, rows int64) {
	// A command that is longer than its column lies there in parts.
	const commands = `SELECT COUNT(*) FROM distribution.dbo.MSrepl_commands WHERE partial_command = 0`
	before := number(b, w.near.db, commands)
	var values strings.Builder
	for i := range rowsOfOne {
		if i > 0 {
			values.WriteByte(',')
		}
		fmt.Fprintf(&values, "(@p1 + %d, @p2)", i)
	}
	first := number(b, source, `SELECT COALESCE(MAX(id), 0) FROM dbo.`+y.table())
	for n := int64(0); n < rows; n += rowsOfOne {
		run(b, source, `INSERT INTO dbo.`+y.table()+` VALUES `+values.String(), first+n+1, text)
	}
	NewWithT(b).Eventually(func() int64 {
		_, _ = w.near.db.Exec(`EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`) // it may still run
		return number(b, w.near.db, commands) - before
	}, wanStep, "200ms").Should(BeNumerically(">=", rows))
}

// deliver starts an agent and measures from the first eighth of the rows to the last: rows per second. Before it,
// streams connect, and senders of TCP find out what the link carries.
func (w *wan) deliver(b *testing.B, target *sql.DB, y way, streams int, rows int64) float64 {
	name, at := w.agent(b, y, streams)
	before := number(b, target, `SELECT COALESCE(MAX(id), 0) FROM dbo.`+y.table())
	run(b, at, `EXEC msdb.dbo.sp_start_job @job_name = @p1`, name)
	var started time.Time
	first, deadline := int64(0), time.Now().Add(wanStep)
	for {
		// They arrive in order; to count them each time would take the longer the more there are.
		n := number(b, target, `SELECT COALESCE(MAX(id), 0) FROM dbo.`+y.table()) - before
		switch {
		case n >= rows/8 && first == 0:
			first, started = n, time.Now()
		case n >= rows:
			took := time.Since(started)
			NewWithT(
				b,
			).Expect(number(b, target, `SELECT COUNT(*) FROM dbo.`+y.table()+` WHERE id > @p1`, before)).
				To(Equal(rows))
			NewWithT(b).Eventually(func() int64 {
				return number(
					b,
					at,
					`SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name LIKE N'Replication Distribution%'`,
				)
			}, wanStep, "50ms").Should(BeZero())
			return float64(rows-first) / took.Seconds()
		case time.Now().After(deadline):
			b.Fatalf("%d of %d rows arrived by %s", n, rows, name)
		}
		// A look costs time that the agent needs.
		<-time.After(20 * time.Millisecond)
	}
}

// limit is what the link allows, in rows per second: for push with one round trip for each buffer, divided by the
// streams; for an agent at the subscriber what bandwidth, window and applying allow.
func limit(y way, streams int, rtt time.Duration, bandwidth, apply float64) float64 {
	if !y.here {
		perBuffer := float64(bufferBytes) / rowBytes
		time := rtt.Seconds() + bufferBytes/bandwidth + perBuffer/apply
		return min(perBuffer/time*float64(streams), bandwidth/rowBytes, apply)
	}
	return min(bandwidth/rowBytes, window/(rtt.Seconds()*rowBytes), apply)
}

// roundTrip is the shortest of some round trips from near to far, from a statement to its answer.
func (w *wan) roundTrip(b *testing.B) time.Duration {
	across := &far{namespace: w.near.namespace, address: w.far.address}
	db := across.open(b, "master")
	db.SetMaxOpenConns(1)
	best := time.Hour
	for range 5 {
		started := time.Now()
		run(b, db, `SELECT 1`)
		best = min(best, time.Since(started))
	}
	return best
}

// traffic is what the near side has sent over the link so far: bytes, and segments of TCP that it sent again.
func (w *wan) traffic(b *testing.B) (sent, resent int64) {
	var device, protocols []byte
	NewWithT(b).Expect(inside(w.near.namespace, func() (err error) {
		if device, err = os.ReadFile("/proc/thread-self/net/dev"); err == nil {
			protocols, err = os.ReadFile("/proc/thread-self/net/snmp")
		}
		return err
	})).To(Succeed())
	// Of eth0, eight numbers are about what it received and the ninth is the bytes sent; of Tcp, the twelfth is
	// RetransSegs.
	_, numbers, _ := strings.Cut(string(device), "eth0:")
	sent, err := strconv.ParseInt(strings.Fields(numbers)[8], 10, 64)
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(string(protocols), "\nTcp: ")
	resent, err = strconv.ParseInt(strings.Fields(lines[len(lines)-1])[11], 10, 64)
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	return sent, resent
}

// links are the round trips and rates that the table has.
var links = []struct {
	rtt  time.Duration
	rate string
	bits float64
}{
	{77 * time.Millisecond, "100mbit", 100e6}, {77 * time.Millisecond, "1gbit", 1e9},
	{150 * time.Millisecond, "100mbit", 100e6}, {150 * time.Millisecond, "1gbit", 1e9},
}

// BenchmarkWAN delivers rows of 1 KB over a link, as docs/engine.md has it in a table. Applying (A) is measured before,
// with the same agents over a link without delay.
func BenchmarkWAN(b *testing.B) {
	fmt.Println("| way | streams | round trip (measured) | rate | rows/s | limit | ratio |")
	for _, y := range ways {
		for _, streams := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%s/%d", y.name, streams), func(b *testing.B) { overLinks(b, y, streams) })
		}
	}
}

// overLinks measures one way with a number of streams, with servers of its own: no other's rows are in memory then.
func overLinks(b *testing.B, y way, streams int) {
	w := newWAN(b, y)
	source, target := w.publish(b, y)
	w.shape(b, 0, "")
	const rows = 60000 // some seconds, and each stream prepares its statements first
	w.fill(b, source, y, rows)
	apply := w.deliver(b, target, y, streams, rows)
	fmt.Printf("| %s | %d | none | none | %.0f | | |\n", y.name, streams, apply)
	for _, l := range links {
		b.Run(fmt.Sprintf("%v/%s", l.rtt, l.rate), func(b *testing.B) {
			w.shape(b, l.rtt, l.rate)
			measured := w.roundTrip(b).Round(time.Millisecond)
			allowed := limit(y, streams, l.rtt, l.bits/8, apply)
			// About eight seconds of it.
			rows := int64(min(80000, max(1000, 8*allowed))) / rowsOfOne * rowsOfOne
			w.fill(b, source, y, rows)
			sent, resent := w.traffic(b)
			got := w.deliver(b, target, y, streams, rows)
			sentSince, resentSince := w.traffic(b)
			b.ReportMetric(got, "rows/s")
			b.ReportMetric(float64(sentSince-sent)/float64(rows), "B/row")
			b.ReportMetric(float64(resentSince-resent), "resent")
			fmt.Printf(
				"| %s | %d | %v (%v) | %s | %.0f | %.0f | %.2f |\n",
				y.name,
				streams,
				l.rtt,
				measured,
				l.rate,
				got,
				allowed,
				got/allowed,
			)
		})
	}
}
