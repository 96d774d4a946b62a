// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// token is one of DONE, DONEPROC, DONEINPROC, RETURNSTATUS and ERROR in a response, with a DONE's status or an error's
// number.
type token struct {
	kind   byte
	status uint32
}

// tokens reads a response that has no result sets and no output parameters ([MS-TDS] 2.2.7).
func tokens(t *testing.T, b []byte) []token {
	t.Helper()
	var out []token
	for len(b) > 0 {
		switch kind := b[0]; kind {
		case 0xFD, 0xFE, 0xFF:
			out = append(out, token{kind, uint32(binary.LittleEndian.Uint16(b[1:]))})
			b = b[13:]
		case 0x79:
			out = append(out, token{kind, binary.LittleEndian.Uint32(b[1:])})
			b = b[5:]
		case 0xAA, 0xAB, 0xE3:
			if kind == 0xAA {
				out = append(out, token{kind, binary.LittleEndian.Uint32(b[3:])})
			}
			b = b[3+int(binary.LittleEndian.Uint16(b[1:])):]
		default:
			t.Fatalf("token 0x%02X in % x", kind, b)
		}
	}
	return out
}

// execute is a call of sp_executesql by its number.
func execute(text string, parameters ...[]byte) []byte {
	return call(10, append([][]byte{parameter("", 0, text)}, parameters...)...)
}

// The DONEPROC of each call but the last says that others of its message follow ([MS-TDS] 2.2.7.8, DONE_RPCINBATCH).
func TestCallsOfOneMessage(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(
		t,
		packetRPC,
		bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFF}, execute("fail 16"), {0xFF}, execute("count 3")}, nil),
	)
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{
		{0xFF, 0x11}, {0x79, 0}, {0xFE, 0x81},
		{0xAA, 50001}, {0xFF, 0x03}, {0x79, 0}, {0xFE, 0x81},
		{0xFF, 0x11}, {0x79, 0}, {0xFE, 0},
	}))
	// A separator behind the last one is passed over.
	c.send(t, packetRPC, bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFF}}, nil))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xFF, 0x11}, {0x79, 0}, {0xFE, 0}}))
}

// A call that is followed by NoExecFlag is not executed ([MS-TDS] 2.2.6.6).
func TestCallThatIsNotToBeExecuted(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetRPC, bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFE}, execute("count 3")}, nil))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xFE, 0x81}, {0xFF, 0x11}, {0x79, 0}, {0xFE, 0}}))
	g.Expect(backend.session(0).executed.Load()).
		To(BeEquivalentTo(2), "one statement, which the session counts as a batch, too")
}

// A parameter's name may have 128 characters: its length is no separator of calls, which 0x80 was before TDS 7.2
// ([MS-TDS] 2.2.6.6, BatchFlag).
func TestLongestNameOfAParameter(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	name := "@" + strings.Repeat("n", 127)
	c.send(
		t,
		packetRPC,
		append(allHeaders(0), execute("echo", parameter("@params", 0, name+" int"), parameter(name, 0, int32(5)))...),
	)
	reply := c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0x81)), "% x", reply)
	g.Expect(backend.session(0).executed.Load()).To(BeEquivalentTo(1))
	// One more is no identifier.
	c.send(
		t,
		packetRPC,
		append(allHeaders(0), execute("echo", parameter("@params", 0, name+"n int"), parameter(name+"n", 0, int32(5)))...),
	)
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xAA, 8005}, {0xFD, 2}}))
}

// tableValue is a table-valued parameter of so many columns of type tinyint, NULL in every row ([MS-TDS] 2.2.5.5.5).
func tableValue(database, schema, name string, columns, rows int, flags byte) []byte {
	b := []byte{0, 0, 0xF3}
	for _, part := range []string{database, schema, name} {
		b = append(append(b, byte(len(part))), utf16Bytes(part)...)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(columns))
	for range columns {
		b = append(b, 0, 0, 0, 0, 0, flags, 0x26, 1, 0)
	}
	row := append([]byte{1}, make([]byte, columns)...)
	if flags&2 != 0 {
		row = row[:1]
	}
	return append(append(append(b, 0), bytes.Repeat(row, rows)...), 0)
}

func named(name string, parameters ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(name)))
	return append(append(append(b, utf16Bytes(name)...), 0, 0), bytes.Join(parameters, nil)...)
}

// The rows of a table-valued parameter take more memory than their bytes: they count, too, and those that a client
// leaves to their defaults take none.
func TestRowsOfATableAreCounted(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.MaxRequests = 1 << 20 })
	c := dial(t, address)
	c.login(t)
	for _, step := range []struct {
		columns, rows int
		flags         byte
		want          uint32
	}{{200, 3000, 0, 701}, {200, 100, 0, 2812}, {200, 3000, 0, 701}, {1024, 20000, 2, 2812}, {1024, 60000, 2, 701}} {
		c.send(
			t,
			packetRPC,
			append(allHeaders(0), named("missing", tableValue("", "dbo", "rows", step.columns, step.rows, step.flags))...),
		)
		g.Expect(tokens(t, c.reply(t))[0]).To(Equal(token{0xAA, step.want}), "%d rows of %d columns", step.rows, step.columns)
	}
}

// A table-valued parameter names its type by schema and name alone, and is neither an output parameter nor, when it has
// columns, a default ([MS-TDS] 2.2.5.5.5.3, 2.2.6.6).
func TestTableIsNamedBySchema(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	for _, step := range []struct {
		value []byte
		want  uint32
	}{
		{tableValue("", "dbo", "rows", 1, 1, 0), 2812},
		{tableValue("sales", "dbo", "rows", 1, 1, 0), 8047},
		{append([]byte{0, 1}, tableValue("", "dbo", "rows", 1, 1, 0)[2:]...), 8006},
		{append([]byte{0, 2}, tableValue("", "dbo", "rows", 1, 1, 0)[2:]...), 8006},
		{append([]byte{0, 2}, tableValue("", "dbo", "rows", 0, 0, 0)[2:]...), 2812},
	} {
		c := dial(t, address)
		c.login(t)
		c.send(t, packetRPC, append(allHeaders(0), named("missing", step.value)...))
		g.Expect(tokens(t, c.reply(t))[0]).To(Equal(token{0xAA, step.want}))
	}
}

// mssql-jdbc sends a uniqueidentifier that is NULL with a size of 0, and a column of decimals of a table in which all
// are NULL without digits.
func TestNullsOfTypesWithoutSize(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	table := append(tableValue("", "dbo", "rows", 0, 0, 0)[:20], 1, 0, 0, 0, 0, 0, 0, 0, 0x6A, 17, 0, 0, 0, 0, 1, 0, 0)
	for _, value := range [][]byte{{0, 0, 0x24, 0, 0}, table} {
		c.send(t, packetRPC, append(allHeaders(0), named("missing", value)...))
		g.Expect(tokens(t, c.reply(t))[0]).To(Equal(token{0xAA, 2812}), "% x", value)
	}
}

// A request that asks for both kinds of a reset is refused, and not executed ([MS-TDS] 2.2.3.1.2).
func TestContradictoryReset(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	body := append(allHeaders(0), utf16Bytes("count 1")...)
	_, err := c.Write(append(header(packetBatch, 0x19, len(body)), body...))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xAA, 3913}, {0xFD, 2}}))
	g.Expect(backend.session(0).executed.Load()).To(BeZero())
	c.send(t, packetBatch, body)
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xFD, 0x10}}), "the connection goes on")
}

// headers are ALL_HEADERS of the given ones, each with its type ([MS-TDS] 2.2.5.3).
func headers(each ...[]byte) []byte {
	b := make([]byte, 4)
	for _, h := range each {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h)+4))
		b = append(b, h...)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// Headers of a request: a trace activity is passed over, query notifications are refused by name, and what is malformed
// ends the connection with its own error ([MS-TDS] 2.2.5.3).
func TestHeadersOfARequest(t *testing.T) {
	descriptor := []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}
	activity := append([]byte{3, 0}, make([]byte, 20)...)
	notification := []byte{1, 0, 2, 0, 'i', 0, 2, 0, 's', 0, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		headers []byte
		want    []token
		ends    bool
	}{
		"trace activity":         {headers(descriptor, activity), []token{{0xFD, 0x10}}, false},
		"query notification":     {headers(descriptor, notification), []token{{0xAA, 40517}, {0xFD, 2}}, false},
		"a descriptor cut short": {headers(descriptor[:10]), []token{{0xAA, 4011}, {0xFD, 0x102}}, true},
		"a header longer than all": {append(headers(descriptor)[:4], 0xFF, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
			0), []token{{0xAA, 4009}, {0xFD, 0x102}}, true},
		"a header shorter than none": {[]byte{10, 0, 0, 0, 2, 0, 0, 0, 2, 0}, []token{{0xAA, 4009}, {0xFD, 0x102}}, true},
		"no descriptor":              {headers(activity), []token{{0xAA, 4013}, {0xFD, 0x102}}, true},
		"no header":                  {headers(), []token{{0xAA, 4013}, {0xFD, 0x102}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, address := serve(t)
			conn := dial(t, address)
			conn.login(t)
			conn.send(t, packetBatch, append(c.headers, utf16Bytes("count 1")...))
			g.Expect(tokens(t, conn.reply(t))).To(Equal(c.want))
			if c.ends {
				g.Expect(conn.ended(10 * time.Second)).To(Succeed())
				return
			}
			conn.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
			g.Expect(tokens(t, conn.reply(t))).To(Equal([]token{{0xFD, 0x10}}), "the connection goes on")
		})
	}
}

// Who fails to log in waits, and takes nobody's place among those who log in: when there is no other, the one that has
// waited longest is sent away.
func TestFailedLoginsKeepNobodyOut(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.FailedLoginDelay, cfg.MaxLogins = time.Hour, 3 })
	var failing []*rawConn
	for range 5 {
		c := dial(t, address)
		c.send(t, packetPreLogin, preLoginWithout)
		c.reply(t)
		c.send(t, packetLogin, loginMessage("sa", "wrong"))
		failing = append(failing, c)
	}
	g.Expect(failing[0].ended(10 * time.Second)).To(Succeed())
	c := dial(t, address)
	c.login(t)
}

// sp_prepare judges its statement, gives no handle to one that does not parse, and tells the columns to who asks for
// them; sp_prepexec judges it before it is executed
// (docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md).
func TestPrepareJudgesTheStatement(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	for _, id := range []byte{11, 13} {
		c.send(
			t,
			packetRPC,
			append(allHeaders(0), call(id, parameter("", 1, nil), parameter("", 0, ""), parameter("", 0, "selec"))...),
		)
		g.Expect(tokens(t, c.reply(t))).
			To(Equal([]token{{0xAA, 102}, {0xAA, 8180}, {0x79, 0}, {0xFE, 2}}), "procedure %d", id)
	}
	g.Expect(backend.session(0).executed.Load()).To(BeZero())
	prepare := func(options int32) []byte {
		c.send(
			t,
			packetRPC,
			append(
				allHeaders(0),
				call(11, parameter("", 1, nil), parameter("", 0, ""), parameter("", 0, "select x"), parameter("", 0, options))...),
		)
		return c.reply(t)
	}
	handle := []byte{0xAC, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0x26, 4, 4}
	reply := prepare(1)
	g.Expect(reply[0]).To(Equal(byte(0x81)), "% x", reply)
	g.Expect(bytes.Contains(reply, utf16Bytes("described"))).To(BeTrue())
	g.Expect(bytes.Contains(reply, handle)).To(BeTrue(), "the handle: % x", reply)
	reply = prepare(0)
	g.Expect(reply[0]).To(Equal(byte(0x79)), "% x", reply)
	g.Expect(bytes.Contains(reply, handle)).To(BeTrue(), "the handle: % x", reply)
}

// An xml value may begin with a byte order mark, as System.Data.SqlClient sends it, which is not part of the value.
func TestByteOrderMarkOfXML(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	text := utf16Bytes("<a>1</a>")
	value := binary.LittleEndian.AppendUint64([]byte{2, '@', 0, 'x', 0, 0, 0xF1, 0}, uint64(len(text)+2))
	value = append(binary.LittleEndian.AppendUint32(value, uint32(len(text)+2)), 0xFF, 0xFE)
	value = append(append(value, text...), 0, 0, 0, 0)
	c.send(t, packetRPC, append(allHeaders(0), execute("echo", parameter("@params", 0, "@x xml"), value)...))
	reply := c.reply(t)
	g.Expect(bytes.Contains(reply, text)).To(BeTrue(), "% x", reply)
	g.Expect(bytes.Contains(reply, []byte{0xFF, 0xFE, '<'})).To(BeFalse(), "% x", reply)
}

// sp_prepexecrpc keeps the call of a procedure in ODBC's form and makes it; sp_execute makes it again
// (docs/relational-databases/system-stored-procedures/sp-prepexecrpc-transact-sql.md).
func TestPreparedCalls(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	prepare := func(text string, parameters ...[]byte) []byte {
		c.send(
			t,
			packetRPC,
			append(
				allHeaders(0),
				call(14, append([][]byte{parameter("", 1, nil), parameter("", 0, text)}, parameters...)...)...),
		)
		return c.reply(t)
	}
	for i, text := range []string{"{? = call dbo.[a (b](?, ?)}", "{CALL p (?,?) }", " { ?=call \"x y\".p( ? , ? ) } "} {
		reply := prepare(text, parameter("@a", 0, int32(5)), parameter("@b", 1, "é"))
		g.Expect(reply[0]).To(Equal(byte(0x81)), "%s: % x", text, reply)
		g.Expect(bytes.Contains(reply, []byte{0x79, 7, 0, 0, 0})).To(BeTrue(), "its return status: % x", reply)
		g.Expect(bytes.Contains(reply, []byte{0xAC, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0x26, 4, 4, byte(i + 1)})).
			To(BeTrue(), "the handle: % x", reply)
		g.Expect(bytes.Contains(reply, append([]byte{0xAC, 3, 0, 2}, utf16Bytes("@b")...))).
			To(BeTrue(), "the output parameter: % x", reply)
	}
	c.send(t, packetRPC, append(allHeaders(0), call(12, parameter("", 0, int32(2)), parameter("@a", 0, int32(6)))...))
	reply := c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0x81)))
	g.Expect(bytes.Contains(reply, []byte{0x79, 7, 0, 0, 0})).To(BeTrue(), "its return status: % x", reply)
	g.Expect(errorNumber(prepare("{call missing}"))).To(BeEquivalentTo(2812))
	for _, text := range []string{"EXEC p", "{call p(1)}", "{call p(?}", "{call p(?) more}", "{call}"} {
		g.Expect(tokens(t, prepare(text))[0]).To(Equal(token{0xAA, 40517}), text)
	}
}
