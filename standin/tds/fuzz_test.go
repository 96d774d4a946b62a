// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// silentBackend admits everybody and does nothing.
type silentBackend struct{ Session }

func (silentBackend) ServerName() string                                     { return "FUZZ" }
func (silentBackend) Version() [4]byte                                       { return [4]byte{16} }
func (b silentBackend) Login(context.Context, LoginRequest) (Session, error) { return b, nil }
func (silentBackend) Database() string                                       { return "master" }
func (silentBackend) SPID() int                                              { return 51 }
func (silentBackend) Batch(_ context.Context, _ string, w Writer) error      { return w.Done(Rows(0)) }
func (silentBackend) Call(_ context.Context, _ Call, w Writer) error         { return w.Done(Rows(0)) }
func (silentBackend) Execute(_ context.Context, _, _ string, params []Param, w Writer) error {
	for _, p := range params {
		if p.Output {
			w.ReturnValue(p.Name, p.Type, p.Value)
		}
	}
	return w.Done(Rows(0))
}
func (silentBackend) Prepare(context.Context, Prepared, bool, Writer) error { return nil }
func (silentBackend) Begin(context.Context, byte, string) (uint64, error)   { return 1, nil }
func (silentBackend) Commit(context.Context) error                          { return nil }
func (silentBackend) Rollback(context.Context, string) error                { return nil }
func (silentBackend) Save(context.Context, string) error                    { return nil }
func (silentBackend) InTransaction() uint64                                 { return 0 }
func (silentBackend) Reset(context.Context, bool) error                     { return nil }
func (silentBackend) Close() error                                          { return nil }
func (silentBackend) IsQuery(string) bool                                   { return true }
func (silentBackend) Collation() string                                     { return "" }
func (silentBackend) Language() string                                      { return "us_english" }
func (silentBackend) BulkInsert(_ context.Context, _ string, _ []Column, next func() ([]any, error)) (int64, error) {
	for n := int64(0); ; n++ {
		if _, err := next(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, err
		}
	}
}

func whole(typ byte, body []byte) []byte {
	b := []byte{typ, 1, 0, 0, 0, 0, 1, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(len(body)+headerSize))
	return append(b, body...)
}

// panicLog ends the process for a panic that a connection survived by a line in the log.
func panicLog(format string, args ...any) {
	if strings.Contains(format, "internal error") {
		panic(fmt.Sprintf(format, args...))
	}
}

// FuzzConnection sends packets of any kind after a login: nothing may panic or hang.
func FuzzConnection(f *testing.F) {
	headers := []byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}
	with := func(b ...byte) []byte { return append(append([]byte{}, headers...), b...) }
	f.Add(whole(packetBatch, with('a', 0)))
	f.Add(whole(packetRPC, with(0xFF, 0xFF, 10, 0, 0, 0, 0, 1, 0x26, 4, 4, 1, 0, 0, 0)))
	f.Add(
		append(
			whole(packetBatch, with([]byte("i\x00n\x00s\x00e\x00r\x00t\x00 \x00b\x00u\x00l\x00k\x00 \x00t\x00")...)),
			whole(packetBulk, []byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0, 0xD1, 4, 1, 0, 0, 0, 0xFD, 0, 0})...),
	)
	f.Add(append(whole(packetAttention, nil), whole(packetTransaction, with(5, 0, 2, 0))...))
	f.Add(append(whole(packetTransaction, with(8, 0, 1, 'a', 0, 1, 2, 0)), 7, 0, 0, 9, 0, 0, 0, 0, 1))
	fuzzAfterLogin(f, []byte{1, 0, 6, 0, 1, 0xFF, 2})
}

// FuzzMARS sends packets of the Session Multiplex Protocol after a login with MARS: nothing may panic or hang.
func FuzzMARS(f *testing.F) {
	batch := append([]byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, 'a', 0)
	f.Add(
		slices.Concat(
			multiplexed(smpSYN, 0, 0, nil),
			multiplexed(smpDATA, 0, 1, whole(packetBatch, batch)),
			multiplexed(smpFIN, 0, 1, nil),
		),
	)
	f.Add(
		slices.Concat(
			multiplexed(smpSYN, 0, 0, nil),
			multiplexed(smpSYN, 1, 0, nil),
			multiplexed(smpDATA, 1, 1, whole(packetBatch, batch)),
			multiplexed(smpDATA, 0, 1, whole(packetAttention, nil)),
			multiplexed(smpACK, 1, 1, nil),
		),
	)
	f.Add(slices.Concat(multiplexed(smpSYN, 7, 0, nil), multiplexed(smpDATA, 7, 2, nil)))
	// It ends while results are on their way.
	f.Add(
		slices.Concat(
			multiplexed(smpSYN, 0, 0, nil),
			multiplexed(smpSYN, 1, 0, nil),
			multiplexed(smpDATA, 1, 1, whole(packetBatch, batch)),
			multiplexed(smpDATA, 0, 1, whole(packetAttention, nil)),
			[]byte{smpID, smpACK},
		),
	)
	fuzzAfterLogin(f, []byte{1, 0, 11, 0, 1, 4, 0, 12, 0, 1, 0xFF, 2, 1})
}

// multiplexed is one packet of the Session Multiplex Protocol ([MC-SMP] 2.2.1.1).
func multiplexed(kind byte, id uint16, sequence uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{smpID, kind}, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(smpHeaderSize+len(data)))
	b = binary.LittleEndian.AppendUint32(b, sequence)
	return append(binary.LittleEndian.AppendUint32(b, smpWindow), data...)
}

// fuzzAfterLogin sends anything on a connection that has logged in after a PRELOGIN message.
func fuzzAfterLogin(f *testing.F, preLogin []byte) {
	f.Helper()
	server, err := NewServer(
		Config{Backend: silentBackend{}, Encryption: EncryptionUnsupported, MaxRequest: 1 << 16, Log: panicLog},
	)
	if err != nil {
		f.Fatal(err)
	}
	login := make([]byte, loginFixed)
	binary.LittleEndian.PutUint32(login, loginFixed)
	binary.LittleEndian.PutUint32(login[4:], uint32(version74))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		c := newConn(server, far)
		server.logins <- struct{}{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.serve()
		}()
		go io.Copy(io.Discard, near)
		near.SetWriteDeadline(time.Now().Add(5 * time.Second))
		near.Write(whole(packetPreLogin, preLogin))
		near.Write(whole(packetLogin, login))
		near.Write(b)
		near.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the connection does not end")
		}
		if held := server.held.Load(); held != 0 {
			t.Fatalf("%d bytes are still held", held)
		}
	})
}
