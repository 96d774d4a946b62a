// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// preLoginOption is an option of a PRELOGIN answer; nil when the server did not send it ([MS-TDS] 2.2.6.5).
func preLoginOption(answer []byte, id byte) []byte {
	for i := 0; i+5 <= len(answer) && answer[i] != 0xFF; i += 5 {
		if answer[i] == id {
			at, n := binary.BigEndian.Uint16(answer[i+1:]), binary.BigEndian.Uint16(answer[i+3:])
			return answer[at : at+n]
		}
	}
	return nil
}

// withFeature adds a feature extension to LOGIN7 ([MS-TDS] 2.2.6.4, FeatureExt).
func withFeature(login []byte, id byte, data []byte) []byte {
	b := bytes.Clone(login)
	b[27] |= 0x10
	binary.LittleEndian.PutUint16(b[56:], uint16(len(b)))
	binary.LittleEndian.PutUint16(b[58:], 4)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)+4))
	b = append(b, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(append(b, data...), 0xFF)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// errorNumber is the number of the first ERROR token at the beginning of a response.
func errorNumber(reply []byte) uint32 {
	if len(reply) < 7 || reply[0] != 0xAA {
		return 0
	}
	return binary.LittleEndian.Uint32(reply[3:])
}

// Logins by a token of a directory and by Windows are refused as an instance outside a domain refuses them; session
// recovery is passed over, so that no client relies on it.
func TestLoginsOfOtherKinds(t *testing.T) {
	_, address := serve(t)
	plain := loginMessage("sa", "Passw0rd!é")
	integrated := bytes.Clone(plain)
	integrated[25] |= 0x80
	for name, c := range map[string]struct {
		login []byte
		want  uint32
	}{
		"FEDAUTH":    {withFeature(plain, 0x02, []byte{0x02, 1, 0, 0, 0}), 18452},
		"integrated": {integrated, 18452},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			raw := dial(t, address)
			raw.send(t, packetPreLogin, preLoginWithout)
			raw.reply(t)
			raw.send(t, packetLogin, c.login)
			g.Expect(errorNumber(raw.reply(t))).To(Equal(c.want))
			g.Expect(raw.ended(60 * time.Second)).To(Succeed())
		})
	}
	t.Run("session recovery", func(t *testing.T) {
		g := NewWithT(t)
		raw := dial(t, address)
		raw.send(t, packetPreLogin, preLoginWithout)
		raw.reply(t)
		raw.send(t, packetLogin, withFeature(plain, 0x01, nil))
		reply := raw.reply(t)
		g.Expect(reply[0]).To(Equal(byte(0xE3)), "login succeeds")
		g.Expect(bytes.Contains(reply, []byte{0xAE, 0x01})).To(BeFalse(), "the feature is not acknowledged")
	})
}

// TDS 8.0 begins with TLS for the application protocol tds/8.0: the server answers that name, and no other TLS is
// served.
func TestStrictNeedsItsApplicationProtocol(t *testing.T) {
	g := NewWithT(t)
	certificate, _ := trusted(t)
	_, address := serve(t, func(cfg *tds.Config) { cfg.TLS = certificate })
	hello := func(protocols ...string) error {
		raw := dial(t, address)
		c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
		if err := c.Handshake(); err != nil {
			return err
		}
		if len(protocols) > 0 {
			g.Expect(c.ConnectionState().NegotiatedProtocol).To(Equal("tds/8.0"))
		}
		if _, err := c.Write(append(header(packetPreLogin, 1, len(preLoginWithout)), preLoginWithout...)); err != nil {
			return err
		}
		g.Expect(c.SetReadDeadline(time.Now().Add(60 * time.Second))).To(Succeed())
		_, err := c.Read(make([]byte, 8))
		return err
	}
	g.Expect(hello("tds/8.0")).To(Succeed())
	g.Expect(hello()).NotTo(Succeed())
	g.Expect(hello("h2")).NotTo(Succeed())
}
