// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// trusted makes a certificate for 127.0.0.1 and gives the file that a client may verify it with.
func trusted(t *testing.T) (*tls.Config, string) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "ca.pem")
	g.Expect(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)).To(Succeed())
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

func TestLogin(t *testing.T) {
	cases := map[string]struct {
		options    string
		encryption tds.Encryption
		encrypted  bool
	}{
		"login encrypted":    {"encrypt=false", tds.EncryptionOptional, false},
		"all encrypted":      {"encrypt=true", tds.EncryptionOptional, true},
		"nothing encrypted":  {"encrypt=disable", tds.EncryptionOptional, false},
		"server demands":     {"encrypt=false", tds.EncryptionRequired, true},
		"server has none":    {"encrypt=disable", tds.EncryptionUnsupported, false},
		"TDS 8.0":            {"encrypt=strict", tds.EncryptionOptional, true},
		"smallest packets":   {"encrypt=disable&packet+size=512", tds.EncryptionOptional, false},
		"largest packets":    {"encrypt=true&packet+size=32767", tds.EncryptionOptional, true},
		"initial database":   {"encrypt=false&database=sales", tds.EncryptionOptional, false},
		"read intent":        {"encrypt=false&database=sales&ApplicationIntent=ReadOnly", tds.EncryptionOptional, false},
		"client application": {"encrypt=false&app+name=contract", tds.EncryptionOptional, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			certificate, file := trusted(t)
			backend, address := serve(t, func(cfg *tds.Config) { cfg.Encryption, cfg.TLS = c.encryption, certificate })
			options := c.options
			if strings.Contains(options, "strict") {
				options += "&certificate=" + file
			}
			db := open(t, address, options)
			g.Expect(db.Ping()).To(Succeed())
			got := backend.lastLogin()
			g.Expect(got.User).To(Equal("sa"))
			g.Expect(got.Encrypted).To(Equal(c.encrypted))
			g.Expect(got.ReadOnlyIntent).To(Equal(strings.Contains(c.options, "ReadOnly")))
			if strings.Contains(c.options, "database=") {
				g.Expect(got.Database).To(Equal("sales"))
			}
			if strings.Contains(c.options, "app+name") {
				g.Expect(got.AppName).To(Equal("contract"))
			}
			var n, sum int
			rows, err := db.Query("rows 5000")
			g.Expect(err).NotTo(HaveOccurred())
			for rows.Next() {
				var i int
				var filler string
				g.Expect(rows.Scan(&i, &filler)).To(Succeed())
				n, sum = n+1, sum+i
			}
			g.Expect(rows.Err()).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(5000))
			g.Expect(sum).To(Equal(4999 * 5000 / 2))
		})
	}
}

func TestEncryptionThatCannotBeAgreedOnEndsTheConnection(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.Encryption = tds.EncryptionRequired })
	g.Expect(open(t, address, "encrypt=disable").Ping()).NotTo(Succeed())
	certificate, file := trusted(t)
	_, address = serve(t, func(cfg *tds.Config) { cfg.Strict, cfg.TLS = true, certificate })
	g.Expect(open(t, address, "encrypt=true").Ping()).NotTo(Succeed())
	g.Expect(open(t, address, "encrypt=strict&certificate="+file).Ping()).To(Succeed())
}

func TestFailedLogin(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.FailedLoginDelay = 200 * time.Millisecond })
	db, err := sql.Open("sqlserver", "sqlserver://sa:wrong@"+address+"?encrypt=false&TrustServerCertificate=true")
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	start := time.Now()
	err = db.Ping()
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(18456)))
	g.Expect(e.Class).To(Equal(uint8(14)))
	g.Expect(time.Since(start)).To(BeNumerically(">=", 200*time.Millisecond))
	err = open(t, address, "encrypt=false&database=nowhere").Ping()
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.All).To(HaveLen(2))
	g.Expect(e.All[0].Number).To(Equal(int32(4060)))
}

// A client that waits until its database may be used again is not made to wait for each answer.
func TestOnlyAWrongPasswordIsAnsweredLate(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.FailedLoginDelay = time.Hour })
	db := open(t, address, "encrypt=false&database=nowhere")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var e mssql.Error
	g.Expect(errors.As(db.PingContext(ctx), &e)).To(BeTrue())
	g.Expect(e.Number).To(BeElementOf(int32(4060), int32(18456)))
}

func TestBatchResults(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	rows, err := db.Query("twice over")
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 2 {
		g.Expect(rows.Next()).To(BeTrue())
		var got int
		g.Expect(rows.Scan(&got)).To(Succeed())
		g.Expect(got).To(Equal(i))
		g.Expect(rows.Next()).To(BeFalse())
		g.Expect(rows.NextResultSet()).To(Equal(i == 0))
	}
	g.Expect(rows.Close()).To(Succeed())
	result, err := db.Exec("count 5000000000")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RowsAffected()).To(Equal(int64(5000000000)))
}

func TestErrorsHaveNumberSeverityStateProcedureAndLine(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	_, err := db.Exec("fail 16")
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e).To(HaveField("Number", int32(50001)))
	g.Expect(e).To(HaveField("Class", uint8(16)))
	g.Expect(e).To(HaveField("State", uint8(7)))
	g.Expect(e).To(HaveField("Message", "it failed: ü😀"))
	g.Expect(e).To(HaveField("ServerName", "ECHO"))
	g.Expect(e).To(HaveField("ProcName", "proc"))
	g.Expect(e).To(HaveField("LineNo", int32(42)))
	_, err = db.Exec("fail 10")
	g.Expect(err).NotTo(HaveOccurred(), "informational messages are no errors")
	g.Expect(db.Ping()).To(Succeed())
}

func TestFatalErrorEndsTheConnection(t *testing.T) {
	for _, batch := range []string{"fail 20", "panic now"} {
		t.Run(batch, func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t)
			db := open(t, address, "encrypt=false")
			rows, err := db.Query(batch)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
			}
			g.Expect(err).To(HaveOccurred())
			g.Eventually(func() bool { return backend.session(0).closed.Load() }, 60*time.Second).Should(BeTrue())
			g.Expect(db.Ping()).To(Succeed(), "the server goes on")
		})
	}
}

// A value that does not fit its column's type is a defect of who sends it: the statement fails, and the connection
// answers the next one.
func TestRowsThatCannotBeSentFailTheStatement(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	db := open(t, address, "encrypt=false")
	rows, err := db.Query("unsendable row")
	g.Expect(err).NotTo(HaveOccurred())
	for rows.Next() {
	}
	var e mssql.Error
	g.Expect(errors.As(rows.Err(), &e)).To(BeTrue(), "%v", rows.Err())
	g.Expect(e.Number).To(Equal(int32(565)))
	g.Expect(rows.Close()).To(Succeed())
	_, err = db.Exec("count 1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(backend.session(0).closed.Load()).To(BeFalse())
}

// An output parameter that does not fit its type fails its call in the same way.
func TestOutputParametersThatCannotBeSentFailTheCall(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	db := open(t, address, "encrypt=false")
	g.Expect(db.Ping()).To(Succeed())
	var n int64
	for _, value := range []any{int64(5), "not a number", int64(6)} {
		backend.session(0).answer = &tds.Param{Name: "@n", Type: intType, Value: value}
		_, err := db.Exec("output", sql.Named("n", sql.Out{Dest: &n}))
		if number, fits := value.(int64); fits {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(number))
			continue
		}
		var e mssql.Error
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		g.Expect(e.Number).To(Equal(int32(565)))
		g.Expect(n).To(Equal(int64(5)))
	}
	g.Expect(backend.session(0).closed.Load()).To(BeFalse())
}

func TestTransactions(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	db := open(t, address, "encrypt=false")
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(backend.session(0).isolation).To(Equal(byte(4)))
	_, err = tx.Exec("count 1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.Commit()).To(Succeed())
	g.Expect(backend.session(0).transaction).To(BeZero())

	tx, err = db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.Rollback()).To(Succeed())
	g.Expect(backend.session(0).transaction).To(BeZero())

	// A transaction that a batch begins reaches the client as ENVCHANGE: the driver must send its descriptor.
	conn, err := db.Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	for _, batch := range []string{"begin tran", "count 1", "commit tran", "count 1"} {
		_, err = conn.ExecContext(context.Background(), batch)
		g.Expect(err).NotTo(HaveOccurred(), batch)
	}

	// The session loses its transaction behind the client's back.
	_, err = conn.ExecContext(context.Background(), "begin tran")
	g.Expect(err).NotTo(HaveOccurred())
	backend.session(0).transaction = 0
	_, err = conn.ExecContext(context.Background(), "count 1")
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(3989)))
}

func TestAttentionCancelsTheStatement(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	db := open(t, address, "encrypt=false")
	// The driver may open a new connection after a cancellation.
	sum := func(counter func(*echoSession) int32) (n int32) {
		for i := range backend.count() {
			n += counter(backend.session(i))
		}
		return n
	}
	executed := func() int32 { return sum(func(s *echoSession) int32 { return s.executed.Load() }) }
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		before, done := executed(), make(chan error)
		go func() {
			_, err := db.ExecContext(ctx, "wait on")
			done <- err
		}()
		g.Eventually(executed, time.Minute).Should(BeNumerically(">", before))
		cancel()
		g.Eventually(done, time.Minute).Should(Receive(MatchError(context.Canceled)))
		g.Expect(db.Ping()).To(Succeed())
	}
	g.Expect(sum(func(s *echoSession) int32 { return s.cancelled.Load() })).To(Equal(int32(3)))

	ctx, cancel := context.WithCancel(context.Background())
	rows, err := db.QueryContext(ctx, "rows 100000000")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows.Next()).To(BeTrue())
	cancel()
	for rows.Next() {
	}
	g.Expect(rows.Err()).To(MatchError(context.Canceled))
	rows.Close()
	g.Expect(db.Ping()).To(Succeed())
}

func TestDisconnectCancelsTheStatement(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("wait")...))
	g.Eventually(func() int32 { return backend.session(0).executed.Load() }, 60*time.Second).Should(Equal(int32(1)))
	c.Close()
	g.Eventually(func() bool { return backend.session(0).closed.Load() }, 60*time.Second).Should(BeTrue())
	g.Expect(backend.session(0).cancelled.Load()).To(Equal(int32(1)))
}

func TestPooledConnectionIsReset(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	db := open(t, address, "encrypt=false")
	for range 3 {
		conn, err := db.Conn(context.Background())
		g.Expect(err).NotTo(HaveOccurred())
		_, err = conn.ExecContext(context.Background(), "count 1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conn.Close()).To(Succeed())
	}
	g.Expect(backend.session(0).resets.Load()).To(Equal(int32(3)), "the driver resets a new connection, too")
}

func TestProcedureCall(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	var status mssql.ReturnStatus
	out, in := "in and out", int64(5)
	_, err := db.Exec("myproc", sql.Named("text", sql.Out{Dest: &out, In: true}), sql.Named("number", in), &status)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(int32(status)).To(Equal(int32(7)))
	g.Expect(out).To(Equal("in and out"))
	_, err = db.Exec("missing", sql.Named("number", in))
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(2812)))
	g.Expect(db.Ping()).To(Succeed())
}

func TestBulkLoad(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("INSERT BULK t ([n] int, [s] nvarchar(100))")...))
	c.reply(t)
	body := []byte{0x81, 2, 0}
	body = append(body, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0)
	body = append(body, 0, 0, 0, 0, 1, 0, 0xE7, 200, 0, 9, 4, 0xD0, 0, 0x34, 1, 's', 0)
	for i := range 1000 {
		body = append(body, 0xD1, 4, byte(i), byte(i>>8), 0, 0, 4, 0, 'x', 0, 0xE4, 0)
	}
	body = append(body, 0xD2, 0x02, 4, 9, 0, 0, 0) // the second column is NULL
	body = append(body, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	c.send(t, packetBulk, body)
	reply := c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0xFD)))
	g.Expect(reply[1] & 0x10).NotTo(BeZero())
	g.Expect(reply[5:7]).To(Equal([]byte{0xE9, 0x03}))
	rows := backend.session(0).rows
	g.Expect(rows).To(HaveLen(1001))
	g.Expect(rows[300]).To(Equal([]any{int64(300), "xä"}))
	g.Expect(rows[1000]).To(Equal([]any{int64(9), nil}))

	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("INSERT BULK refuse ([n] int, [s] nvarchar(100))")...))
	c.reply(t)
	c.send(t, packetBulk, body)
	reply = c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0xAA)), "an error")
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
	g.Expect(c.reply(t)[0]).To(Equal(byte(0xFD)), "the connection goes on")
}

func TestLimits(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) {
		cfg.MaxRequest, cfg.MaxConnections = 100_000, 1
	})
	db := open(t, address, "encrypt=false")
	_, err := db.Exec("select " + strings.Repeat("x", 100_000))
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(701)))
	g.Expect(db.Ping()).To(Succeed(), "the connection goes on")

	err = open(t, address, "encrypt=false").Ping()
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(17809)))
}

func TestSilenceBeforeLoginIsEnded(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.LoginTimeout = 300 * time.Millisecond })
	g.Expect(dial(t, address).ended(60 * time.Second)).To(Succeed())
}

// TestSilentConnectionsKeepNobodyOut fills the places for logins with connections that say nothing.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.MaxLogins, cfg.LoginTimeout = 2, 5*time.Minute })
	var silent []*rawConn
	for range 6 {
		silent = append(silent, dial(t, address))
	}
	for _, c := range silent[:4] {
		g.Expect(c.ended(60*time.Second)).To(Succeed(), "no more than two wait at a time")
	}
	g.Expect(open(t, address, "encrypt=false").Ping()).To(Succeed())
	g.Expect(silent[4].ended(60*time.Second)).To(Succeed(), "the oldest makes room")
}

// TestFreeTDS uses every version that tsql has.
func TestFreeTDS(t *testing.T) {
	program, err := exec.LookPath("tsql")
	if err != nil {
		if os.Getenv("GEOSQL_REQUIRE_TSQL") == "1" {
			t.Fatal("tsql is required and not installed: apt-get install freetds-bin")
		}
		t.Skip("tsql is not installed (Debian package freetds-bin)")
	}
	for _, version := range []string{"7.0", "7.1", "7.2", "7.3", "7.4"} {
		t.Run(version, func(t *testing.T) { runTSQL(t, program, version) })
	}
}

func runTSQL(t *testing.T, program, version string) {
	g := NewWithT(t)
	backend, address := serve(t)
	host, port, _ := strings.Cut(address, ":")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-H", host, "-p", port, "-U", "sa", "-P", "Passw0rd!é", "-J", "UTF-8")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TDSVER="+version)
	cmd.Stdin = strings.NewReader("select grüße\ngo\nfail 16\ngo\nexit\n")
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	g.Expect(string(out)).To(ContainSubstring("grüße"))
	g.Expect(string(out)).To(ContainSubstring("Msg 50001 (severity 16, state 7) from ECHO"))
	g.Expect(string(out)).To(ContainSubstring("Line 42"))
	g.Expect(backend.lastLogin().User).To(Equal("sa"))
}
